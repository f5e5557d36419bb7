"""Figure 10 of the paper on Query Mesh: output rate, time per row, overhead, on Spark."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.burn import filter_on_bit, steps_for
from anabranch.bench.figure import Figure
from anabranch.bench.mesh_replay import CBR, best_single
from anabranch.bench.row_eddy import RowEddy
from anabranch.bench.size import Size
from anabranch.data.correlated import codes
from anabranch.data.mesh_streams import ClassStream, poisson, uniform, xor
from anabranch.model import AnabranchError
from anabranch.policies import Fixed

MICROSECONDS = 5.0
# The first run has a cold start, the second tells.
CALIBRATIONS = 2
PARTITIONS = 8
Filter = Callable[[int], bool]
# The Eddy without batches is no opponent: it is shown, over fewer repeats.
ROW_BY_ROW = "Eddy+CBR, row by row"


@dataclass
class Measured:
    """What a contestant did over its repeats."""

    seconds: list[float] = field(default_factory=list)
    reports: list[ab.Report] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def each(self) -> float:
        """Median seconds of an evaluation."""
        return statistics.median(
            sum(r.seconds.values()) / sum(r.evaluations.values()) for r in self.reports
        )

    def share(self, of: Callable[[ab.Report], float]) -> float:
        """Median share of the workers' processor time."""
        return statistics.median(of(report) / report.cpu for report in self.reports)


def _contest(
    spark: SparkSession, stream: ClassStream, size: Size, repeat: int
) -> dict[str, Measured]:
    """All contestants in turns on one stream; wrong results are an error."""
    drops = stream.drops()
    table = spark.createDataFrame(pa.table({"code": codes(drops), **stream.columns()}))
    df = table.coalesce(PARTITIONS).persist()  # a table becomes a partition per 10,000 rows
    df.count()
    expected = int((~drops.any(axis=1)).sum())
    best = best_single(stream, drops)
    filters = _filters(df, drops.shape[1], best, expected)
    query = _query(df, filters)
    alone = ab.query(df).where(RowEddy(filters), "code", "A1", name="eddy")
    names = stream.names
    makers: dict[str, Callable[[], ab.Run]] = {
        "single plan": lambda: query.run(policy=best),
        ROW_BY_ROW: lambda: alone.run(policy="fixed"),
        "Eddy+CBR, batches": lambda: query.run(policy=CBR, attributes=names),
        "content": lambda: query.run(policy="content", attributes=names),
        "mesh": lambda: query.run(policy="mesh", attributes=names),
        "auto": lambda: query.run(policy="auto", attributes=names),
        "auto, no attributes": lambda: query.run(policy="auto", attributes=[]),
    }
    done = {name: Measured() for name in makers}
    for name, make in makers.items():
        _run(make(), expected, name)  # warm up
    for turn in range(repeat):
        # There and back: a machine that gets slower or faster meanwhile favours nobody.
        for name, make in list(makers.items())[:: -1 if turn % 2 else 1]:
            if name == ROW_BY_ROW and turn > 0:
                continue
            run = make()
            done[name].seconds.append(_run(run, expected, name))
            done[name].reports.append(run.report())
            size.tick()
    df.unpersist()
    return done


def _query(df: DataFrame, filters: list[Filter]) -> ab.Query:
    query = ab.query(df)
    for j, judge in enumerate(filters):
        query = query.where(judge, "code", name=f"d{j + 1}")
    return query


def _filters(df: DataFrame, count: int, best: Fixed, expected: int) -> list[Filter]:
    """Filters that take so long here, in workers on busy cores, as they should."""
    steps = steps_for(MICROSECONDS)
    for _ in range(CALIBRATIONS):
        run = _query(df, [filter_on_bit(i, steps) for i in range(count)]).run(policy=best)
        _run(run, expected, "the single plan")
        report = run.report()
        took = sum(report.seconds.values()) / sum(report.evaluations.values())
        steps = max(1, round(steps * MICROSECONDS * 1e-6 / took))
    return [filter_on_bit(i, steps) for i in range(count)]


