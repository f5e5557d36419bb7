"""A join as it was declared, and the stateful operator that it becomes."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

from anabranch.kernel.joins.custody import JoinSpec
from anabranch.kernel.joins.grid import Grid
from anabranch.kernel.joins.prober import Prober
from anabranch.model import InputError, Operator, Query
from anabranch.model.join import JoinQuery
from anabranch.policies import Policy
from anabranch.spark.attributes import choose, encoder
from anabranch.spark.collector import Postman
from anabranch.spark.inflow import own_interpreter
from anabranch.spark.joins.inputs import Input, Packing, is_exact, united
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
    kinds: tuple[DataType, ...]  # of the keys
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
        return df.select(*map(as_column, self.selected)) if self.selected else df


def as_column(given: Column | str) -> Column:
    """A string is SQL."""
    return F.expr(given) if isinstance(given, str) else given


def streamed(
    plan: Plan, policy: Policy, grid: Grid, seed: int, run: str, named: Sequence[str] | None
) -> DataFrame:
    """The join of streams as one stateful operator."""
    attributes = {one.name: chosen(one, plan.query, policy, named) for one in plan.inputs}
    packing = Packing(plan.query, plan.kinds, grid, attributes, plan.columns)
    spec = JoinSpec(
        run,
        plan.query,
        {one.name: restricted(one, plan.query, policy) for one in plan.inputs},
        identity(plan, grid.shares),
        tuple(key for key, kind in enumerate(plan.kinds) if not is_exact(kind)),
        {one.name: packing.described(one) for one in plan.inputs},
        plan.idle,
        seed,
    )
    for one in plan.inputs:
        Prober(plan.query.tree(one.name), spec.policies[one.name], spec.attributes[one.name])
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


def restricted(given: Input, query: JoinQuery, policy: Policy) -> Policy:
    """The policy for the probes of one stream's rows; an order may name all streams."""
    whole = Query(tuple(map(Operator, query.names)))
    probes = query.tree(given.name).operators()
    own = policy.of_stream(given.name, probes).restricted(probes, whole)
    return own.encoded(encoder(given.frame())) if policy.uses_attributes else own


def chosen(
    given: Input, query: JoinQuery, policy: Policy, named: Sequence[str] | None
) -> list[str]:
    """The attributes that rows of a stream may be told apart by, as "stream.column"."""
    if not policy.uses_attributes:
        if named is not None:
            raise InputError(
                "attributes= is for policies that route by content (auto, mesh, content); "
                f'"{policy.name}" does not'
            )
        return []
    if len(query.tree(given.name).operators()) < 2:
        return []
    own = None if named is None else [n for n in named if n.split(".")[0] == given.name]
    keys = [e for key in query.keys for stream, e in key if stream == given.name]
    return choose(given.frame(), own, policy.needs(), keys, policy.most_attributes)


def _unpacked(carried: StructType) -> Any:
    unpack = Unpack(to_arrow_type(carried, timezone="UTC"))

    def anabranch(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return unpack(batches)

    udf: Any = arrow_udf  # its stub knows no struct for an Iterator UDF
    # Rows stand behind their chunk: nothing may come between them.
    return udf(anabranch, carried).asNondeterministic()


def identity(plan: Plan, shares: Sequence[int]) -> dict[str, Any]:
    """What a checkpoint must agree with, as plain data."""
    schemas = {one.name: one.df.schema for one in plan.inputs}
    return {
        "streams": list(plan.query.names),
        "keys": [[list(field) for field in key] for key in plan.query.keys],
        "types": [kind.simpleString() for kind in plan.kinds],
        "windows": {stream.name: stream.window for stream in plan.query.streams},
        "times": {one.name: one.time for one in plan.inputs},
        "cells": prod(shares),
        "shares": list(shares),
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
