"""Windowed joins on Spark: one operator against Spark's chained stream-stream joins."""

import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.figure import Figure
from anabranch.bench.size import Size
from anabranch.bench.snapshots import snapshot_bytes
from anabranch.data.files import read_streams
from anabranch.data.ticking import Ticking
from anabranch.model import AnabranchError
from anabranch.report.joins import JoinReport
from anabranch.spark.joins.joined import JoinRun
from anabranch.spark.joins.run import PROVIDER, ROCKSDB

# Seconds of event time that a file has, and that a row of another stream may be away.
SECONDS, WINDOW = 10.0, 10
# Micro-batches, and those at the beginning, while windows fill and code is new, that do not count.
BATCHES, FIRST = 12, 4
OURS, CHAINED = "one operator", "chained joins"
Made = tuple[DataFrame, JoinRun | None]


@dataclass
class Streams:
    """Streams over files, one file of each per micro-batch, joined on one key."""

    spark: SparkSession
    folder: Path
    names: Sequence[str]
    window: int = WINDOW

    def frames(self) -> dict[str, DataFrame]:
        return read_streams(self.spark, self.folder, self.names)

    def ours(self) -> Made:
        """One operator."""
        first = self.names[0]
        join = ab.join(**self.frames()).on(*(f"{first}.k = {name}.k" for name in self.names[1:]))
        join = join.within(f"{self.window} seconds", time="ts")
        run = join.select(*(f"{name}.v AS v_{name}" for name in self.names)).run(policy="agreedy")
        return run.df, run

    def chained(self) -> Made:
        """Stream-stream joins, two streams at a time.

        A plan may carry one column of event time only: that of the first stream. The others go on
        as plain numbers, and all conditions on two of them are asked as soon as both are there.
        """
        marked = {
            name: df.withWatermark("ts", "0 seconds").select(
                *(F.col(column).alias(f"{column}_{name}") for column in df.columns)
            )
            for name, df in self.frames().items()
        }
        first, *others = self.names
        joined, there = marked[first], list[str]()
        for name in others:
            joined = joined.join(marked[name], self._near(first, name, there))
            joined = joined.withColumn(f"t_{name}", F.unix_micros(f"ts_{name}")).drop(f"ts_{name}")
            there.append(name)
        return joined.select(*(f"v_{name}" for name in self.names)), None

    def _near(self, first: str, name: str, there: Sequence[str]) -> Column:
        length = F.expr(f"INTERVAL {self.window} SECONDS")
        mine, theirs = F.col(f"ts_{name}"), F.col(f"ts_{first}")
        conditions = [F.col(f"k_{name}") == F.col(f"k_{first}")]
        conditions += [mine >= theirs - length, mine <= theirs + length]
        for other in there:
            away = F.abs(F.unix_micros(mine) - F.col(f"t_{other}"))
            conditions.append(away <= self.window * 1_000_000)
        return reduce(Column.__and__, conditions)


@dataclass
class Told:
    """What a run over all files gave."""

    milliseconds: list[float]
    results: tuple[int, int]
    state: int
    report: JoinReport | None
    median: float = field(init=False)

    def __post_init__(self) -> None:
        self.median = statistics.median(self.milliseconds[FIRST:])


def run_to_end(made: Made, folder: Path) -> Told:
    """Write all results to files; how long each micro-batch took, by Spark's own clock."""
    df, run = made
    checkpoint, out = folder / "checkpoint", str(folder / "out")
    writer = df.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start(out)
    query.awaitTermination()
    times = [
        float(p["durationMs"]["triggerExecution"])
        for p in query.recentProgress
        if p["numInputRows"]
    ]
    written = df.sparkSession.read.parquet(out)
    mixed = F.sum(F.xxhash64(*written.columns).cast("decimal(38,0)"))
    row = written.agg(F.count(F.lit(1)), mixed).collect()[0]
    report = run.report() if run else None
    return Told(times, (int(row[0]), int(row[1] or 0)), snapshot_bytes(checkpoint), report)


def with_rocksdb(
    measure: Callable[[SparkSession, Size, int], Figure],
) -> Callable[[SparkSession, Size, int], Figure]:
    """Both contestants keep their state in RocksDB."""

    def measured(spark: SparkSession, size: Size, repeat: int) -> Figure:
        spark.conf.set(PROVIDER, ROCKSDB)
        return measure(spark, size, repeat)

    return measured


