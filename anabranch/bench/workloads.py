"""The workloads of `anabranch bench filters`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anabranch.data.correlated import correlated_bits

Bits = NDArray[np.bool_]
DRIFT_ROWS = 500_000


@dataclass(frozen=True)
class Workload:
    """Which filter drops which row, and what each filter costs in microseconds per row."""

    name: str
    about: str
    bits: Callable[[int, int], Bits]  # rows, workers -> bits
    microseconds: tuple[float, ...]
    extra_columns: int = 0
    scale: int = 1  # times the rows asked for

    def make(self, rows: int, workers: int) -> Bits:
        return self.bits(rows * self.scale, workers)


def _stable(drops: tuple[float, ...], group: int) -> Callable[[int, int], Bits]:
    def bits(rows: int, workers: int) -> Bits:
        del workers  # every worker sees the same distribution
        return correlated_bits(rows, drops, group, seed=7)

    return bits


def _drifting(drops: tuple[float, ...], group: int) -> Callable[[int, int], Bits]:
    """Each worker's rows change every 500,000: the drop rates are dealt out anew."""

    def bits(rows: int, workers: int) -> Bits:
        random = np.random.default_rng(11)
        share = rows // workers
        parts = []
        for worker in range(workers):
            for begin in range(0, share, DRIFT_ROWS):
                size = min(DRIFT_ROWS, share - begin)
                dealt = tuple(random.permutation(drops))
                parts.append(correlated_bits(size, dealt, group, seed=100 * worker + begin))
        return np.concatenate(parts)

    return bits


FIVE = (5.0,) * 8
UNEVEN = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
THIRD = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)

WORKLOADS = (
    Workload("groups-4", "4 filters, groups of 2", _stable((0.5,) * 4, 2), (5.0,) * 4),
    Workload("groups-8", "8 filters, groups of 2", _stable((0.5,) * 8, 2), FIVE),
    Workload(
        "third",
        "8 filters of unequal drop rates, groups of 2: the best order does a third of the work",
        _stable(THIRD, 2),
        FIVE,
    ),
    Workload(
        "costs",
        "8 filters, groups of 2, every other one costs 10x",
        _stable((0.5,) * 8, 2),
        (5.0, 50.0) * 4,
    ),
    Workload("uniform", "8 independent filters of 50 %", _stable((0.5,) * 8, 1), FIVE),
    Workload("wide", "groups-8 and 40 further columns", _stable((0.5,) * 8, 2), FIVE, 40),
    Workload(
        "drift",
        "8 filters, drop rates dealt anew every 500,000 rows per worker, twice the rows",
        _drifting(UNEVEN, 2),
        FIVE,
        scale=2,
    ),
)
