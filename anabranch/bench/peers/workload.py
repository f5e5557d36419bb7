"""A workload of `anabranch bench peers`, and what all of them share."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from anabranch.bench.peers.peer import arrow_of
from anabranch.bench.peers.task import Lookup, Predicate, Task
from anabranch.cost import greedy_order, optimal_order
from anabranch.model import Operator, Query

FILES = 8
# Rows that tell the hand-tuned contestants their order, and operators up to which all are tried.
TOLD, MOST_TRIED = 20_000, 8


@dataclass(frozen=True)
class Workload:
    """`make` writes the files into a folder, for about so many rows, and says what is asked."""

    name: str
    about: str
    make: Callable[[SparkSession, Path, int], Task]
    share: float = 1.0  # of the rows asked for: dear predicates get fewer


WORKLOADS: dict[str, Workload] = {}


def register(workload: Workload) -> Workload:
    """Make a workload known to `anabranch bench peers`."""
    WORKLOADS[workload.name] = workload
    return workload


def written(table: pa.Table, folder: Path) -> Path:
    """A table as several files, one after the other."""
    folder.mkdir(parents=True)
    edges = np.linspace(0, len(table), FILES + 1).astype(int)
    for number, (begin, end) in enumerate(pairwise(edges)):
        pq.write_table(table.slice(begin, end - begin), folder / f"{number:02d}.parquet")
    return folder


def task_of(
    table: pa.Table,
    folder: Path,
    predicates: Sequence[Predicate],
    lookups: Mapping[str, tuple[str, pa.Table]] | None = None,
) -> Task:
    """The files of a table and of its lookups, and the best order by a look at some rows."""
    tables = []
    for name, (column, keys) in (lookups or {}).items():
        path = folder / f"{name}.parquet"
        pq.write_table(keys, path)
        tables.append(Lookup(name, column, path))
    types = {field.name: field.type for field in table.schema}
    best = best_order(table, predicates, {n: keys for n, (_, keys) in (lookups or {}).items()})
    return Task(written(table, folder / "rows"), predicates, tables, best, types)


def best_order(
    table: pa.Table, predicates: Sequence[Predicate], lookups: Mapping[str, pa.Table]
) -> list[str]:
    """By what each drops and takes on rows from all parts of the table, one order for all rows."""
    places = np.unique(np.linspace(0, len(table) - 1, TOLD).astype(int))
    some = table.take(pa.array(places))
    drops: list[NDArray[np.bool_]] = []
    costs: list[float] = []
    for predicate in predicates:
        columns = [some.column(column).combine_chunks() for column in predicate.columns]
        begin = time.perf_counter()
        told = arrow_of(predicate)(*columns)
        costs.append((time.perf_counter() - begin) / len(some))
        drops.append(~np.array(told.fill_null(False).to_pylist(), bool))
    for keys in lookups.values():
        (column,) = keys.column_names
        known = set(keys.column(column).to_pylist())
        drops.append(np.array([v not in known for v in some.column(column).to_pylist()]))
        costs.append(1e-6)
    names = [*(predicate.name for predicate in predicates), *lookups]
    query = Query(tuple(map(Operator, names)))
    find: Any = optimal_order if len(names) <= MOST_TRIED else greedy_order
    return [names[i] for i in find(np.column_stack(drops), np.array(costs), query)]
