"""Windowed joins of streams: the result equals one SQL statement over all input."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.data.files import read_streams, write_stream
from anabranch.data.ticking import BEGIN
from anabranch.kernel.joins.grid import key_of
from anabranch.spark.joins.run import PROVIDER, ROCKSDB
from tests.spark.sinks import drain

SCHEMA = "ts timestamp, sector string, company int, amount long"
NAMES = ("trades", "news", "blogs")
WINDOWS = {"trades": 6, "news": 20, "blogs": 15}
FILES, ROWS = 5, 40
SQL = """
SELECT trades.amount AS t, news.amount AS n, blogs.amount AS b,
  greatest(trades.ts, news.ts, blogs.ts) AS event_time
FROM trades JOIN news ON trades.sector = news.sector
  JOIN blogs ON trades.company = blogs.company
WHERE greatest(trades.ts, news.ts, blogs.ts) - trades.ts <= INTERVAL 6 SECONDS
  AND greatest(trades.ts, news.ts, blogs.ts) - news.ts <= INTERVAL 20 SECONDS
  AND greatest(trades.ts, news.ts, blogs.ts) - blogs.ts <= INTERVAL 15 SECONDS
"""


@pytest.fixture(scope="module")
def rocksdb(spark):
    before = spark.conf.get(PROVIDER)
    spark.conf.set(PROVIDER, ROCKSDB)
    yield spark
    spark.conf.set(PROVIDER, before)


def table(random, file, sectors=6):
    """Rows up to four seconds out of order, some twice, some without a key."""
    seconds = file * 10 + random.integers(0, 10, ROWS) - random.integers(0, 4, ROWS)
    words = np.array([*(f"sector {i}" for i in range(sectors - 1)), None], object)
    frame = pd.DataFrame(
        {
            "ts": pd.DatetimeIndex(
                (BEGIN + seconds * 1_000_000).astype(np.int64).view("datetime64[us]")
            ).tz_localize("UTC"),
            "sector": words[random.integers(0, sectors, ROWS)],
            "company": pd.array(random.integers(0, 8, ROWS), "Int32"),
            "amount": random.integers(0, 1_000_000, ROWS),
        }
    )
    frame.loc[frame.index % 11 == 0, "company"] = None
    return pd.concat([frame, frame.iloc[:2]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file per stream and micro-batch; blogs fall silent half way."""
    root, random = tmp_path_factory.mktemp("streams"), np.random.default_rng(5)
    for name in NAMES:
        tables = [table(random, file) for file in range(FILES)]
        silent = [rows.iloc[: 0 if file >= 3 else None] for file, rows in enumerate(tables)]
        write_stream(root / name, silent if name == "blogs" else tables)
    return root


