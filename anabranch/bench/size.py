"""How large experiments are, and how their parts are spread over processes."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

PROCESSES = 2


@dataclass(frozen=True)
class Size:
    """How large the experiments are."""

    rows: int
    streams: int = 50
    tick: Callable[[], None] = lambda: None  # called when a part is done


def spread(work: Callable[[Task], Result], tasks: Sequence[Task], size: Size) -> list[Result]:
    """Do the tasks in several processes, in their order."""
    results = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for result in pool.map(work, tasks):
            results.append(result)
            size.tick()
    return results
