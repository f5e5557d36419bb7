"""A join that runs: its DataFrame, what it did so far, and the orders that it learned."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField, StructType

from anabranch.kernel.joins.custody import JoinSpec
from anabranch.kernel.joins.grid import Grid
from anabranch.model import InputError
from anabranch.model.join import JoinQuery
from anabranch.policies import Policy
from anabranch.spark.collector import Postman
from anabranch.spark.inflow import own_interpreter
from anabranch.spark.joins.inputs import Input, Packing, is_exact, key_types, united
from anabranch.spark.joins.operator import EVENT_TIME, OUTPUT, STATS, Joining
from anabranch.spark.joins.pack import CELL, CHUNK, Unpack

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
FIELD = "__anabranch_rows"


@dataclass(frozen=True)
class Plan:
    """A join as it was declared, ready to be compiled."""

    inputs: tuple[Input, ...]
    query: JoinQuery
    idle: int | None
    columns: Mapping[str, Sequence[str]]
    conditions: tuple[Column | str, ...] = ()
    selected: tuple[Column | str, ...] = ()

    @property
    def is_streaming(self) -> bool:
        return all(given.df.isStreaming for given in self.inputs)

    def outline(self) -> list[str]:
        """In plain words."""
        lines = [f"join of {', '.join(self.query.names)}"]
        for stream in self.query.streams:
            tree = self.query.tree(stream.name)
            first = "" if len(tree.bound) == 1 else f", joined with {', '.join(tree.bound[1:])}"
            probes = ", ".join(tree.operators().written())
            lines.append(f"{stream.name}: rows{first} probe {probes}")
        return lines

    def finished(self, df: DataFrame) -> DataFrame:
        """Combinations that pass the conditions on them, as they are selected."""
        df = reduce(DataFrame.filter, self.conditions, df)
        return df.select(*self.selected) if self.selected else df


def streamed(plan: Plan, policy: Policy, grid: Grid, seed: int, run: str) -> DataFrame:
    """The join of streams as one stateful operator."""
    given = {one.name: one for one in plan.inputs}
    kinds = key_types(given, plan.query)
    packing = Packing(plan.query, kinds, grid, {}, plan.columns)
    spec = JoinSpec(
        run,
        plan.query,
        policy,
        identity(plan, kinds, grid),
        tuple(key for key, kind in enumerate(kinds) if not is_exact(kind)),
        {one.name: packing.described(one) for one in plan.inputs},
        plan.idle,
        seed,
    )
    session = plan.inputs[0].df.sparkSession
    carried = StructType([StructField(one.name, packing.carried(one)) for one in plan.inputs])
    with own_interpreter(session):
        packed = united(plan.inputs, plan.query, plan.idle, packing)
        joined = packed.groupBy(CELL).transformWithStateInPandas(
            Joining(spec, len(grid)), OUTPUT, "Append", "EventTime", eventTimeColumnName=EVENT_TIME
        )
        letters = F.collect_list(STATS).alias(STATS)
        joined = Postman.of(session).observed(joined, run, letters)
        rows = joined.filter(F.col(EVENT_TIME).isNotNull())
        rows = rows.withColumn(FIELD, _unpacked(carried)(F.col(CHUNK)))
    structs = [F.col(FIELD).getField(one.name).alias(one.name) for one in plan.inputs]
    return plan.finished(rows.select(*structs, EVENT_TIME))


def _unpacked(carried: StructType) -> Any:
    unpack = Unpack(to_arrow_type(carried, timezone="UTC"))

    def anabranch(batches: Any) -> Any:
        return unpack(batches)

    from collections.abc import Iterator

    import pyarrow as pa

    anabranch.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    udf: Any = arrow_udf
    # Rows stand behind their chunk: nothing may come between them.
    return udf(anabranch, carried).asNondeterministic()


def identity(plan: Plan, kinds: Sequence[Any], grid: Grid) -> dict[str, Any]:
    """What a checkpoint must agree with, as plain data."""
    schemas = {one.name: one.df.schema for one in plan.inputs}
    return {
        "streams": list(plan.query.names),
        "keys": [[list(field) for field in key] for key in plan.query.keys],
        "types": [kind.simpleString() for kind in kinds],
        "windows": {stream.name: stream.window for stream in plan.query.streams},
        "cells": len(grid),
        "shares": list(grid.shares),
        "columns": {
            name: [f"{c} {schemas[name][c].dataType.simpleString()}" for c in columns]
            for name, columns in plan.columns.items()
        },
    }


def check_provider(df: DataFrame) -> None:
    """The stateful operator needs RocksDB."""
    provider = df.sparkSession.conf.get(PROVIDER, "")
    if not str(provider).endswith("RocksDBStateStoreProvider"):
        raise InputError(
            f"joins of streams keep their windows in RocksDB, the session has {provider}; set "
            f'spark.conf.set("{PROVIDER}", "{ROCKSDB}") before the stream starts'
        )


def fresh_run() -> str:
    """A name that no other run has."""
    return f"anabranch-join-{uuid.uuid4().hex}"
