"""The code blocks of the documents run, in their order, on small tables that fit."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.data.files import read_streams, write_stream
from anabranch.data.ticking import BEGIN
from anabranch.spark.joins.run import PROVIDER

ROOT = Path(__file__).parents[2]
PACKETS = "id long, size long, ttl long, payload string, prefix long, subnet long, sector string, "
PACKETS += "device struct<model: string>"


def blocks(name):
    """The Python blocks of a document, each with the heading that it stands under."""
    heading = ""
    tokens = MarkdownIt().parse((ROOT / name).read_text(encoding="utf-8"))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and before.type == "heading_open":
            heading = token.content
        if token.type == "fence" and token.info == "python":
            yield heading, token.content


def has_signature(payload):
    return "admin" in payload


def score(size, ttl):
    return (size + ttl) % 3 == 0


def packets(spark, rows=2_000):
    return spark.range(rows).selectExpr(
        "id",
        "id % 1500 AS size",
        "id % 64 AS ttl",
        "concat('GET /', IF(id % 5 = 0, 'admin', 'shop')) AS payload",
        "id % 7 AS prefix",
        "id % 11 AS subnet",
        "IF(id % 2 = 0, 'agri', 'energy') AS sector",
        "named_struct('model', concat('m', id % 3)) AS device",
    )


def declared(df, spark):
    owners = spark.createDataFrame(
        [(k, f"owner {k}") for k in range(0, 11, 2)], "subnet long, o string"
    )
    query = ab.query(df).where(has_signature, "payload")
    return query.where(F.udf(score, "boolean"), "size", "ttl").join(owners, on="subnet")


@pytest.fixture
def place(spark, tmp_path, monkeypatch):
    """A folder to work in; what was started is stopped, what was set is set back."""
    monkeypatch.chdir(tmp_path)
    before = spark.conf.get(PROVIDER)
    yield tmp_path
    for stream in spark.streams.active:
        stream.stop()
    spark.conf.set(PROVIDER, before)


def market(spark, folder):
    """Three streams of a file each."""
    random = np.random.default_rng(1)
    for name in ("trades", "news", "blogs"):
        seconds = np.sort(random.integers(0, 60, 40))
        times = (BEGIN + seconds * 1_000_000).view("datetime64[us]")
        rows = pd.DataFrame(
            {
                "ts": pd.DatetimeIndex(times).tz_localize("UTC"),
                "sector": random.choice(["agri", "energy"], 40),
                "company": random.integers(0, 5, 40),
                "price": random.uniform(90, 120, 40),
                "title": "a title",
            }
        )
        write_stream(folder / "market" / name, [rows])
    return read_streams(spark, folder / "market", ("trades", "news", "blogs"))


def known(spark):
    """The names that the documents take for granted, before their first block."""
    df = packets(spark)
    return {
        "spark": spark,
        "packets": df,
        "has_signature": has_signature,
        "score_udf": F.udf(score, "boolean"),
        "watched": df.select("prefix").where("prefix < 5").distinct(),
        "owners": spark.createDataFrame([(1, "a"), (2, "b")], "subnet long, owner string"),
        "query": declared(df, spark),
        "odd_user": lambda user: len(user) % 2 == 1,
        "risky": lambda text: "win" in text,
        "repeats": lambda text: len(set(text.split())) < len(text.split()),
    }


def streamed(spark, folder, names):
    """From here on the query is one over a stream."""
    packets(spark).write.mode("overwrite").parquet(str(folder / "packets"))
    stream = spark.readStream.schema(PACKETS).parquet(str(folder / "packets"))
    names["query"] = declared(stream, spark)


def before(heading, spark, folder, names):
    """What a section takes for granted."""
    if heading in ("Rounds", "Rate against memory: OM"):
        streamed(spark, folder, names)
        names["write"] = lambda df, _: df.count()
    elif heading == "Joins of streams":
        names.update(market(spark, folder))
    elif heading == "Several queries over one stream":
        events = spark.range(50).selectExpr(
            "concat('u', id) AS user", "'win win now' AS text", "double(id * 100) AS amount"
        )
        events.write.json(str(folder / "events"))
    elif heading == "Plans by rates":
        streams = {name: names[name] for name in ("trades", "news", "blogs")}
        joined = ab.join(**streams).on(
            "trades.sector = news.sector", "trades.company = blogs.company"
        )
        names["join"] = joined.within("1 hour", time="ts").select("trades.price", "event_time")
    elif heading == "Reports and plans":
        names["query"] = declared(packets(spark), spark)
        names["run"] = names["query"].run()
        names["run"].df.count()


POLICY_PAGES = sorted(f"docs/policies/{path.name}" for path in ROOT.glob("docs/policies/*.md"))


@pytest.mark.parametrize("pages", [["README.md"], ["docs/guide.md"], POLICY_PAGES])
def test_code_blocks_run(spark, place, pages):
    names = {**known(spark), "ab": ab}
    found = [(name, *block) for name in pages for block in blocks(name)]
    assert len(found) >= len(pages) - 1  # `rate` has none
    for name, heading, code in found:
        if name.startswith("docs/policies"):
            names["query"] = declared(packets(spark), spark)
        before(heading, spark, place, names)
        # The JVM has a working folder of its own.
        there = re.sub(r'"(checkpoints|events|out)(?=[/"])', rf'"{place}/\1', code)
        exec(compile(there, f"{name}: {heading}", "exec"), names)
