"""A workload of `anabranch bench peers`, and what all of them share."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from anabranch.bench.peers.peer import arrow_of
from anabranch.bench.peers.task import Lookup, Predicate, Task
from anabranch.cost import greedy_order, optimal_order
from anabranch.model import Operator, Query

FILES = 16
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
    """The files of a table and of its lookups, and the best orders by a look at some rows."""
    places = np.unique(np.linspace(0, len(table) - 1, TOLD).astype(int))
    some = table.take(pa.array(places))
    alive = np.ones(len(some), bool)
    found: list[tuple[float, Lookup]] = []
    for name, (column, keys) in (lookups or {}).items():
        path = folder / f"{name}.parquet"
        pq.write_table(keys, path)
        inside = pc.is_in(some.column(column), value_set=keys.column(0).combine_chunks())
        passed = np.asarray(inside.to_numpy(), bool)
        alive &= passed
        found.append((float(passed.mean()), Lookup(name, column, path)))
    tables = [lookup for _, lookup in sorted(found, key=lambda pair: pair[0])]
    types = {field.name: field.type for field in table.schema}
    best = best_order(some.filter(pa.array(alive)), predicates)
    return Task(written(table, folder / "rows"), predicates, tables, best, types)


def best_order(some: pa.Table, predicates: Sequence[Predicate]) -> list[str]:
    """By what each drops and takes on some rows, one order for all rows."""
    drops: list[NDArray[np.bool_]] = []
    costs: list[float] = []
    for predicate in predicates:
        columns = [some.column(column).combine_chunks() for column in predicate.columns]
        judge = arrow_of(predicate)
        judge(*[column.slice(0, 100) for column in columns])  # a model that loads
        begin = time.perf_counter()
        told = judge(*columns)
        costs.append((time.perf_counter() - begin) / len(some))
        drops.append(~np.array(told.fill_null(False).to_pylist(), bool))
    names = [predicate.name for predicate in predicates]
    query = Query(tuple(map(Operator, names)))
    find: Any = optimal_order if len(names) <= MOST_TRIED else greedy_order
    return [names[i] for i in find(np.column_stack(drops), np.array(costs), query)]
