"""`anabranch bench native`: native predicates in Catalyst, static orders, and DuckDB."""

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.figure import Figure
from anabranch.bench.runner import Bench
from anabranch.bench.size import Size
from anabranch.cost import optimal_order
from anabranch.data.records import BY_NAME, NativePredicate, records
from anabranch.model import AnabranchError, Operator, Query
from anabranch.spark.look import looking

FILES = 8
# Orders that are all run where there are so few predicates.
FEW = 4
Rates = Sequence[Sequence[Sequence[float]]]
Result = tuple[int, int]
# Looked at to find the best and the worst order: enough that the JVM is warm.
THOROUGH = ab.Sample(rows=20_000, seconds=20.0, least_megabytes=0, share=None)
OURS, ORACLE, DUCKDB = "auto", "told the classes", "DuckDB"
WRITTEN, BEST, WORST = "written", "best", "worst"


@dataclass(frozen=True)
class Workload:
    """Predicates, and the rates at which rows of each epoch and class pass them."""

    title: str
    names: tuple[str, ...]
    rates: Rates
    common: float = 0.0  # share of rows with one draw for all predicates


@dataclass
class Race:
    """One table in Parquet files, and the predicates on it."""

    spark: SparkSession
    predicates: Sequence[NativePredicate]
    path: str
    df: DataFrame = field(init=False)

    def __post_init__(self) -> None:
        self.df = self.spark.read.parquet(self.path)

    def query(self) -> ab.Query:
        query = ab.query(self.df)
        for predicate in self.predicates:
            query = query.where(predicate.spark, name=predicate.name)
        return query

    def static(self, order: Sequence[int]) -> DataFrame:
        """As a user would write it."""
        df = self.df
        for i in order:
            df = df.filter(self.predicates[i].spark)
        return df

    def spark_result(self, df: DataFrame) -> Result:
        row = df.agg(F.count(F.lit(1)), F.bit_xor("id")).collect()[0]
        return int(row[0]), int(row[1] or 0)

    def duckdb_result(self) -> Result:
        """DuckDB orders a conjunction by what it measures while it runs."""
        import duckdb  # an extra

        condition = " AND ".join(predicate.duckdb for predicate in self.predicates)
        with duckdb.connect(config={"threads": 2}) as connection:
            row = connection.execute(
                f"SELECT count(*), bit_xor(id) FROM '{self.path}/*.parquet' WHERE {condition}"
            ).fetchone()
        assert row is not None
        return int(row[0]), int(row[1] or 0)

    def looked(self) -> "Looked":
        """What the predicates make of a large sample, and what each row takes."""
        query = Query(tuple(Operator(predicate.name) for predicate in self.predicates))
        conditions = {predicate.name: F.expr(predicate.spark) for predicate in self.predicates}
        with looking(self.df, query, conditions, THOROUGH, 0) as look:
            kinds = look.some.select("kind").toArrow().column("kind").to_pylist()
            return Looked(query, ~look.timed.passed, look.timed.seconds, np.array(kinds))

    def by_class(self, orders: Mapping[str, Sequence[int]]) -> DataFrame:
        """As somebody would write it who was told the classes and their orders."""
        df = self.df
        for position in range(len(self.predicates)):
            asked = {kind: self.predicates[order[position]] for kind, order in orders.items()}
            *others, last = asked.items()
            whole = F.expr(last[1].spark)
            for kind, predicate in others:
                whole = F.when(F.col("kind") == kind, F.expr(predicate.spark)).otherwise(whole)
            same = len({predicate.name for predicate in asked.values()}) == 1
            df = df.filter(F.expr(last[1].spark) if same else whole)
        return df


@dataclass(frozen=True)
class Looked:
    """Sampled rows: which predicates drop them, the seconds of each, and their classes."""

    query: Query
    bits: NDArray[np.bool_]
    seconds: NDArray[np.float64]
    kinds: NDArray[np.str_]

    def extremes(self) -> tuple[list[int], list[int]]:
        """The best and the worst order for all rows."""
        best, worst = (
            optimal_order(self.bits, sign * self.seconds, self.query) for sign in (1.0, -1.0)
        )
        return list(best), list(worst)

    def by_class(self) -> dict[str, list[int]]:
        """The best order of each class."""
        orders = {}
        for kind in np.unique(self.kinds):
            rows = self.kinds == kind
            order = optimal_order(self.bits[rows], self.seconds[rows], self.query)
            orders[str(kind)] = list(order)
        return orders


def _orders(race: Race, looked: Looked) -> dict[str, list[int]]:
    """Static orders to run against: all of few predicates, else written, best and worst."""
    count = len(race.predicates)
    if count <= FEW:
        return {
            "-".join(race.predicates[i].name for i in order): list(order)
            for order in permutations(range(count))
        }
    best, worst = looked.extremes()
    return {WRITTEN: list(range(count)), BEST: best, WORST: worst}


