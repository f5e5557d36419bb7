"""Functions of Python that cost 5 or 50 microseconds: with classes, drifting, uniform."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from anabranch.bench.burn import burn, steps_for
from anabranch.bench.peers.task import Predicate, Task
from anabranch.bench.peers.workload import Workload, register, task_of

COUNT = 6
# Of rows of its own class a predicate passes few; others drop one row in ten.
OWN, OTHER = 0.05, 0.9
KILLERS = (2, 3, 4, 5)


def odd_after(steps: int) -> Callable[[int], bool]:
    """Passes odd numbers, after some work."""

    def judge(value: int) -> bool:
        burn(steps)
        return value % 2 == 1

    return judge


def by_class(killers: Sequence[int]) -> NDArray[np.float64]:
    """Class, predicate -> share of rows that pass."""
    return np.array([[OWN if j == own else OTHER for j in range(COUNT)] for own in killers])


def made(
    parts: Sequence[NDArray[np.float64]],
    microseconds: float,
    _: SparkSession,
    folder: Path,
    rows: int,
) -> Task:
    """Rows of each part pass by its rates; what a column holds tells its own verdict only."""
    random = np.random.default_rng(11)
    kinds = random.integers(0, len(parts[0]), rows)
    part = np.arange(rows) * len(parts) // rows
    rates = np.stack(parts)[part, kinds]
    passed = random.random((rows, COUNT)) < rates
    columns = {"id": np.arange(rows), "kind": kinds}
    for j in range(COUNT):
        columns[f"x{j + 1}"] = 2 * random.integers(0, 2**40, rows) + passed[:, j]
    steps = steps_for(microseconds)
    predicates = [
        Predicate(f"p{j + 1}", (f"x{j + 1}",), row=odd_after(steps)) for j in range(COUNT)
    ]
    return task_of(pa.table(columns), folder, predicates)


SKEWED = by_class(KILLERS)
UNIFORM = np.full((len(KILLERS), COUNT), 0.5)
register(Workload("skewed-5us", "6 functions of 5 us, four classes", partial(made, [SKEWED], 5.0)))
register(
    Workload(
        "skewed-50us", "6 functions of 50 us, four classes", partial(made, [SKEWED], 50.0), 0.125
    )
)
register(
    Workload(
        "drifting-5us",
        "6 functions of 5 us, classes that change half way",
        partial(made, [SKEWED, by_class((3, 4, 5, 0))], 5.0),
    )
)
# Ahead or behind by a few percent shows in longer runs only.
register(
    Workload("uniform-5us", "6 functions of 5 us, no classes", partial(made, [UNIFORM], 5.0), 1.5)
)
register(
    Workload(
        "uniform-50us", "6 functions of 50 us, no classes", partial(made, [UNIFORM], 50.0), 0.375
    )
)
