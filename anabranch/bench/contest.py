"""Contestants of `anabranch bench filters`, run side by side on one workload."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.burn import filter_on_bit, steps_for
from anabranch.bench.workloads import Workload
from anabranch.cost import optimal_order, order_cost
from anabranch.data.correlated import codes
from anabranch.model import AnabranchError, Operator, Query
from anabranch.policies import POLICIES, Fixed, Policy, resolve

Bits = NDArray[np.bool_]
Verdict = Callable[[int], bool]


@dataclass
class Contest:
    """One workload, ready to be run by every contestant."""

    spark: SparkSession
    workload: Workload
    rows: int
    cores: int

    def __post_init__(self) -> None:
        self.bits = self.workload.make(self.rows, self.cores)
        self.count = self.bits.shape[1]
        names = [f"f{i + 1}" for i in range(self.count)]
        self.query = Query(tuple(map(Operator, names)))
        step = steps_for(1.0)
        self.filters = [
            filter_on_bit(i, round(step * cost))
            for i, cost in enumerate(self.workload.microseconds)
        ]
        self.costs = np.array(self.workload.microseconds)
        best = optimal_order(self.bits, self.costs, self.query)
        self.best = [names[i] for i in best]
        self.best_evaluations = order_cost(self.bits, np.ones(self.count), best) * len(self.bits)
        self.expected = int((~self.bits.any(axis=1)).sum())
        self.df = self._load()

    def _load(self) -> DataFrame:
        table = pa.table({"code": codes(self.bits)})
        df = self.spark.createDataFrame(table)
        for i in range(self.workload.extra_columns):
            df = df.withColumn(f"extra{i + 1}", F.xxhash64("code", F.lit(i)))
        df = df.persist()
        if df.count() != len(self.bits):
            raise AnabranchError("the workload was not loaded in full")
        return df

    def close(self) -> None:
        self.df.unpersist()

    def bound(self) -> int:
        """Evaluations if each row knew which filter drops it."""
        dropped = int(self.bits.any(axis=1).sum())
        return dropped + (len(self.bits) - dropped) * int(self.count)


@dataclass
class Result:
    """What a contestant did over its repeats."""

    name: str
    evaluations: int | None = None
    seconds: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)  # in predicates, per core
    switches: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def outside(self) -> float | None:
        """Median share of the run that was not spent in predicates."""
        if not self.inside:
            return None
        return statistics.median(
            1 - inside / wall for inside, wall in zip(self.inside, self.seconds, strict=True)
        )


def contestants(contest: Contest) -> Iterator[tuple[str, Callable[[Result], None]]]:
    """Name and action of each, the baselines first."""
    yield "plain Spark", lambda result: _spark(contest, result, chained=False)
    yield "chained filters", lambda result: _spark(contest, result, chained=True)
    yield "identity", lambda result: _identity(contest, result)
    policies: list[tuple[str, str | Policy]] = [
        ("fixed, as written", Fixed()),
        ("fixed, best", Fixed(order=contest.best)),
    ]
    policies += [(p.name, p.name) for p in POLICIES if p is not Fixed]
    policies += [("auto (budget 1 %)", "auto")]
    for name, policy in policies:
        yield name, lambda result, policy=policy: _fused(contest, result, policy)  # type: ignore[misc]


def _collect(contest: Contest, df: DataFrame) -> float:
    begin = time.perf_counter()
    rows = df.select(F.count(F.lit(1)), *_sums(df)).collect()[0][0]
    seconds = time.perf_counter() - begin
    if rows != contest.expected:
        raise AnabranchError(f"wrong result: {rows} rows instead of {contest.expected}")
    return seconds


def _sums(df: DataFrame) -> list[Column]:
    """Every column is read, so that none is pruned."""
    return [F.bit_xor(F.hash(name)) for name in df.columns]


def _spark(contest: Contest, result: Result, chained: bool) -> None:
    udfs = [F.udf(f, "boolean", useArrow=True) for f in contest.filters]
    if chained:
        df = reduce(lambda d, f: d.filter(f("code")), udfs, contest.df)
    else:
        df = contest.df.filter(reduce(lambda a, b: a & b, [f("code") for f in udfs]))
    result.seconds.append(_collect(contest, df))
    if result.evaluations is None:
        result.evaluations = _counted(contest, chained)


def _counted(contest: Contest, chained: bool) -> int:
    """Evaluations per row by Spark itself, counted on a slice and scaled up."""
    counter = contest.spark.sparkContext.accumulator(0)

    def counting(f: Verdict) -> Verdict:
        def judge(code: int) -> bool:
            counter.add(1)
            return f(code)

        return judge

    size = min(2_000, len(contest.bits))
    sample = contest.spark.createDataFrame(pa.table({"code": codes(contest.bits[:size])}))
    udfs = [F.udf(counting(f), "boolean", useArrow=True) for f in contest.filters]
    if chained:
        df = reduce(lambda d, f: d.filter(f("code")), udfs, sample)
    else:
        df = sample.filter(reduce(lambda a, b: a & b, [f("code") for f in udfs]))
    df.count()
    return round(counter.value / size * len(contest.bits))


def _fused(contest: Contest, result: Result, policy: str | Policy) -> None:
    query = ab.query(contest.df)
    for f in contest.filters:
        query = query.where(f, "code")
    # The one column here is the outcome itself: to route by it would be to be told.
    nothing: list[str] | None = [] if resolve(policy).uses_attributes else None
    run = query.run(policy=policy, attributes=nothing)
    result.seconds.append(_collect(contest, run.df))
    report = run.report()
    inside = sum(report.seconds.values()) - report.converting
    result.inside.append(inside / contest.cores)
    result.evaluations = sum(report.evaluations.values())
    result.switches = report.switches


def _identity(contest: Contest, result: Result) -> None:
    """The fused operator with next to nothing to do: what the trip to Python costs by itself.

    It drops the rows that the filters drop, or Spark would have more to do behind it than behind
    the others, and that would be taken off their overhead.
    """
    from anabranch.kernel import ArrowPredicate
    from anabranch.spark.collector import Postman
    from anabranch.spark.inflow import attach
    from anabranch.spark.worker import Fused

    query = Query((Operator("identity", ("code",)),))
    predicate = ArrowPredicate(_no_bit_set)
    fused = Fused("anabranch-identity", query, [(predicate, [0])], Fixed(), None, 0)
    postman = Postman.of(contest.df.sparkSession)
    df = attach(contest.df, fused, [F.col("code")], postman)
    result.seconds.append(_collect(contest, df))


def _no_bit_set(column: pa.Array) -> pa.Array:
    return pa.array(column.to_numpy() == 0)
