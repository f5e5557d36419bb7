"""Predicates that cost what they are told to, in work rather than in waiting."""

import time
from collections.abc import Callable


def burn(steps: int) -> int:
    """Spend time in proportion to `steps`."""
    value = 1
    for _ in range(steps):
        value = value * 1103515245 + 12345 & 0x7FFFFFFF
    return value


def steps_for(microseconds: float) -> int:
    """How many steps take that long here, by the median of several trials."""
    trial = 200_000
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        burn(trial)
        seconds.append(time.perf_counter() - begin)
    return max(1, round(microseconds * 1e-6 / (sorted(seconds)[2] / trial)))


def filter_on_bit(bit: int, steps: int) -> Callable[[int], bool]:
    """A row function that passes a code whose bit is not set, after burning `steps`."""

    def judge(code: int) -> bool:
        burn(steps)
        return not code >> bit & 1

    judge.__name__ = f"f{bit + 1}"
    return judge
