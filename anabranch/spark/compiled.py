"""Stages made ready to run: bounded tables are read, predicates are bound to their inputs."""

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark import inheritable_thread_target
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.kernel import Predicate
from anabranch.model import Attribute
from anabranch.spark.predicates import Conversion, to_predicate
from anabranch.spark.session import is_connect
from anabranch.spark.stages import Python, Stages, Table
from anabranch.spark.tables import kept, key_frame, probe, quoted, snapshot

# Bounded tables that are read at a time.
MOST_READERS = 8


@dataclass(frozen=True)
class Compiled:
    """Predicates with the inputs that they take, and the tables to look up in and to join."""

    predicates: list[tuple[Predicate, list[int]]]
    inputs: list[Column]
    attributes: dict[str, int]  # name -> its input
    lookups: list[tuple[DataFrame, Table]]
    joins: list[tuple[DataFrame, Table]]


def compile_stages(
    stages: Stages,
    conversion: Conversion,
    attributes: Sequence[tuple[Attribute, Column]] = (),
    live: bool = False,
) -> Compiled:
    """Read the bounded tables and bind every predicate and attribute to its inputs.

    With `live`, jobs may read small tables that they look up in themselves.
    """
    inputs = _Inputs()
    probed = [one for one in stages.fused if isinstance(one, Table) and not one.joins]
    inside = {one.operator.name for one in stages.lookups}
    tables = _read([*stages.lookups, *probed, *stages.joins], inside, live)
    predicates: list[tuple[Predicate, list[int]]] = []
    for declared in stages.fused:
        if isinstance(declared, Python):
            predicate = to_predicate(declared.udf, declared.types, conversion)
            labels = zip(declared.operator.columns, declared.columns, strict=True)
            predicates.append((predicate, [inputs.add(*item) for item in labels]))
        else:
            _, found = tables[declared.operator.name]
            assert found is not None
            predicates.append((found, _keys(declared, inputs)))
    lookups, joins = (
        [(table, t) for t in some if (table := tables[t.operator.name][0]) is not None]
        for some in (stages.lookups, stages.joins)
    )
    # A column that a predicate reads, too, travels once.
    places = {a.name: inputs.add(a.name, column) for a, column in attributes}
    return Compiled(predicates, inputs.columns, places, lookups, joins)


def looked_up(df: DataFrame, compiled: Compiled, names: Collection[str] | None = None) -> DataFrame:
    """The rows that pass the lookups inside Spark, all or those named."""
    for frame, declared in compiled.lookups:
        if names is None or declared.operator.name in names:
            df = kept(df, frame, declared.keys, declared.types, declared.how == "anti")
    return df


Read = tuple[DataFrame | None, Predicate | None]


def _read(tables: Sequence[Table], inside: Collection[str], live: bool) -> dict[str, Read]:
    """Of each the rows where Spark joins it, and what probes it; small jobs, several at once.

    Of those `inside` Spark, the keys.
    """
    if not tables:
        return {}
    # Jobs belong to the group and have the tags of the caller's thread; Spark writes into what a
    # thread has of these, so each table has a copy of its own.
    jobs = [
        inheritable_thread_target(one.table.sparkSession)(
            partial(_read_one, one, one.operator.name in inside, live)
        )
        for one in tables
    ]
    with ThreadPoolExecutor(min(len(tables), MOST_READERS)) as pool:
        told = [pool.submit(job) for job in jobs]
        names = [one.operator.name for one in tables]
        return {name: one.result() for name, one in zip(names, told, strict=True)}


def _read_one(declared: Table, inside: bool, live: bool) -> Read:
    name = declared.operator.name
    if inside:
        return key_frame(name, declared.table, declared.keys, declared.types, live), None
    table = snapshot(name, declared.table) if declared.joins else None
    if not declared.drops:
        return table, None
    source = declared.table if table is None else table
    return table, probe(name, source, declared.keys, declared.types, declared.how == "anti")


def _keys(declared: Table, inputs: "_Inputs") -> list[int]:
    """The inputs that a probe takes."""
    casts = zip(declared.keys, declared.types, declared.own_types, strict=True)
    columns = [
        F.col(quoted(key)) if kind == own else F.col(quoted(key)).cast(kind)
        for key, kind, own in casts
    ]
    return [inputs.add(*item) for item in zip(declared.keys, columns, strict=True)]


def hash_of(column: Column) -> int:
    """Of the expression, equal for equal expressions."""
    if is_connect(column):
        from anabranch.spark import connect

        return connect.hash_of(column)
    expression: Any = column
    return int(expression._jc.hashCode())


class _Inputs:
    """The columns that travel, each once. Two Column objects may print alike and differ."""

    def __init__(self) -> None:
        self.columns: list[Column] = []
        self._places: dict[str, int] = {}

    def add(self, label: str, column: Column) -> int:
        key = f"{label} {hash_of(column)}"
        if key not in self._places:
            self._places[key] = len(self.columns)
            self.columns.append(column)
        return self._places[key]
