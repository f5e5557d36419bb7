"""Windowed joins of streams: the result equals one SQL statement over all input."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.data.ticking import BEGIN
from anabranch.kernel.joins.grid import key_of
from anabranch.spark.joins.run import PROVIDER, ROCKSDB

SCHEMA = "ts timestamp, sector string, company int, amount long"
NAMES = ("trades", "news", "blogs")
WINDOWS = {"trades": 6, "news": 20, "blogs": 15}
FILES, ROWS = 6, 40
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
        (root / name).mkdir()
        for file in range(FILES):
            path = root / name / f"{file}.parquet"
            rows = table(random, file)
            rows.iloc[: 0 if name == "blogs" and file >= 4 else None].to_parquet(path, index=False)
            os.utime(path, (BEGIN // 1_000_000 + file,) * 2)
    return root


def streams_of(spark, folder):
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


def written(df, root):
    query = (
        df.writeStream.format("parquet")
        .option("path", str(root / "out"))
        .option("checkpointLocation", str(root / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()


def test_streams_give_what_one_statement_gives_also_after_a_restart(rocksdb, folder, tmp_path):
    first, source = tmp_path / "first", tmp_path / "in"
    for name in NAMES:
        (source / name).mkdir(parents=True)
    files = sorted(folder.glob("*/*.parquet"))
    for path in files:
        if int(path.stem) < 3:
            os.link(path, source / path.parent.name / path.name)
    run = declared(streams_of(rocksdb, source)).run(policy="agreedy", cells=4)
    written(run.df, first)
    begun = run.report()
    for path in files:
        if int(path.stem) >= 3:
            os.link(path, source / path.parent.name / path.name)
    again = declared(streams_of(rocksdb, source)).run(policy="agreedy", cells=4)
    written(again.df, first)
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
    changed = declared(streams_of(rocksdb, source)).run(policy="agreedy", cells=2)
    with pytest.raises(Exception, match="cells was 4, is 2"):
        written(changed.df, first)


def test_batches_mean_the_same(spark, folder):
    run = declared(batches_of(spark, folder)).run()
    assert rows_of(run.df) == wanted(spark, folder)
    picked = declared(batches_of(spark, folder)).where("news.amount > 500000")
    picked = picked.where("trades.amount < blogs.amount").select("trades.amount", "event_time")
    plain = [row for row in wanted(spark, folder) if row[1] > 500_000 and row[0] < row[2]]
    assert sorted(r[0] for r in picked.run().df.collect()) == sorted(r[0] for r in plain)


def test_a_window_sum_can_follow(rocksdb, folder, tmp_path):
    run = declared(streams_of(rocksdb, folder), idle="20 seconds").run(policy="fixed", cells=2)
    counts = run.df.groupBy(F.window("event_time", "10 seconds")).count()
    written(counts, tmp_path)
    told = {
        r.window.start: r["count"] for r in rocksdb.read.parquet(str(tmp_path / "out")).collect()
    }
    expected = {}
    for *_, when in wanted(rocksdb, folder):
        start = when.replace(second=when.second // 10 * 10, microsecond=0)
        expected[start] = expected.get(start, 0) + 1
    assert told
    assert told.items() <= expected.items()


def test_cells_spread_evenly_over_partitions(spark):
    keys = spark.createDataFrame([(cell, key_of(cell)) for cell in range(64)], "c int, k int")
    assert all(row[0] == row[1] for row in keys.select("c", F.hash("k")).collect())


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
        (lambda j: j.run(policy="fastest"), 'unknown policy "fastest"'),
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
    with pytest.raises(ab.InputError, match="needs two streams"):
        ab.join(trades=streams["trades"])