def _measured(
    makers: dict[str, Callable[[], Result]], size: Size, repeat: int
) -> dict[str, list[float]]:
    """Contestants in turns, each turn in an order of its own; wrong results are an error."""
    expected = {name: make() for name, make in makers.items()}  # warm up
    if len(set(expected.values())) != 1:
        raise AnabranchError(f"the results differ: {expected}")
    seconds: dict[str, list[float]] = {name: [] for name in makers}
    for turn in range(repeat):
        for name in random.Random(turn).sample(list(makers), len(makers)):
            begin = time.perf_counter()
            makers[name]()
            seconds[name].append(time.perf_counter() - begin)
            size.tick()
    return seconds


def _figure(name: str, work: Workload, spark: SparkSession, size: Size, repeat: int) -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "records")
        table = records(spark, size.rows, work.names, work.rates, work.common)
        # Files as a log has them, one after the other.
        table.repartitionByRange(FILES, "id").sortWithinPartitions("id").write.parquet(path)
        size.tick()
        race = Race(spark, [BY_NAME[name] for name in work.names], path)
        looked = race.looked()
        orders = _orders(race, looked)
        begin = time.perf_counter()
        run = race.query().run(sample=ab.Sample(least_megabytes=0, share=None))
        planning = time.perf_counter() - begin
        makers: dict[str, Callable[[], Result]] = {
            OURS: partial(race.spark_result, run.df),
            ORACLE: partial(race.spark_result, race.by_class(looked.by_class())),
            DUCKDB: race.duckdb_result,
        }
        makers |= {name: partial(race.spark_result, race.static(o)) for name, o in orders.items()}
        seconds = _measured(makers, size, repeat)
    return _told(name, work, size, repeat, seconds, list(orders), planning, run.plan())


def _told(
    name: str,
    work: Workload,
    size: Size,
    repeat: int,
    seconds: dict[str, list[float]],
    orders: Sequence[str],
    planning: float,
    plan: ab.Mesh,
) -> Figure:
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    best, worst = (pick(orders, key=medians.__getitem__) for pick in (min, max))

    def faster(than: str) -> float:
        """The median of alternated pairs."""
        pairs = zip(seconds[than], seconds[OURS], strict=True)
        return statistics.median(other / mine for other, mine in pairs)

    shown = [OURS, ORACLE, DUCKDB, *sorted(orders, key=medians.__getitem__)]
    rows = [
        (other, medians[other], faster(other), planning if other == OURS else 0.0)
        for other in shown
    ]
    return Figure(
        name,
        f"{work.title}, {len(work.names)} native predicates, {size.rows:,} rows, {repeat} turns, "
        f"{len(plan.routes)} route{'s' if len(plan.routes) > 1 else ''}",
        "no paper; wanted: 1.5x the best static order with classes, 0.98x without, 2x the worst",
        f"{faster(best):.2f}x as fast as the best static order ({best}), {faster(worst):.2f}x as "
        f"fast as the worst, {faster(DUCKDB):.2f}x as fast as DuckDB; planned in {planning:.1f} s",
        ("contestant", "seconds", "auto is faster by", "planning"),
        rows,
        {"seconds": (shown, [medians[other] for other in shown])},
        ("contestant", "seconds"),
        bars=True,
    )


def _killers(count: int, classes: Sequence[Sequence[int]], low: float = 0.05) -> list[list[float]]:
    """Rows of each class are dropped by predicates of their own; others drop one in ten."""
    return [[low if j in own else 0.9 for j in range(count)] for own in classes]


# In microseconds, about: 2 to 6, 1 to 3, 0.3 to 6.
COSTLY = ("json", "agent", "fields", "near", "level", "masked")
LIGHT = ("words", "stamp", "url", "json", "agent", "fields")
UNEQUAL = ("regex", "json", "day", "near", "masked", "path")
SKEWED = _killers(6, [(2,), (3,), (4,), (5,)])
LOPSIDED = _killers(6, [(3,), (4,), (1,)])
WORKLOADS = {
    "skewed": Workload("four classes, costly", COSTLY, [SKEWED]),
    "light": Workload("four classes, light", LIGHT, [SKEWED]),
    "unequal": Workload("three classes, unequal costs", UNEQUAL, [LOPSIDED]),
    "uniform": Workload("no classes", UNEQUAL, [[[0.5] * 6]]),
    "correlated": Workload(
        "one draw for half of the rows", UNEQUAL[:4], [[[0.3, 0.5, 0.6, 0.4]]], common=0.5
    ),
    "drifting": Workload("the classes change half way", COSTLY, [SKEWED, SKEWED[1:] + SKEWED[:1]]),
    "three": Workload("no classes", UNEQUAL[:3], [[[0.7, 0.3, 0.5]]]),
    "eight": Workload(
        "four classes", (*UNEQUAL, "words", "agent"), [_killers(8, [(3,), (4,), (1,), (7,)])]
    ),
}

NATIVE = Bench(
    "native predicates",
    {},
    {name: partial(_figure, name, told) for name, told in WORKLOADS.items()},
)
