"""The experiments of the paper on content-based routing that measure: on Spark, side by side."""

import statistics
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.burn import burn, filter_on_bit, steps_for
from anabranch.bench.content_lab import LAB_ATTRIBUTES, q2
from anabranch.bench.effort import in_evaluations
from anabranch.bench.figure import Figure
from anabranch.bench.size import Size
from anabranch.data.correlated import codes
from anabranch.data.lab import made_up_lab
from anabranch.data.stream_star import (
    CLASS,
    DIMENSION_ROWS,
    UNRELATED,
    StreamStar,
    random_table,
    skewed,
)
from anabranch.model import AnabranchError

Checksum = tuple[int, int]


def checksum(df: DataFrame, key: str) -> Checksum:
    """How many rows, and which, read in one action."""
    row = df.agg(F.count(F.lit(1)), F.coalesce(F.sum(F.xxhash64(key) % 1_000_003), F.lit(0)))
    first = row.collect()[0]
    return int(first[0]), int(first[1])


def alternate(
    makers: dict[str, Callable[[], ab.Run]], key: str, expected: Checksum, repeat: int, size: Size
) -> dict[str, list[ab.Report]]:
    """Run the contestants in turns; their reports, the results checked against plain Spark's."""
    reports: dict[str, list[ab.Report]] = {name: [] for name in makers}
    for _ in range(repeat):
        for name, make in makers.items():
            run = make()
            found = checksum(run.df, key)
            if found != expected:
                raise AnabranchError(f"{name} gives {found}, plain Spark {expected}")
            reports[name].append(run.report())
            size.tick()
    return reports


def calls(report: ab.Report) -> int:
    return sum(report.evaluations.values())


# Stream-Star with real lookups --------------------------------------------------------------


def _star(
    spark: SparkSession, size: Size, repeat: int, join: Callable[[ab.Query, int], ab.Query]
) -> tuple[list[Any], dict[str, list[ab.Report]]]:
    """Eight joins, the largest skew, by the three policies; everything included, all workers."""
    star = StreamStar(skewed(8, 0.05), size.rows)
    stream = star.stream(spark).persist()
    stream.count()
    query, plain = ab.query(stream), stream
    for j in range(star.joins):
        query = join(query, j)
        plain = plain.join(star.dimension(spark, j), f"fkd{j + 1}", "left_semi")
    attributes = [CLASS, *UNRELATED]
    makers: dict[str, Callable[[], ab.Run]] = {
        "SBR": lambda: query.run(policy="eddy"),
        "Knows": lambda: query.run(
            policy=ab.ContentKnows(CLASS, star.best_orders()), attributes=attributes
        ),
        "Learns": lambda: query.run(policy="content", attributes=attributes),
    }
    expected = checksum(plain, "seq1")
    alternate(makers, "seq1", expected, 1, replace(size, tick=lambda: None))  # warm up
    reports = alternate(makers, "seq1", expected, repeat, size)
    stream.unpersist()
    base = statistics.median(map(calls, reports["SBR"]))
    cpu = statistics.median(report.cpu for report in reports["SBR"])
    rows = []
    for name, all_reports in reports.items():
        counts = [calls(report) for report in all_reports]
        count = statistics.median(counts)
        time = statistics.median(report.cpu for report in all_reports)
        saves = 1 - count / base, 1 - max(counts) / base, 1 - time / cpu
        rows.append((name, count, *saves, _workers(all_reports)))
    return rows, reports


STAR_COLUMNS = ("policy", "evaluations", "saves", "at worst", "CPU time saved", "workers")


