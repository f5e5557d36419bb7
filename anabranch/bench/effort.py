"""Processor time of all processes of a benchmark: the driver, its JVM, the workers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

from anabranch.report import Report

Result = TypeVar("Result")


@dataclass(frozen=True)
class Effort:
    """What something took: by the clock, and of all processors."""

    seconds: float
    processor: float


def processor_seconds() -> dict[tuple[int, float], float]:
    """So far, of this process and of all below it, by number and time of birth.

    >>> before = processor_seconds()
    >>> sum(range(3_000_000)) and spent(before, processor_seconds()) > 0
    True
    """
    import psutil  # an extra

    own, found = psutil.Process(), {}
    for process in (own, *own.children(recursive=True)):
        try:
            times, born = process.cpu_times(), process.create_time()
        except psutil.NoSuchProcess:  # ended since it was listed
            continue
        found[process.pid, born] = times.user + times.system
    return found


def spent(
    before: Mapping[tuple[int, float], float], now: Mapping[tuple[int, float], float]
) -> float:
    """Of processes that are there now. Spark's idle workers end at any time, what they took counts
    for nobody.

    >>> spent({(1, 0.0): 2.0, (2, 0.5): 9.0}, {(1, 0.0): 3.0, (3, 0.7): 0.5})
    1.5
    """
    return sum(seconds - before.get(process, 0.0) for process, seconds in now.items())


def in_evaluations(report: Report, besides: float = 0.0) -> float:
    """Processor time of the workers, and some besides, counted in evaluations.

    How fast the machine is at the moment changes what the predicates' own code takes and what all
    else takes alike, so that it does not count.
    """
    return (report.cpu + besides) / report.computing * sum(report.evaluations.values())


def measured(run: Callable[[], Result]) -> tuple[Result, Effort]:
    """Run something; what it took.

    The clock of a shared machine tells who else was there. Processor time does so much less, but
    does not see what waits.
    """
    before, begin = processor_seconds(), perf_counter()
    result = run()
    seconds = perf_counter() - begin
    return result, Effort(seconds, spent(before, processor_seconds()))
