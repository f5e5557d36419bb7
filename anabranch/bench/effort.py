"""Processor time of all processes of a benchmark: the driver, its JVM, the workers."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Effort:
    """What something took: by the clock, and of all processors."""

    seconds: float
    processor: float


def processor_seconds() -> float:
    """So far, of this process and all that it started, those that have ended included.

    >>> before = processor_seconds()
    >>> sum(range(3_000_000)) and processor_seconds() > before
    True
    """
    import psutil  # an extra

    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:  # ended since: its parent counts it from then on
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def measured(run: Callable[[], Result]) -> tuple[Result, Effort]:
    """Run something; what it took.

    The clock of a shared machine tells who else was there. Processor time does so much less, but
    does not see what waits.
    """
    before, begin = processor_seconds(), perf_counter()
    result = run()
    seconds = perf_counter() - begin
    return result, Effort(seconds, processor_seconds() - before)