def contest(
    name: str, count: int, matches: float, spark: SparkSession, size: Size, repeat: int
) -> Figure:
    """So many streams on one key; a row has `matches` rows of each other stream in its window."""
    names, told = [f"s{i}" for i in range(count)], dict[str, list[Told]]()
    per_file = max(size.rows // count, 1)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        Ticking(per_file, _keys(per_file, WINDOW, matches), SECONDS).write(source, names, BATCHES)
        streams = Streams(spark, source, names)
        makers: dict[str, Callable[[], Made]] = {OURS: streams.ours, CHAINED: streams.chained}
        for turn in range(repeat):
            for one in random.Random(turn).sample(list(makers), len(makers)):
                told.setdefault(one, []).append(
                    run_to_end(makers[one](), Path(folder) / f"{one}-{turn}")
                )
                size.tick()
    if len({one.results for turns in told.values() for one in turns}) > 1:
        raise AnabranchError("the results differ")
    ratios = [c.median / o.median for o, c in zip(told[OURS], told[CHAINED], strict=True)]
    state = statistics.median(
        o.state / c.state for o, c in zip(told[OURS], told[CHAINED], strict=True)
    )
    results = told[OURS][0].results[0]
    return Figure(
        name,
        f"{count} streams on one key, {per_file:,} rows of each in {BATCHES} micro-batches, "
        f"{results:,} results, {repeat} turns",
        "no paper; chained stream-stream joins in Spark",
        f"{statistics.median(ratios):.2f}x as fast per micro-batch ({_range(ratios)}), "
        f"{state:.2f}x the bytes of the newest state",
        ("contestant", "ms per micro-batch", "seconds", "state bytes"),
        [
            (
                one,
                statistics.median(t.median for t in turns),
                statistics.median(sum(t.milliseconds) for t in turns) / 1e3,
                int(statistics.median(t.state for t in turns)),
            )
            for one, turns in told.items()
        ],
        {one: (range(BATCHES), turns[-1].milliseconds[:BATCHES]) for one, turns in told.items()},
        ("micro-batch", "milliseconds"),
    )


def _keys(per_file: int, window: int, matches: float) -> int:
    """So many that a row has `matches` in each window: rows before and after it."""
    return max(round(2 * window / SECONDS * per_file / matches), 1)


def _range(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def many(spark: SparkSession, size: Size, _: int) -> Figure:
    """Ten streams; chained joins of so many are not waited for."""
    names = [f"s{i}" for i in range(10)]
    per_file = max(size.rows // len(names), 1)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        Ticking(per_file, _keys(per_file, WINDOW, 1.0), SECONDS).write(source, names, BATCHES)
        told = run_to_end(Streams(spark, source, names).ours(), Path(folder) / "ours")
        batch = _batched(spark, source, names)
        size.tick()
    if batch != told.results:
        raise AnabranchError(f"the results differ: {told.results} and {batch}")
    return Figure(
        "ten",
        f"10 streams on one key, {per_file:,} rows of each in {BATCHES} micro-batches, "
        f"{told.results[0]:,} results",
        "Query Mesh: a 10-way join",
        f"{told.median:.0f} ms per micro-batch; results as of a batch join over all files",
        ("contestant", "ms per micro-batch", "seconds", "state bytes"),
        [(OURS, told.median, sum(told.milliseconds) / 1e3, told.state)],
        {OURS: (range(BATCHES), told.milliseconds[:BATCHES])},
        ("micro-batch", "milliseconds"),
    )


def _batched(spark: SparkSession, source: Path, names: Sequence[str]) -> tuple[int, int]:
    frames = {name: spark.read.parquet(str(source / name)) for name in names}
    join = ab.join(**frames).on(*(f"{names[0]}.k = {name}.k" for name in names[1:]))
    df = join.within(f"{WINDOW} seconds", time="ts").run().df
    df = df.select(*(F.col(f"{name}.v").alias(f"v_{name}") for name in names))
    mixed = F.sum(F.xxhash64(*df.columns).cast("decimal(38,0)"))
    row = df.agg(F.count(F.lit(1)), mixed).collect()[0]
    return int(row[0]), int(row[1] or 0)


def _same(_: int) -> float:
    return 1.0


def _more(window: int) -> float:
    return window / 20


def windows(spark: SparkSession, size: Size, _: int) -> Figure:
    """Longer windows, with as many matches as before, and with more."""
    names, rows = [f"s{i}" for i in range(4)], list[tuple[Any, ...]]()
    lines: dict[str, tuple[list[float], list[float]]] = {}
    per_file = max(size.rows // len(names), 1)
    kinds = {"warm-up": _same, "matches stay": _same, "matches grow": _more}
    for kind, matches in kinds.items():
        for window in (10, 20, 40) if kind != "warm-up" else (10,):
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "in"
                keys = _keys(per_file, window, matches(window))
                Ticking(per_file, keys, SECONDS).write(source, names, BATCHES)
                told = run_to_end(
                    Streams(spark, source, names, window).ours(), Path(folder) / "ours"
                )
                size.tick()
            if kind == "warm-up":
                continue
            assert told.report is not None
            held = sum(stream.held for stream in told.report.streams.values())
            rows.append((kind, window, held, told.results[0] // BATCHES, told.median))
            x, y = lines.setdefault(kind, ([], []))
            x.append(window)
            y.append(told.median)
    stay, grow = (y[-1] / y[0] for _, y in lines.values())
    return Figure(
        "windows",
        f"4 streams on one key, {per_file:,} rows of each per micro-batch, windows of 10 to 40 "
        "seconds",
        "no paper; wanted: time grows with rows that arrive and match",
        f"4 times the windows (256 times their product) take {stay:.2f}x the time per micro-batch "
        f"with as many matches as before, {grow:.2f}x with four times as many per window",
        ("what", "window", "rows held", "results per micro-batch", "ms per micro-batch"),
        rows,
        lines,
        ("seconds of the windows", "milliseconds per micro-batch"),
    )


FIGURES = {
    "four": with_rocksdb(partial(contest, "four", 4, 1.0)),
    "six": with_rocksdb(partial(contest, "six", 6, 1.0)),
    "sparse": with_rocksdb(partial(contest, "sparse", 4, 0.1)),
    "ten": with_rocksdb(many),
    "windows": with_rocksdb(windows),
}
