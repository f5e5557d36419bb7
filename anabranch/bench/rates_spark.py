"""Trees of joins on Spark: the one that rates suggest against the one that they warn of."""

import random
import statistics
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.bench.figure import Figure
from anabranch.bench.joins_spark import BATCHES, SECONDS, WINDOW, Told, run_to_end, with_rocksdb
from anabranch.bench.size import Size
from anabranch.cost.flow import rows_between
from anabranch.cost.rate import Source
from anabranch.cost.stream_join import Link, StreamJoin
from anabranch.cost.trees import all_trees
from anabranch.data.files import read_streams, write_stream
from anabranch.data.ticking import Ticking
from anabranch.model import AnabranchError
from anabranch.policies import RateBased
from anabranch.spark.joins.joined import JoinRun

# Share of the rows that each stream has, and of how many keys its rows have two: one with the
# stream before it, one with the stream behind. Few keys match often.
SHARES = {"calls": 0.5, "cells": 0.3, "users": 0.15, "fraud": 0.05}
PREDICATES = {"calls = cells": 2_000, "cells = users": 20_000, "users = fraud": 20_000}


def _write(folder: Path, rows: int) -> dict[str, float]:
    """A chain of four streams; rows per second of each."""
    rates = {}
    keys = list(PREDICATES.values())
    for place, (name, share) in enumerate(SHARES.items()):
        count = max(int(rows * share), 1)
        before, behind = (keys[min(max(i, 0), len(keys) - 1)] for i in (place - 1, place))
        tables = []
        for file in range(BATCHES):
            one = Ticking(count, before, SECONDS).table(place, file)
            other = Ticking(count, behind, SECONDS, seed=1).table(place, file)
            tables.append(one.assign(x=one["k"], y=other["k"]).drop(columns=["k", "w"]))
        write_stream(folder / name, tables)
        rates[name] = count / SECONDS
    return rates


def _joined(spark: SparkSession, source: Path, policy: RateBased) -> JoinRun:
    names = list(SHARES)
    links = [f"{a}.y = {b}.x" for a, b in pairwise(names)]
    join = ab.join(**read_streams(spark, source, names)).on(*links)
    join = join.within(f"{WINDOW} seconds", time="ts")
    return join.select(*(f"{name}.v AS v_{name}" for name in names)).run(policy=policy)


@with_rocksdb
def shapes(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """The tree by rates as native joins and as probe orders, and the worst tree natively."""
    told: dict[str, list[Told]] = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        rates = _write(source, size.rows)
        by_rates = RateBased(rates, {text: 1 / keys for text, keys in PREDICATES.items()})
        planned = _joined(spark, source, by_rates).policy
        assert isinstance(planned, RateBased)
        best, poor = str(planned.chosen), _worst(rates)
        policies = {
            f"native, by rates: {best}": replace(by_rates, how="native"),
            f"native, the worst: {poor}": RateBased(tree=poor, how="native"),
            "one operator, orders by rates": by_rates,
        }
        for turn in range(repeat):
            for name in random.Random(turn).sample(list(policies), len(policies)):
                target = Path(folder) / f"{turn}-{list(policies).index(name)}"
                run = _joined(spark, source, policies[name])
                told.setdefault(name, []).append(run_to_end((run.df, None), target))
                size.tick()
    if len({one.results for turns in told.values() for one in turns}) > 1:
        raise AnabranchError("the results differ")
    return _figure(told, list(policies), size, repeat)


def _worst(rates: dict[str, float]) -> str:
    """The tree with most rows between its joins."""
    pairs = {tuple(text.split(" = ")): keys for text, keys in PREDICATES.items()}
    links = [Link(left, right, 1 / keys) for (left, right), keys in pairs.items()]
    sources = [Source(name, rate, window=WINDOW) for name, rate in rates.items()]
    trees = all_trees(StreamJoin(sources, links))
    return str(max(trees, key=lambda tree: rows_between(tree, 60.0)))


def _figure(told: dict[str, list[Told]], names: list[str], size: Size, repeat: int) -> Figure:
    medians = {name: [turn.median for turn in told[name]] for name in names}
    ratios = [poor / good for good, poor in zip(medians[names[0]], medians[names[1]], strict=True)]
    probing = [good / ours for good, ours in zip(medians[names[0]], medians[names[2]], strict=True)]
    return Figure(
        "shapes",
        f"a chain of four streams, {size.rows:,} rows per micro-batch, "
        f"{told[names[0]][0].results[0]:,} results, {repeat} turn{'' if repeat == 1 else 's'}",
        "no figure on such a system",
        f"native joins by rates are {statistics.median(ratios):.2f}x as fast as the worst tree; "
        f"probes in one operator {statistics.median(probing):.2f}x as fast as those",
        ("contestant", "ms per micro-batch", "seconds", "state bytes"),
        [
            (
                name,
                statistics.median(medians[name]),
                statistics.median(sum(t.milliseconds) for t in told[name]) / 1e3,
                int(statistics.median(t.state for t in told[name])),
            )
            for name in names
        ],
        {name: (range(BATCHES), told[name][-1].milliseconds[:BATCHES]) for name in names},
        ("micro-batch", "milliseconds"),
    )
