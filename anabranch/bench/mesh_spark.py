"""Figure 10 of the paper on Query Mesh: output rate, time per row, overhead, on Spark."""

import random
import statistics
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.burn import filter_on_bit, steps_for
from anabranch.bench.effort import in_evaluations
from anabranch.bench.figure import Figure
from anabranch.bench.mesh_replay import CBR, best_single
from anabranch.bench.row_eddy import RowEddy
from anabranch.bench.size import Size
from anabranch.data.correlated import codes
from anabranch.data.mesh_streams import ClassStream, poisson, uniform, xor
from anabranch.model import AnabranchError

MICROSECONDS = 5.0
# The first run has a cold start, the second tells.
CALIBRATIONS = 2
PARTITIONS = 8
Filter = Callable[[int], bool]
# The Eddy without batches.
ROW_BY_ROW = "Eddy+CBR, row by row"
UNATTRIBUTED, ON_DRIVER = "auto, no attributes", 'auto, learn="driver"'
# Those of the paper, and `auto`.
PAPERS = ("single plan", ROW_BY_ROW, "Eddy+CBR, batches", "mesh", "auto")


@dataclass
class Measured:
    """What a contestant did over its repeats."""

    seconds: list[float] = field(default_factory=list)
    jvm: list[float] = field(default_factory=list)  # processor seconds of Spark
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

    def work(self) -> float:
        """All processor time per row, Spark's too, counted in evaluations."""
        pairs = zip(self.reports, self.jvm, strict=True)
        return statistics.median(in_evaluations(r, jvm) / r.rows_in for r, jvm in pairs)


@dataclass
class _Race:
    """One stream, its filters, and how a result is used."""

    spark: SparkSession
    stream: ClassStream
    narrow: bool = False  # only one column of the result is used

    def __post_init__(self) -> None:
        drops = self.stream.drops()
        columns = {"code": codes(drops), **self.stream.columns()}
        table = self.spark.createDataFrame(pa.table(columns))
        # A table becomes a partition per 10,000 rows.
        self.df = table.coalesce(PARTITIONS).persist()
        self.df.count()
        self.expected = int((~drops.any(axis=1)).sum())
        self.best = best_single(self.stream, drops)
        self.filters = self._calibrated(drops.shape[1])

    def query(self) -> ab.Query:
        return _query(self.df, self.filters)

    def run(self, make: Callable[[], ab.Run], name: str) -> tuple[float, float, ab.Report]:
        """Seconds from the query to its result, processor seconds of Spark, and the report."""
        used, begin = _processor(self.spark), time.perf_counter()
        run = make()
        rows = self._collect(run.df)
        seconds = time.perf_counter() - begin
        if rows != self.expected:
            raise AnabranchError(f"{name} gives {rows} rows, the filters pass {self.expected}")
        return seconds, _processor(self.spark) - used, run.report()

    def _collect(self, df: DataFrame) -> int:
        names = ["code"] if self.narrow else df.columns
        sums = [F.bit_xor(F.hash(name)) for name in names]
        return int(df.agg(F.count(F.lit(1)), *sums).collect()[0][0])

    def _calibrated(self, count: int) -> list[Filter]:
        """Filters that take so long here, in workers on busy cores, as they should."""
        steps = steps_for(MICROSECONDS)
        for _ in range(CALIBRATIONS):
            query = _query(self.df, [filter_on_bit(i, steps) for i in range(count)])
            _, _, report = self.run(partial(query.run, policy=self.best), "calibration")
            took = sum(report.seconds.values()) / sum(report.evaluations.values())
            steps = max(1, round(steps * MICROSECONDS * 1e-6 / took))
        return [filter_on_bit(i, steps) for i in range(count)]


def _processor(spark: SparkSession) -> float:
    """Processor seconds of the process that Spark's driver, in local mode all of it, runs in."""
    process: Any = spark.sparkContext._jvm.java.lang.ProcessHandle.current()  # type: ignore[union-attr]
    return float(process.info().totalCpuDuration().get().toMillis()) / 1e3


def _contestants(race: _Race) -> dict[str, Callable[[], ab.Run]]:
    query, names = race.query(), race.stream.names
    alone = ab.query(race.df).where(RowEddy(race.filters), "code", "A1", name="eddy")
    return {
        "single plan": lambda: query.run(policy=race.best),
        ROW_BY_ROW: lambda: alone.run(policy="fixed"),
        "Eddy+CBR, batches": lambda: query.run(policy=CBR, attributes=names),
        "content": lambda: query.run(policy="content", attributes=names),
        "mesh": lambda: query.run(policy="mesh", attributes=names),
        "auto": lambda: query.run(policy="auto", attributes=names),
        UNATTRIBUTED: lambda: query.run(policy="auto", attributes=[]),
        ON_DRIVER: lambda: query.run(policy="auto", attributes=names, learn="driver"),
    }