def streams_of(spark, folder):
    """By a schema that is given: some files have no rows."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1")
    return {name: reader.parquet(str(folder / name)) for name in NAMES}


def batches_of(spark, folder):
    return {name: spark.read.schema(SCHEMA).parquet(str(folder / name)) for name in NAMES}


def declared(streams, **options):
    return (
        ab.join(**streams)
        .on("trades.sector = news.sector", "trades.company = blogs.company")
        .within(
            **{name: f"{seconds} seconds" for name, seconds in WINDOWS.items()},
            time="ts",
            delay="4 seconds",
            **options,
        )
    )


def wanted(spark, folder):
    for name, df in batches_of(spark, folder).items():
        df.createOrReplaceTempView(name)
    return sorted(tuple(row) for row in spark.sql(SQL).collect())


RESULT = ("trades.amount AS t", "news.amount AS n", "blogs.amount AS b", "event_time")


def rows_of(df):
    return sorted(tuple(row) for row in df.selectExpr(*RESULT).collect())


def test_streams_give_what_one_statement_gives_also_after_a_restart(rocksdb, folder, tmp_path):
    first, source = tmp_path / "first", tmp_path / "in"
    for name in NAMES:
        (source / name).mkdir(parents=True)
    files = sorted(folder.glob("*/*.parquet"))
    for path in files:
        if int(path.stem) < 2:
            os.link(path, source / path.parent.name / path.name)
    run = declared(streams_of(rocksdb, source)).run(policy="agreedy", cells=4)
    drain(run.df, first)
    begun = run.report()
    for path in files:
        if int(path.stem) >= 2:
            os.link(path, source / path.parent.name / path.name)
    again = declared(streams_of(rocksdb, source)).run(policy="agreedy", cells=4)
    drain(again.df, first)
    expected = wanted(rocksdb, folder)
    assert rows_of(rocksdb.read.parquet(str(first / "out"))) == expected
    assert len(expected) > 100
    report = again.report()
    assert begun.results + report.results == len(expected)
    assert sum(figures.late for figures in report.streams.values()) == 0
    assert report.streams["trades"].held < report.streams["news"].held
    assert report.streams["trades"].evicted > 0
    assert set(report.probes) == set(NAMES)
    assert "combinations" in str(report)
    shutil.copy(files[-1], source / "trades" / "more.parquet")
    with pytest.raises(Exception, match="cells was 4, is 2"):
        drain(declared(streams_of(rocksdb, source)).run(policy="agreedy", cells=2).df, first)
    kept = str(first / "checkpoint")
    with pytest.raises(ab.PlanError, match=r"windows was .* is .*use a new checkpoint"):
        declared(streams_of(rocksdb, source)).within("1 minute", time="ts").run(checkpoint=kept)
    declared(streams_of(rocksdb, source)).run(cells=4, checkpoint=kept)
    declared(streams_of(rocksdb, source)).run(cells=4, checkpoint=str(tmp_path / "new"))


# Others are joined by the kernel alone, against brute force.
SHAPES = {
    "star of four": (["a.x = b.x", "a.y = c.y AND a.x = c.x", "a.z = d.z"], "content"),
    "cycle of six": (
        ["a.x = b.x", "b.y = c.y", "c.z = d.z", "d.x = e.x", "e.y = f.y", "f.z = a.z"],
        "auto",
    ),
    "chain of four, as Spark's own joins of two pairs": (
        ["a.x = b.x", "b.y = c.y", "c.z = d.z"],
        ab.RateBased(
            rates={"a": 10, "b": 10, "c": 10, "d": 10},
            selectivities={"a = b": 0.001, "b = c": 0.1, "c = d": 0.001},
            how="native",
        ),
    ),
}


def small(random, file):
    seconds = file * 10 + random.integers(0, 10, 14) - random.integers(0, 3, 14)
    times = (BEGIN + seconds * 1_000_000).view("datetime64[us]")
    keys = {c: pd.array(random.integers(0, 3, 14), "Int32") for c in "xyz"}
    table = pd.DataFrame({"ts": pd.DatetimeIndex(times).tz_localize("UTC"), **keys})
    table.loc[table.index % 9 == 8, "y"] = None
    return table.assign(n=random.integers(0, 1_000_000, 14))


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_four_to_six_streams_give_what_one_statement_gives(rocksdb, tmp_path, shape):
    predicates, policy = SHAPES[shape]
    names = sorted(
        {side.split(".")[0] for text in predicates for side in text.split() if "." in side}
    )
    random, windows = (
        np.random.default_rng(len(names)),
        dict(zip(names, (5, 9, 7, 4, 8, 6), strict=False)),
    )
    for name in names:
        write_stream(tmp_path / name, [small(random, file) for file in range(2)])
        rocksdb.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    numbers = [f"{name}.n AS {name}" for name in names]
    run = (
        ab.join(**read_streams(rocksdb, tmp_path, names))
        .on(*predicates)
        .within(**{n: f"{w} seconds" for n, w in windows.items()}, time="ts", delay="3 seconds")
        .select(*numbers)
        .run(policy=policy, cells=2)
    )
    if isinstance(policy, ab.RateBased):
        assert str(run.policy.chosen) == "((a, b), (c, d))"
    drain(run.df, tmp_path)
    last = f"greatest({', '.join(f'{name}.ts' for name in names)})"
    near = [f"{last} - {n}.ts <= INTERVAL {w} SECONDS" for n, w in windows.items()]
    plain = rocksdb.sql(
        f"SELECT {', '.join(numbers)} FROM {', '.join(names)} "
        f"WHERE {' AND '.join([*predicates, *near])}"
    )
    expected = sorted(map(tuple, plain.collect()))
    assert sorted(map(tuple, rocksdb.read.parquet(str(tmp_path / "out")).collect())) == expected
    assert expected


def rows_at(second, *rows):
    """Rows (x, y, n) of one time."""
    frame = pd.DataFrame(rows, columns=["x", "y", "n"])
    when = pd.Timestamp(BEGIN + second * 1_000_000, unit="us", tz="UTC").as_unit("us")
    return frame.assign(ts=when)


def test_a_restart_at_the_very_watermark_in_another_zone_under_another_policy(rocksdb, tmp_path):
    """Two columns of a stream are equal to one of another; the last row is of the watermark."""
    tables = {
        "a": [rows_at(10, (1, 1, 10), (1, 2, 11)), rows_at(10, (1, 1, 12))],
        "b": [rows_at(10, (1, 0, 20)), rows_at(10, (2, 0, 21))],
        "c": [rows_at(10, (5, 0, 30)), rows_at(9, (5, 0, 31))],
    }

    def run(policy):
        streams = read_streams(rocksdb, tmp_path / "in", tables)
        joined = (
            ab.join(**streams)
            .on("a.x = b.X", "a.y = b.x", "c.x = a.x + 4")
            .within("5 seconds", time="ts")
        )
        joined = joined.where("a.n + b.n < 1000").select("a.N AS n", "b.ts", "event_time")
        compiled = joined.run(policy=policy, cells=1, rates={"a": 3, "b": 2, "c": 1})
        rates = compiled.rates(drain(compiled.df, tmp_path))
        assert rates["b"] == pytest.approx(rates["c"])  # as many rows
        assert rates["a"] > 0
        held = {name: told.expected for name, told in compiled.report().streams.items()}
        assert held == {"a": 15, "b": 10, "c": 5}  # five seconds
        assert ("tree by rates: " in compiled.explain()) == (policy == "rate")
        told = rocksdb.read.parquet(str(tmp_path / "out")).collect()
        return sorted(row.n for row in told)

    for name, (first, _) in tables.items():
        write_stream(tmp_path / "in" / name, [first])
    assert run("rate") == [10]
    for name, (first, second) in tables.items():
        shutil.rmtree(tmp_path / "in" / name)
        write_stream(tmp_path / "in" / name, [first, second])
    zone = rocksdb.conf.get("spark.sql.session.timeZone")
    rocksdb.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        assert run("agreedy") == [10, 12]  # the row of c is late
    finally:
        rocksdb.conf.set("spark.sql.session.timeZone", zone)


def test_batches_mean_the_same(spark, folder):
    run = declared(batches_of(spark, folder)).run()
    assert rows_of(run.df) == wanted(spark, folder)
    twice = ab.join(a=batches_of(spark, folder)["trades"], b=batches_of(spark, folder)["news"])
    twice = twice.on("a.company = b.company", "a.amount % 8 = b.company").within("9 s", time="ts")
    assert all(
        row.a.amount % 8 == row.a.company == row.b.company for row in twice.run().df.collect()
    )
    old = batches_of(spark, folder)
    old["trades"] = old["trades"].withColumn("event_time", F.lit("1980-01-01").cast("timestamp"))
    assert declared(old).where("event_time > '2000-01-01'").run().df.count() == run.df.count()
    picked = declared(batches_of(spark, folder)).where("news.amount > 500000")
    picked = picked.where("trades.amount < blogs.amount").select("trades.amount", "event_time")
    plain = [row for row in wanted(spark, folder) if row[1] > 500_000 and row[0] < row[2]]
    assert sorted(r[0] for r in picked.run().df.collect()) == sorted(r[0] for r in plain)


def test_a_window_sum_can_follow(rocksdb, folder, tmp_path):
    run = declared(streams_of(rocksdb, folder), idle="4 seconds").run(policy="fixed", cells=2)
    counts = run.df.groupBy(F.window("event_time", "10 seconds")).count()
    drain(counts, tmp_path)
    told = {
        r.window.start: r["count"] for r in rocksdb.read.parquet(str(tmp_path / "out")).collect()
    }
    expected = {}
    for *_, when in wanted(rocksdb, folder):
        start = when.replace(second=when.second // 10 * 10, microsecond=0)
        expected[start] = expected.get(start, 0) + 1
    assert told.items() <= expected.items()
    # Blogs are silent from second 30 on, and hold the watermark back no longer than four seconds.
    assert max(told).timestamp() == BEGIN / 1e6 + 30


def test_cells_spread_evenly_over_partitions(spark):
    keys = spark.createDataFrame([(cell, key_of(cell)) for cell in range(64)], "c int, k int")
    assert all(row[0] == row[1] for row in keys.select("c", F.hash("k")).collect())


RATES = {"trades": 10.0, "news": 2.0, "blogs": 1.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda j: j.on("trades.sector > news.sector"), "is no equality"),
        (lambda j: j.on("trades.sector = prices.sector"), 'no stream "prices"'),
        (lambda j: j.on("trades.sector = trades.sector"), "both sides are of trades"),
        (lambda j: j.on("trades.sector = news.company").run(), "keys must have one type"),
        (lambda j: j.on("trades.sectr = news.sector").run(), "its columns: ts, sector"),
        (lambda j: j.within("10 parsecs", time="ts"), "window of trades is a length of time"),
        (lambda j: j.within("10 s", time="ts", delay="soon"), "delay of trades is a length"),
        (lambda j: j.within(trades="10 s", time="ts"), "no window for news, blogs"),
        (lambda j: j.within("10 s", time="when").run(), 'no column "when" for time='),
        (lambda j: j.within("10 s", time="amount").run(), "must be a timestamp"),
        (lambda j: j.run(cells=0), "cells is a whole number"),
        (lambda j: j.run(policy="rate"), "rates: trades, news, blogs missing"),
        (lambda j: j.run(policy="rate", rates={"trades": -1, "news": 1, "blogs": 1}), "rate of tr"),
        (lambda j: j.run(ab.RateBased(RATES, {"news = blogs": 0.1})), 'nothing joins "news = b'),
        (lambda j: j.run(ab.RateBased(RATES, {"trades = news": 2})), "trades = news is a share"),
        (lambda j: j.run(ab.RateBased(tree="(trades, news)")), "spans all streams, blogs missing"),
        (lambda j: j.run(policy="fastest"), 'unknown policy "fastest"'),
        (lambda j: j.run(attributes=["tradez.sector"]), 'no stream "tradez"'),
        (lambda j: j.within("10", time="ts"), "window of trades is a length of time"),
        (lambda j: j.where("trades.amont > news.amount").run(), "cannot be resolved"),
        (lambda j: j.select("amount").run(), "write columns as stream.column"),
        (lambda j: j.on("array(trades.sector) = array(news.sector)").run(), "no key of a join"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(rocksdb, folder, change, message):
    with pytest.raises(ab.InputError, match=message):
        change(declared(streams_of(rocksdb, folder)))


def test_what_no_join_can_be_made_of_is_refused(rocksdb, folder):
    streams, batches = streams_of(rocksdb, folder), batches_of(rocksdb, folder)
    apart = ab.join(**streams).on("trades.sector = news.sector").within("1 minute", time="ts")
    with pytest.raises(ab.InputError, match="nothing links blogs with trades, news"):
        apart.run()
    rocksdb.conf.set(PROVIDER, ROCKSDB.replace("RocksDB", "HDFSBacked"))
    try:
        with pytest.raises(ab.InputError, match="keep their windows in RocksDB"):
            declared(streams).run()
    finally:
        rocksdb.conf.set(PROVIDER, ROCKSDB)
    with pytest.raises(ab.InputError, match="bounded, the others are streams"):
        ab.join(trades=streams["trades"], news=batches["news"])
    with pytest.raises(ab.InputError, match='cannot be named "time"'):
        ab.join(time=streams["trades"], news=streams["news"])
    marked = {**streams, "news": streams["news"].withWatermark("ts", "1 second")}
    with pytest.raises(ab.InputError, match="news has a watermark already"):
        declared(marked).run()
    with pytest.raises(ab.InputError, match="needs two streams"):
        ab.join(trades=streams["trades"])
