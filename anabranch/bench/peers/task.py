"""A table in Parquet files, and what is asked of its rows, in words for every system."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

# Rows that pass, and the bitwise XOR of their ids.
Result = tuple[int, int]


@dataclass(frozen=True)
class Predicate:
    """One of three kinds: a function of a row, one of Arrow arrays, or an expression.

    `row` gets the values of `columns` and returns a truth value; `batch` gets one Arrow array for
    each and returns an array of truth values. `spark`, `duckdb`, `polars` and `daft` are one
    expression in four dialects; a peer that has no such function is left out.
    """

    name: str
    columns: tuple[str, ...] = ()
    row: Callable[..., bool] | None = None
    batch: Callable[..., pa.Array] | None = None
    spark: str = ""
    duckdb: str = ""
    polars: Callable[[], Any] | None = None
    daft: Callable[[], Any] | None = None

    @property
    def native(self) -> bool:
        return bool(self.spark)


@dataclass(frozen=True)
class Lookup:
    """Rows stay whose key is in a table, which is a Parquet file of its own."""

    name: str
    column: str
    path: Path


@dataclass(frozen=True)
class Task:
    """What every contestant is given: files, and predicates in the order in which they stand."""

    files: Path
    predicates: Sequence[Predicate]
    lookups: Sequence[Lookup] = ()
    # Names in the best order for the rows that lookups leave; only who is tuned by hand is told.
    best: Sequence[str] = ()
    types: dict[str, pa.DataType] = field(default_factory=dict)

    @property
    def native(self) -> bool:
        return all(predicate.native for predicate in self.predicates)

    @property
    def pattern(self) -> str:
        return str(self.files / "*.parquet")

    def ordered(self) -> list[Predicate]:
        """The predicates in the best order."""
        by_name = {predicate.name: predicate for predicate in self.predicates}
        return [by_name[name] for name in self.best if name in by_name]
