"""`anabranch demo`: one query by plain Spark and by Anabranch, side by side."""

import threading
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import anabranch as ab
from anabranch.data import packets as net
from anabranch.model import AnabranchError
from anabranch.spark.session import local_session

PARTITIONS = 20
PREDICATES = (
    (net.watched_network, ("source",)),
    (net.risky, ("size", "ttl")),
    (net.odd_host, ("host",)),
    (net.has_signature, ("payload",)),
)

T = TypeVar("T")


def demo(rows: int, output: Path, console: Console) -> None:
    """Generate packets, run both, compare, write the HTML report."""
    console.print(
        f"Which of {rows:,} packets come from a watched network, look risky, name an odd host and "
        "carry a signature?\nHalf-way the traffic changes, and with it the best order."
    )
    spark = local_session("anabranch demo")
    try:
        _compare(spark, rows, output, console)
    finally:
        spark.stop()


def _compare(spark: SparkSession, rows: int, output: Path, console: Console) -> None:
    packets = net.packets(spark, rows, PARTITIONS).persist()
    watch = _Watch(spark, console)
    watch.run("generating packets", packets.count)
    plain, plain_seconds = watch.run("plain Spark", lambda: _result(_plain(packets)))
    run = _query(packets).run()
    ours, our_seconds = watch.run("Anabranch", lambda: _result(run.df))
    if plain != ours:
        raise AnabranchError(f"the results differ: {plain} by plain Spark, {ours} by Anabranch")
    report = run.report()
    table = Table("", box=None, pad_edge=False)
    for title in ("alerts", "evaluations", "seconds", "speed-up"):
        table.add_column(title, justify="right")
    every = report.all_on_every_row
    table.add_row("plain Spark", f"{plain[0]:,}", f"{every:,}", f"{plain_seconds:.1f}", "1.0x")
    table.add_row(
        "Anabranch",
        f"{ours[0]:,}",
        f"{sum(report.evaluations.values()):,}",
        f"{our_seconds:.1f}",
        f"{plain_seconds / our_seconds:.1f}x",
    )
    console.print(table)
    console.print(report)
    console.print(f"The same alerts both ways. Report: {report.to_html(output)}")


def _plain(packets: DataFrame) -> DataFrame:
    verdicts = [F.udf(f, "boolean", useArrow=True)(*columns) for f, columns in PREDICATES]
    return packets.filter("size > 40").filter(reduce(lambda a, b: a & b, verdicts))


def _query(packets: DataFrame) -> ab.Query:
    query = ab.query(packets).where("size > 40")
    for f, columns in PREDICATES:
        query = query.where(f, *columns)
    return query


def _result(df: DataFrame) -> tuple[int, int]:
    """How many alerts, and a checksum over which."""
    row = df.agg(F.count(F.lit(1)), F.coalesce(F.sum("pid"), F.lit(0))).collect()[0]
    return int(row[0]), int(row[1])


class _Watch:
    """Runs an action and shows how many of its tasks are done."""

    def __init__(self, spark: SparkSession, console: Console) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._console = console

    def run(self, title: str, action: Callable[[], T]) -> tuple[T, float]:
        columns = (TextColumn(f"{title:<20}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console) as progress:
            task = progress.add_task(title, total=PARTITIONS)
            done = threading.Event()
            watcher = threading.Thread(target=self._follow, args=(progress, task, done))
            watcher.start()
            begin = time.perf_counter()
            try:
                result = action()
            finally:
                done.set()
                watcher.join()
            progress.update(task, completed=PARTITIONS)
        return result, time.perf_counter() - begin

    def _follow(self, progress: Progress, task: object, done: threading.Event) -> None:
        while not done.wait(0.2):
            for stage in self._tracker.getActiveStageIds():
                info = self._tracker.getStageInfo(stage)
                if info is not None and info.numTasks == PARTITIONS:
                    progress.update(task, completed=info.numCompletedTasks)  # type: ignore[arg-type]
