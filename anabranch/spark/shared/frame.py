"""One DataFrame for several queries: its rows carry which of them want it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from anabranch.kernel import Predicate
from anabranch.kernel.shared import SharedFabric, Wanted
from anabranch.model.shared import SharedQuery
from anabranch.policies.shared import SharedOrder
from anabranch.spark.collector import Postman
from anabranch.spark.compiled import Compiled
from anabranch.spark.inflow import own_interpreter
from anabranch.spark.run import joined
from anabranch.spark.shared.union import Union
from anabranch.spark.stages import Python
from anabranch.spark.worker import Mail, answered, close_all, task_seed

VERDICT = StructType([StructField("wanted", LongType()), StructField("stats", BinaryType())])
# Column names that no user has: they are dropped before the user sees the schema.
WANTED, FIELD, NATIVE = "__anabranch_wanted", "__anabranch_verdict", "__anabranch_native"
# Streams whose orders a worker remembers.
MAX_LEARNERS = 64

_learners: dict[str, SharedOrder] = {}


@dataclass(frozen=True)
class SharedFused:
    """What a worker needs to run all queries."""

    run: str
    shared: SharedQuery
    predicates: Sequence[tuple[Predicate, Sequence[int]]]
    start: tuple[int, ...]
    learns: bool
    seed: int

    def __call__(self, batches: Iterator[Any]) -> Iterator[pa.Array]:
        fabric = SharedFabric(self.shared, self.predicates, self._learner(), task_seed(self.seed))

        def judge(columns: list[pa.Array]) -> Wanted:
            *inputs, wanted = columns
            return fabric.process(inputs, np.asarray(wanted.to_numpy(zero_copy_only=False)))

        def tell() -> dict[str, Any]:
            return fabric.take_tally().to_dict()

        end = partial(close_all, self.shared.query, self.predicates)
        return answered(batches, judge, Mail(self.run, tell, enclosed), end)

    def _learner(self) -> SharedOrder:
        known = _learners.pop(self.run, None)
        _learners[self.run] = known or SharedOrder(self.shared, self.start, self.learns)
        while len(_learners) > MAX_LEARNERS:
            _learners.pop(next(iter(_learners)))
        return _learners[self.run]


def judged(df: DataFrame, union: Union, compiled: Compiled, fused: SharedFused) -> DataFrame:
    """`df` with the queries that want a row in a column of bits; rows that none wants are gone."""
    below = _natively(df, union)
    if not len(union.shared.query):
        return below
    session = df.sparkSession
    with own_interpreter(session):
        verdict = _udf(fused)(*_guarded(union, compiled), F.col(WANTED))
    stats, wanted = F.col(FIELD).getField("stats"), F.col(FIELD).getField("wanted")
    told = below.withColumn(FIELD, verdict).filter((wanted != 0) | stats.isNotNull())
    letters = F.collect_list(stats).alias("stats")
    seen = Postman.of(session).observed(told, fused.run, letters)
    return seen.withColumn(WANTED, wanted).drop(FIELD).filter(F.col(WANTED) != 0)


def enclosed(wanted: Wanted, letter: bytes | None) -> pa.Array:
    """Verdicts, and a letter with the first of them.

    >>> enclosed(np.array([3, 0]), b"{}").to_pylist()
    [{'wanted': 3, 'stats': b'{}'}, {'wanted': 0, 'stats': None}]
    """
    stats = pa.array([letter], pa.binary())
    stats = pa.concat_arrays([stats, pa.nulls(len(wanted) - 1, pa.binary())])
    return pa.StructArray.from_arrays([pa.array(wanted), stats], ["wanted", "stats"])


def _guarded(union: Union, compiled: Compiled) -> list[Column]:
    """The inputs of Python operators; what is computed only where a query that asks wants the row.

    On others it may fail: a native guard of that query has dropped them.
    """
    bits = [0] * len(compiled.inputs)
    plain = [True] * len(compiled.inputs)
    for operator, (_, inputs) in enumerate(compiled.predicates):
        declared = union.fused.fused[operator]
        for i in inputs:
            bits[i] |= union.shared.bits[operator]
            plain[i] &= isinstance(declared, Python) and not declared.computed
    return [
        column if simple else F.when(F.col(WANTED).bitwiseAND(F.lit(asked)) != 0, column)
        for column, asked, simple in zip(compiled.inputs, bits, plain, strict=True)
    ]


def _natively(df: DataFrame, union: Union) -> DataFrame:
    """Native predicates, each asked once of a row, and only if a query still wants that."""
    done: dict[str, Column] = {}
    kept: dict[str, list[Column]] = {name: [] for name in union.own}
    for place, name in enumerate(_guards_first(union)):
        askers = [query for query, own in union.own.items() if name in own.natives]
        wanting = reduce(Column.__or__, (_all(kept[query]) for query in askers))
        verdict = F.when(wanting, union.natives[name].condition).otherwise(F.lit(False))
        # The id keeps Spark from writing this out wherever the column is used: that would double
        # the expression with every predicate.
        apart = F.monotonically_increasing_id() >= 0
        df = df.withColumn(f"{NATIVE}_{place}", F.coalesce(verdict, F.lit(False)) & apart)
        done[name] = F.col(f"{NATIVE}_{place}")
        for query in askers:
            kept[query].append(done[name])
    bits = [
        F.when(_all(verdicts), F.lit(1 << q)).otherwise(F.lit(0)).cast("long")
        for q, verdicts in enumerate(kept.values())
    ]
    wanted = reduce(Column.__add__, bits)
    return (
        df.withColumn(WANTED, wanted)
        .drop(*(f"{NATIVE}_{i}" for i in range(len(done))))
        .filter(F.col(WANTED) != 0)
    )


def _all(verdicts: Sequence[Column]) -> Column:
    return reduce(Column.__and__, verdicts) if verdicts else F.lit(True)


def _guards_first(union: Union) -> list[str]:
    """Native predicates that run before Python, in the order of the queries; guards in front."""
    early = {name for own in union.own.values() for name in own.natives}
    return [name for name in union.natives if name in early]


def parted(df: DataFrame, union: Union, compiled: Compiled) -> dict[str, DataFrame]:
    """The rows of each query, as if it had been alone."""
    return {name: _part(df, place, union, compiled, name) for place, name in enumerate(union.own)}


def _part(df: DataFrame, place: int, union: Union, compiled: Compiled, name: str) -> DataFrame:
    own = union.own[name]
    rows = df.filter(F.col(WANTED).bitwiseAND(F.lit(1 << place)) != 0).drop(WANTED)
    rows = reduce(DataFrame.filter, own.behind, rows)
    by_name = {item[1].operator.name: item for item in compiled.joins}
    joins = [by_name[join] for join in own.joins]
    return joined(rows, replace(compiled, joins=joins))


def _udf(fused: SharedFused) -> Any:
    def anabranch(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        return fused(batches)

    # Non-deterministic, so that Spark neither moves nor repeats it: it learns as it runs.
    udf: Any = arrow_udf  # its stub knows no struct for an Iterator UDF
    return udf(anabranch, VERDICT).asNondeterministic()


def orders(tallies: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The order that most workers follow."""
    found = list(tallies.values())
    return max(found, key=found.count) if found else ()