def _contest(race: _Race, size: Size, repeat: int, chosen: Collection[str]) -> dict[str, Measured]:
    """Contestants in turns; wrong results are an error."""
    every = _contestants(race)
    makers = {name: every[name] for name in chosen}
    done = {name: Measured() for name in makers}
    for name, make in makers.items():
        race.run(make, name)  # warm up
    for turn in range(repeat):
        # In an order of its own: neither a machine that gets slower or faster meanwhile nor what
        # the run before leaves behind favours anybody.
        for name in random.Random(turn).sample(list(makers), len(makers)):
            seconds, jvm, report = race.run(makers[name], name)
            done[name].seconds.append(seconds)
            done[name].jvm.append(jvm)
            done[name].reports.append(report)
            size.tick()
    race.df.unpersist()
    return done


def _query(df: DataFrame, filters: list[Filter]) -> ab.Query:
    query = ab.query(df)
    for j, judge in enumerate(filters):
        query = query.where(judge, "code", name=f"d{j + 1}")
    return query


def _rows(done: dict[str, Measured], rows: int, passed: int) -> list[tuple[Any, ...]]:
    least = done["single plan"].work()
    told = []
    for name, measured in done.items():
        evaluations = statistics.median(sum(r.evaluations.values()) for r in measured.reports)
        told.append(
            (
                name,
                passed / measured.median,
                1e6 * measured.median / rows,
                f"{_ahead(done, name, 'single plan'):+.1%}",
                evaluations / rows if name != ROW_BY_ROW else "-",
                1e6 * measured.each() if name != ROW_BY_ROW else "-",
                # What is learned on the driver before the run is not in its report.
                f"{measured.work() / least - 1:+.1%}"
                if name not in (ROW_BY_ROW, ON_DRIVER)
                else "-",
                f"{measured.share(lambda r: r.classifying):.2%}",
                f"{measured.share(lambda r: r.learning):.2%}",
                _ahead(done, "mesh", name) if "mesh" in done else "-",
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
    "work against single",
    "classifying / CPU",
    "learning / CPU",
    "mesh is ahead by",
)


def _ahead(done: dict[str, Measured], one: str, other: str) -> float:
    """By how much the rate of one is above the other's: the median of alternated pairs."""
    pairs = zip(done[one].seconds, done[other].seconds, strict=True)
    return statistics.median(b / a for a, b in pairs) - 1


def _heavier(done: dict[str, Measured], name: str) -> str:
    return f"{done[name].work() / done['single plan'].work() - 1:+.1%}"


def _figure(
    name: str,
    title: str,
    paper: str,
    race: _Race,
    size: Size,
    repeat: int,
    chosen: Collection[str],
) -> Figure:
    stream = race.stream
    done = _contest(race, size, repeat, chosen)
    rows = _rows(done, stream.rows, race.expected)
    ours = f"auto {_ahead(done, 'auto', 'single plan'):+.1%}"
    if "mesh" in done:
        ours = (
            f"mesh {_ahead(done, 'mesh', 'single plan'):+.1%} against the single plan, "
            f"{_ahead(done, 'mesh', 'Eddy+CBR, batches'):+.1%} against Eddy+CBR with batches; "
            f"{ours}; classifying {done['mesh'].share(lambda r: r.classifying):.1%} of the "
            "workers' processor time"
        )
    return Figure(
        name,
        f"{title}, {stream.table.shape[1]} operators of {MICROSECONDS:g} us, {stream.rows:,} rows, "
        f"{len(stream.names)} attributes, {repeat} alternated runs, the result used "
        f"{'narrowly' if race.narrow else 'in full'}",
        paper,
        f"{ours}; work (all processor time, in evaluations) of auto {_heavier(done, 'auto')}",
        COLUMNS,
        rows,
        {"results per second": ([row[0] for row in rows], [row[1] for row in rows])},
        ("contestant", "results per second"),
        bars=True,
    )


def skewed(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Figure 10, Poisson."""
    paper = "Poisson: +44 % over SP, +18 % over MR+CBR with batching, +27 % without; overhead < 2 %"
    race = _Race(spark, poisson(size.rows))
    return _figure("fig10", "Poisson, three classes", paper, race, size, repeat, PAPERS)


FLAT = "uniform: 2.2 % worse than SP, +24 % over MR+CBR with batching, +39 % without"


def flat(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Figure 10, uniform."""
    race = _Race(spark, uniform(size.rows))
    chosen = (*PAPERS, UNATTRIBUTED)
    return _figure("uniform", "uniform, no classes", FLAT, race, size, repeat, chosen)


def flat_narrow(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """The same where nothing but the attributes' journey needs their columns."""
    race = _Race(spark, uniform(size.rows), narrow=True)
    chosen = ("single plan", "auto", UNATTRIBUTED)
    return _figure("uniform-narrow", "uniform, no classes", FLAT, race, size, repeat, chosen)


def together(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Classes by two attributes."""
    paper = "not in the paper, whose CBR considers single attributes only"
    race = _Race(spark, xor(size.rows))
    title = "classes by the XOR of two categories"
    chosen = ("single plan", "Eddy+CBR, batches", "content", "mesh", "auto", ON_DRIVER)
    return _figure("fig10-xor", title, paper, race, size, repeat, chosen)


MEASURED: dict[str, Callable[[SparkSession, Size, int], Figure]] = {
    "fig10": skewed,
    "uniform": flat,
    "uniform-narrow": flat_narrow,
    "fig10-xor": together,
}
