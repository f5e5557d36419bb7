"""Expressions of the systems themselves: cheap ones, and costly ones with classes."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from anabranch.bench import native
from anabranch.bench.peers.in_daft import IN_DAFT
from anabranch.bench.peers.task import Predicate, Task
from anabranch.bench.peers.workload import Workload, register, written
from anabranch.data.records import BY_NAME, records

MANY = 10.0  # times the rows asked for


def _compared(column: str, limit: int) -> Predicate:
    text = f"{column} * 3 % 1000 < {limit}"

    def polars() -> Any:
        import polars as pl

        return pl.col(column) * 3 % 1000 < limit

    def daft() -> Any:
        import daft

        return daft.sql_expr(text)

    name = f"{column} below"
    return Predicate(name, (column,), spark=text, duckdb=text, polars=polars, daft=daft)


def cheap(_: SparkSession, folder: Path, rows: int) -> Task:
    """Five comparisons of numbers, the most selective one last."""
    random = np.random.default_rng(5)
    limits = (950, 900, 800, 600, 300)
    columns = {f"n{j + 1}": random.integers(0, 1_000_000, rows) for j in range(len(limits))}
    files = written(pa.table({"id": np.arange(rows), **columns}), folder / "rows")
    predicates = [_compared(f"n{j + 1}", limit) for j, limit in enumerate(limits)]
    return Task(files, predicates, best=[predicate.name for predicate in predicates[::-1]])


def costly(workload: str, spark: SparkSession, folder: Path, rows: int) -> Task:
    """The records of `anabranch bench native`; Polars has no edit distance."""
    work = native.WORKLOADS[workload]
    files = folder / "rows"
    table = records(spark, rows, work.names, work.rates, work.common)
    table.repartitionByRange(8, "id").sortWithinPartitions("id").write.parquet(str(files))
    chosen = [BY_NAME[name] for name in work.names]
    best, _ = native.Race(spark, chosen, str(files)).looked().extremes()
    predicates = [
        Predicate(p.name, spark=p.spark, duckdb=p.duckdb, daft=IN_DAFT[p.name]) for p in chosen
    ]
    return Task(files, predicates, best=[work.names[i] for i in best])


def skewed(spark: SparkSession, folder: Path, rows: int) -> Task:
    return costly("skewed", spark, folder, rows)


def uniform(spark: SparkSession, folder: Path, rows: int) -> Task:
    return costly("uniform", spark, folder, rows)


register(Workload("native-cheap", "five comparisons, the best one last", cheap, MANY))
register(Workload("native-skewed", "six costly expressions, four classes", skewed, MANY / 2))
register(Workload("native-uniform", "six costly expressions, no classes", uniform, MANY))
