"""`anabranch bench queries`: several queries in one pass against one after the other."""

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.burn import filter_on_bit, steps_for
from anabranch.bench.figure import Figure
from anabranch.bench.runner import Bench
from anabranch.bench.size import Size
from anabranch.data.shifting import stream_of, write_files
from anabranch.model import AnabranchError
from anabranch.report.shared import SharedReport

QUERIES, PREDICATES, EACH = 10, 12, 4
MICROSECONDS = 5.0
FILES = 6
SCHEMA = "id long, code long"
SHARED, ALONE, PLAIN = "one pass", "one by one", "one by one, plain Spark"
NOW = "available now"
Result = tuple[int, int]
Judge = Callable[[int], bool]


def members(seed: int = 0) -> dict[str, list[int]]:
    """Which predicates each query asks for; every predicate is asked for."""
    draw = np.random.default_rng(seed)
    asked = [sorted(draw.choice(PREDICATES, EACH, replace=False).tolist()) for _ in range(QUERIES)]
    for predicate in range(PREDICATES):
        if not any(predicate in one for one in asked):
            asked[predicate % QUERIES][0] = predicate
    return {f"q{i}": sorted(set(one)) for i, one in enumerate(asked)}


def _rows(spark: SparkSession, rows: int) -> DataFrame:
    """A bit of the code tells whether a predicate drops the row: half of them do, on average."""
    bits = [
        F.when(F.pmod(F.xxhash64("id", F.lit(i)), F.lit(100)) < 30 + 3 * i, 1 << i).otherwise(0)
        for i in range(PREDICATES)
    ]
    return spark.range(rows).select("id", reduce(Column.__add__, bits).cast("long").alias("code"))


def _query(df: DataFrame, asked: Sequence[int], judges: Sequence[Judge]) -> ab.Query:
    query = ab.query(df)
    for i in asked:
        query = query.where(judges[i], "code", name=f"f{i + 1}")
    return query


def _result(df: DataFrame) -> Result:
    row = df.agg(F.count(F.lit(1)), F.bit_xor("id")).collect()[0]
    return int(row[0]), int(row[1] or 0)


def _add(results: dict[str, Result], name: str, df: DataFrame) -> None:
    (count, mixed), before = _result(df), results.get(name, (0, 0))
    results[name] = before[0] + count, before[1] ^ mixed


class _Contest:
    """Ten queries over the files of a folder."""

    def __init__(self, spark: SparkSession, source: Path) -> None:
        self._spark, self._source = spark, source
        step = steps_for(1.0)
        self._judges = [filter_on_bit(i, round(step * MICROSECONDS)) for i in range(PREDICATES)]
        self._members = members()
        self.report: SharedReport | None = None

    def _stream(self) -> DataFrame:
        return stream_of(self._spark, self._source, SCHEMA)

    def shared(self, checkpoint: str) -> dict[str, Result]:
        df, results = self._stream(), dict[str, Result]()

        def write(dfs: Mapping[str, DataFrame], _: int) -> None:
            for name, own in dfs.items():
                _add(results, name, own)

        queries = {name: _query(df, asked, self._judges) for name, asked in self._members.items()}
        handle = ab.queries(**queries).stream(write, checkpoint, trigger=NOW)
        handle.await_termination()
        self.report = handle.report()
        return results

    def alone(self, checkpoint: str) -> dict[str, Result]:
        results = dict[str, Result]()
        for name, asked in self._members.items():

            def write(df: DataFrame, _: int, name: str = name) -> None:
                _add(results, name, df)

            query = _query(self._stream(), asked, self._judges)
            query.stream(write, f"{checkpoint}-{name}", trigger=NOW).await_termination()
        return results

    def plain(self, checkpoint: str) -> dict[str, Result]:
        results = dict[str, Result]()
        for name, asked in self._members.items():
            udfs = [F.udf(self._judges[i], "boolean", useArrow=True)("code") for i in asked]
            kept = self._stream().filter(reduce(Column.__and__, udfs))

            def write(df: DataFrame, _: int, name: str = name) -> None:
                _add(results, name, df)

            stream: Any = kept.writeStream.foreachBatch(write)
            stream = stream.option("checkpointLocation", f"{checkpoint}-{name}")
            stream.trigger(availableNow=True).start().awaitTermination()
        return results


def sharing(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Ten queries that share twelve predicates."""
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        write_files(_rows(spark, size.rows), source, FILES)
        contest = _Contest(spark, source)
        runs = {SHARED: contest.shared, ALONE: contest.alone, PLAIN: contest.plain}
        found = []
        for turn in range(repeat):
            for name in random.Random(turn).sample(list(runs), len(runs)):
                begin = time.perf_counter()
                found.append(runs[name](f"{folder}/{turn}-{list(runs).index(name)}"))
                seconds.setdefault(name, []).append(time.perf_counter() - begin)
                size.tick()
    if any(one != found[0] for one in found):
        raise AnabranchError("the results differ")
    assert contest.report is not None
    return _figure(seconds, contest.report, sum(count for count, _ in found[0].values()), size)


def _figure(
    seconds: Mapping[str, list[float]], report: SharedReport, rows_out: int, size: Size
) -> Figure:
    def times(name: str) -> list[float]:
        return [other / ours for other, ours in zip(seconds[name], seconds[SHARED], strict=True)]

    alone, plain = (times(name) for name in (ALONE, PLAIN))
    saved = report.saved / max(sum(report.alone.values()), 1)
    return Figure(
        "sharing",
        f"{QUERIES} queries with {EACH} of {PREDICATES} predicates of {MICROSECONDS:g} us over "
        f"{size.rows:,} rows in {FILES} rounds, {rows_out:,} rows out, {len(alone)} turns",
        "C4: common work is done once; wanted: 2x as fast as one by one",
        f"{statistics.median(alone):.2f}x as fast as one by one ({min(alone):.2f} to "
        f"{max(alone):.2f}), {statistics.median(plain):.2f}x as plain Spark one by one; "
        f"{saved:.0%} of the evaluations saved",
        ("contestant", "seconds", "times as long"),
        [
            (
                name,
                statistics.median(told),
                statistics.median(told) / statistics.median(seconds[SHARED]),
            )
            for name, told in seconds.items()
        ],
        {"seconds": (list(seconds), [statistics.median(told) for told in seconds.values()])},
        ("", "seconds"),
        bars=True,
    )


QUERIES_BENCH = Bench("queries", {}, {"sharing": sharing})