def headline(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Joins that cost what a call to a remote table or a model might: 5 us per row."""
    steps = steps_for(5.0)

    def join(query: ab.Query, j: int) -> ab.Query:
        return query.where(_costly_join(steps), f"fkd{j + 1}", name=f"d{j + 1}")

    rows, _ = _star(spark, size, repeat, join)
    learns = rows[-1]
    return Figure(
        "headline",
        f"Stream-Star on Spark, 8 joins of 5 us per row, A = 5 %, {size.rows:,} rows",
        "67.8 % fewer routing calls than SBR, bound 71.1 %",
        f"{learns[2]:.1%} fewer evaluations than SBR (median of {repeat}, worst {learns[3]:.1%}), "
        f"bound {rows[1][2]:.1%}; the same rows as plain Spark",
        STAR_COLUMNS,
        rows,
    )


def _costly_join(steps: int) -> Callable[[int], bool]:
    def has_partner(key: int) -> bool:
        burn(steps)
        return key % 2 == 0 and 0 <= key < 2 * DIMENSION_ROWS

    return has_partner


def lookups(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """The same with `lookup`: hash probes that cost a fraction of a microsecond."""
    star = StreamStar(skewed(8, 0.05), size.rows)
    tables = [star.dimension(spark, j).persist() for j in range(star.joins)]

    def join(query: ab.Query, j: int) -> ab.Query:
        return query.lookup(tables[j], on=f"fkd{j + 1}", name=f"d{j + 1}")

    rows, _ = _star(spark, size, repeat, join)
    for table in tables:
        table.unpersist()
    learns = rows[-1]
    return Figure(
        "lookups",
        f"Stream-Star on Spark, 8 lookups in tables of 10,000 rows, A = 5 %, {size.rows:,} rows",
        "67.8 % fewer routing calls than SBR, bound 71.1 %",
        f"{learns[2]:.1%} fewer evaluations than SBR (median of {repeat}, worst {learns[3]:.1%}), "
        f"bound {rows[1][2]:.1%}; {-learns[4]:+.1%} CPU time (Knows {-rows[1][4]:+.1%}): a probe "
        "is so cheap that learning weighs",
        STAR_COLUMNS,
        rows,
    )


def _workers(reports: list[ab.Report]) -> str:
    counts = sorted({len(report.workers) for report in reports})
    return ", ".join(map(str, counts))


# Nothing to gain ----------------------------------------------------------------------------


def _cpu_figure(name: str, title: str, paper: str, reports: dict[str, list[ab.Report]]) -> Figure:
    rows: list[Any] = []
    pairs = zip(reports["SBR"], reports["Learns"], strict=True)
    ratios = sorted(in_evaluations(learns) / in_evaluations(sbr) for sbr, learns in pairs)
    for policy, all_reports in reports.items():
        cpu = sorted(report.cpu for report in all_reports)
        share = statistics.median(r.classifying / sum(r.seconds.values()) for r in all_reports)
        rows.append((policy, statistics.median(map(calls, all_reports)), *_three(cpu), share))
    middle = statistics.median(ratios)
    rows = [(*row, against) for row, against in zip(rows, (1.0, middle), strict=True)]
    return Figure(
        name,
        title,
        paper,
        f"{middle - 1:+.1%} worker CPU time, counted in evaluations (median of {len(ratios)} "
        f"alternated pairs, from {ratios[0] - 1:+.1%} to {ratios[-1] - 1:+.1%})",
        (
            *("policy", "evaluations", "CPU seconds", "least", "most", "classifying / operators"),
            "work against SBR",
        ),
        rows,
    )


def _three(values: list[float]) -> tuple[float, float, float]:
    return statistics.median(values), values[0], values[-1]


def _filters(spark: SparkSession, drops: Any, columns: dict[str, Any]) -> tuple[DataFrame, Any]:
    """A cached table with a code column, and the filters of 5 us per row on it."""
    df = spark.createDataFrame(pa.table({"code": codes(drops), **columns})).persist()
    df.count()
    steps = steps_for(5.0)
    return df, [filter_on_bit(i, steps) for i in range(drops.shape[1])]


def _contest(
    df: DataFrame, filters: Any, key: str, repeat: int, size: Size, attributes: list[str] | None
) -> dict[str, list[ab.Report]]:
    query = ab.query(df)
    for f in filters:
        query = query.where(f, "code")
    mask = reduce(
        lambda a, b: a & b, [F.col("code").bitwiseAND(1 << i) == 0 for i in range(len(filters))]
    )
    expected = checksum(df.filter(mask), key)
    makers: dict[str, Callable[[], ab.Run]] = {
        "SBR": lambda: query.run(policy="eddy"),
        "Learns": lambda: query.run(policy="content", attributes=attributes),
    }
    alternate(makers, key, expected, 1, replace(size, tick=lambda: None))  # warm up
    return alternate(makers, key, expected, repeat, size)


def uniform(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Eight filters that no attribute tells anything about."""
    star = StreamStar(np.full((8, 8), 0.5), 10 * size.rows)
    columns = {name: star.columns()[name] for name in (CLASS, *UNRELATED)}
    df, filters = _filters(spark, star.drops(), columns)
    reports = _contest(df, filters, "seq1", repeat, size, [CLASS, *UNRELATED])
    df.unpersist()
    title = f"nothing to gain: 8 filters of 5 us and 50 %, {10 * size.rows:,} rows, 9 attributes"
    return _cpu_figure("uniform", title, "0.8 % worse than SBR in time, one operator", reports)


def single(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Q1: one operator, so that there is nothing to route."""
    lab = made_up_lab(every=15.0)
    drops = (lab["light"] <= 500)[:, None]
    df, filters = _filters(spark, drops, {**lab, "row": np.arange(len(drops))})
    reports = _contest(df, filters, "row", repeat, size, None)
    df.unpersist()
    title = f"one operator: light > 500 at 5 us, {len(drops):,} rows (made-up readings)"
    return _cpu_figure("single", title, "0.8 % worse than SBR in time", reports)


# Figures 9 and 10 ---------------------------------------------------------------------------


def costs(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Figure 9: the dearer the operators, the more of the saved calls is saved time."""
    lab = made_up_lab(every=300.0)
    drops = q2(lab, seed=next(s for s in range(100) if 0.3 < q2(lab, s).any(axis=1).mean() < 0.6))
    df, _ = _filters(spark, drops, {**lab, "row": np.arange(len(drops))})
    step = steps_for(1.0)
    names = [attribute.name for attribute in LAB_ATTRIBUTES]
    rows = []
    for microseconds in (1, 5, 20, 50, 100):
        filters = [filter_on_bit(i, step * microseconds) for i in range(drops.shape[1])]
        reports = _contest(df, filters, "row", repeat, size, names)
        sbr, learns = reports["SBR"], reports["Learns"]
        pairs = list(zip(sbr, learns, strict=True))
        saved = statistics.median(1 - calls(b) / calls(a) for a, b in pairs)
        cpu = statistics.median(1 - b.cpu / a.cpu for a, b in pairs)
        rows.append((microseconds, saved, cpu))
    df.unpersist()
    axis = [row[0] for row in rows]
    return Figure(
        "fig9",
        f"improvement with varying operator cost, a query Q2 on {len(drops):,} made-up readings",
        "the saving in time grows with the operators' cost toward that in calls, about 20 %",
        f"{rows[0][1]:.1%} of the calls; worker CPU time {rows[0][2]:.1%} at {axis[0]} us, "
        f"{rows[-1][2]:.1%} at {axis[-1]} us",
        ("us per evaluation", "calls saved", "CPU time saved"),
        rows,
        {
            "evaluations": (axis, [100 * row[1] for row in rows]),
            "worker CPU time": (axis, [100 * row[2] for row in rows]),
        },
        ("operator cost (us)", "% improvement over SBR"),
    )


def overhead(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Figure 10: microseconds of routing and of learning per evaluation."""
    rows = []
    for joins in (4, 6, 8):
        star = StreamStar(random_table(joins, seed=1), 2 * size.rows)
        columns = {name: star.columns()[name] for name in (CLASS, *UNRELATED)}
        df, filters = _filters(spark, star.drops(), columns)
        reports = _contest(df, filters, "seq1", repeat, size, [CLASS, *UNRELATED])
        df.unpersist()
        for policy, all_reports in reports.items():
            each = [
                (
                    1e6 * r.classifying / calls(r),
                    1e6 * r.learning / calls(r),
                    r.classifying / r.cpu,
                    (r.classifying + r.learning) / r.cpu,
                )
                for r in all_reports
            ]
            rows.append((joins, policy, *np.median(each, axis=0).tolist()))
    most = max(row[4] for row in rows if row[1] == "Learns")
    both = max(row[5] for row in rows if row[1] == "Learns")
    axis = [f"{row[0]} {row[1]}" for row in rows]
    return Figure(
        "fig10",
        "overhead per evaluation, random selectivities, filters of 5 us",
        "4 to 5 % of the run time, for SBR and CBR alike; up to about 7 us per routing call",
        f"classifying at most {most:.1%} of the worker's CPU time, with learning {both:.1%}",
        ("joins", "policy", "routing us", "learning us", "classifying / CPU", "both / CPU"),
        rows,
        {
            "routing": (axis, [row[2] for row in rows]),
            "learning": (axis, [row[3] for row in rows]),
        },
        ("joins, policy", "us per evaluation"),
        bars=True,
    )


MEASURED: dict[str, Callable[[SparkSession, Size, int], Figure]] = {
    "headline": headline,
    "lookups": lookups,
    "uniform": uniform,
    "single": single,
    "fig9": costs,
    "fig10": overhead,
}