def _run(run: ab.Run, expected: int, name: str) -> float:
    begin = time.perf_counter()
    rows = _count(run.df)
    seconds = time.perf_counter() - begin
    if rows != expected:
        raise AnabranchError(f"{name} gives {rows} rows, the filters pass {expected}")
    return seconds


def _count(df: DataFrame) -> int:
    return int(df.agg(F.count(F.lit(1)), F.bit_xor(F.hash("code"))).collect()[0][0])


def _rows(done: dict[str, Measured], rows: int, passed: int) -> list[tuple[Any, ...]]:
    base = done["single plan"].seconds
    told = []
    for name, measured in done.items():
        pairs = zip(base, measured.seconds, strict=False)
        ahead = statistics.median(single / mine for single, mine in pairs) - 1
        evaluations = statistics.median(sum(r.evaluations.values()) for r in measured.reports)
        told.append(
            (
                name,
                passed / measured.median,
                1e6 * measured.median / rows,
                f"{ahead:+.1%}",
                evaluations / rows if name != ROW_BY_ROW else "-",
                1e6 * measured.each() if name != ROW_BY_ROW else "-",
                f"{measured.share(lambda r: r.classifying):.1%}",
                f"{measured.share(lambda r: r.learning):.1%}",
            )
        )
    return told


COLUMNS = (
    "contestant",
    "results per second",
    "us per row",
    "rate against single",
    "evaluations per row",
    "us per evaluation",
    "classifying / CPU",
    "learning / CPU",
)


def _ahead(done: dict[str, Measured], one: str, other: str) -> float:
    """By how much the rate of one is above the other's: the median of alternated pairs."""
    pairs = zip(done[one].seconds, done[other].seconds, strict=False)
    return statistics.median(b / a for a, b in pairs) - 1


def _figure(
    name: str, title: str, paper: str, spark: SparkSession, stream: ClassStream, args: Any
) -> Figure:
    size, repeat = args
    done = _contest(spark, stream, size, repeat)
    passed = int((~stream.drops().any(axis=1)).sum())
    rows = _rows(done, stream.rows, passed)
    mesh = done["mesh"]
    return Figure(
        name,
        f"{title}, {stream.table.shape[1]} operators of {MICROSECONDS:g} us, {stream.rows:,} rows, "
        f"{len(stream.names)} attributes, {repeat} alternated runs",
        paper,
        f"mesh {_ahead(done, 'mesh', 'single plan'):+.1%} against the single plan, "
        f"{_ahead(done, 'mesh', 'Eddy+CBR, batches'):+.1%} against Eddy+CBR with batches; "
        f"auto {_ahead(done, 'auto', 'single plan'):+.1%}; classifying "
        f"{mesh.share(lambda r: r.classifying):.1%} of the workers' processor time",
        COLUMNS,
        rows,
        {"results per second": ([row[0] for row in rows], [row[1] for row in rows])},
        ("contestant", "results per second"),
        bars=True,
    )


def skewed(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Figure 10, Poisson."""
    paper = "Poisson: +44 % over SP, +18 % over MR+CBR with batching, +27 % without; overhead < 2 %"
    stream = poisson(size.rows)
    return _figure("fig10", "Poisson, three classes", paper, spark, stream, (size, repeat))


def flat(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Figure 10, uniform."""
    paper = "uniform: 2.2 % worse than SP, +24 % over MR+CBR with batching, +39 % without"
    stream = uniform(size.rows)
    return _figure("uniform", "uniform, no classes", paper, spark, stream, (size, repeat))


def together(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Classes by two attributes."""
    paper = "not in the paper, whose CBR considers single attributes only"
    stream = xor(size.rows)
    title = "classes by the XOR of two categories"
    return _figure("fig10-xor", title, paper, spark, stream, (size, repeat))


MEASURED: dict[str, Callable[[SparkSession, Size, int], Figure]] = {
    "fig10": skewed,
    "uniform": flat,
    "fig10-xor": together,
}
