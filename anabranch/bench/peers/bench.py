"""Runs every peer on every workload, in turns, and compares results and times."""

import random
import shutil
import statistics
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from anabranch.bench.effort import Effort, measured
from anabranch.bench.figure import Figure
from anabranch.bench.joins import JOINS
from anabranch.bench.peers import systems, workloads
from anabranch.bench.peers.peer import PEERS, THREADS, Peer
from anabranch.bench.peers.task import Result, Task
from anabranch.bench.peers.workload import WORKLOADS, Workload
from anabranch.bench.runner import Bench, Measured
from anabranch.bench.size import Size
from anabranch.model import AnabranchError

__all__ = ["PEERS_BENCH", "contest", "systems", "workloads"]

OURS = "Anabranch"
COLUMNS = (
    *("contestant", "seconds", "least", "most", "Anabranch is faster by", "from", "to"),
    *("processor seconds", "Anabranch takes less by", "from ", "to "),
)
_middle = statistics.median


# What a contestant took, and what Anabranch took right before or after it.
Pairs = dict[str, list[tuple[Effort, Effort]]]


def contest(
    spark: SparkSession, task: Task, size: Size, repeat: int
) -> tuple[Pairs, dict[str, str], Result]:
    """Efforts of every peer that takes part, why others do not, and what all of them found.

    Each turn of a peer has one of Anabranch beside it: a machine may be twice as fast a minute
    later.
    """
    taking, out = dict[str, Peer](), dict[str, str]()
    for kind in PEERS:
        peer = kind(spark)
        why = peer.cannot(task) if kind.installed() else f"{kind.module} is not installed"
        if why:
            out[kind.name] = why
        else:
            taking[kind.name] = peer
    found = {}
    for name, peer in taking.items():  # warm up, and see that all agree
        _own_workers(spark, name)
        found[name] = peer.run(task)
        size.tick()
    if len(set(found.values())) != 1:
        raise AnabranchError(f"the results differ: {found}")
    efforts: Pairs = {name: [] for name in taking}
    few = _few(task)

    def effort(name: str) -> Effort:
        _own_workers(spark, name)
        taking[name].run(few)  # Spark ends workers that have waited for a minute
        _, taken = measured(partial(taking[name].run, task))
        size.tick()
        return taken

    others = [name for name in taking if name != OURS]
    for turn in range(repeat):
        for name in random.Random(turn).sample(others, len(others)):
            first, second = (OURS, name) if turn % 2 else (name, OURS)
            pair = {first: effort(first), second: effort(second)}
            efforts[name].append((pair[name], pair[OURS]))
            efforts[OURS].append((pair[OURS], pair[OURS]))
    return efforts, out, found[OURS]


def _own_workers(spark: SparkSession, name: str) -> None:
    """Spark keeps apart the workers of functions with other environments: what a contestant has
    loaded, imports and models, is there in its next turn, and is nobody else's."""
    spark.sparkContext.environment["CONTESTANT"] = name


def _few(task: Task) -> Task:
    """The same on some files only, so many that all cores work."""
    folder = task.files.with_name("few")
    folder.mkdir()
    for path in sorted(task.files.glob("*.parquet"))[:THREADS]:
        shutil.copy(path, folder)
    return replace(task, files=folder)


def figure(workload: Workload, spark: SparkSession, size: Size, repeat: int) -> Figure:
    """All peers on one workload."""
    with tempfile.TemporaryDirectory() as folder:
        task = workload.make(spark, Path(folder), round(size.rows * workload.share))
        efforts, out, (passed, _) = contest(spark, task, size, repeat)
        count = sum(pq.read_metadata(path).num_rows for path in task.files.glob("*.parquet"))
    rows = [_row(name, pairs) for name, pairs in efforts.items()]
    rows += [(name, why, *[""] * (len(COLUMNS) - 2)) for name, why in out.items()]
    ratios = {row[0]: row[4] for row in rows if row[4] != ""}
    told = "; ".join(f"{name}: {ratio:.2f}x" for name, ratio in ratios.items() if name != OURS)
    shown = list(efforts)
    return Figure(
        workload.name,
        f"{workload.about}, {passed:,} of {count:,} rows pass, {repeat} turns",
        "no paper; wanted: ahead of all with Python predicates and with classes",
        f"Anabranch is faster by, {told}",
        COLUMNS,
        rows,
        {"seconds": (shown, [_middle(_clock(e for e, _ in efforts[name])) for name in shown])},
        ("contestant", "seconds"),
        bars=True,
    )


def _row(name: str, pairs: list[tuple[Effort, Effort]]) -> tuple[str | float, ...]:
    turns, ours = zip(*pairs, strict=True)
    times, work = _clock(turns), _processor(turns)
    faster, less = _pairs(times, _clock(ours)), _pairs(work, _processor(ours))
    clock = (_middle(times), min(times), max(times), _middle(faster), min(faster), max(faster))
    return (name, *clock, _middle(work), _middle(less), min(less), max(less))


def _pairs(others: list[float], mine: list[float]) -> list[float]:
    """Ratios are of runs one after the other."""
    return [other / own for other, own in zip(others, mine, strict=True)]


def _clock(turns: Iterable[Effort]) -> list[float]:
    return [turn.seconds for turn in turns]


def _processor(turns: Iterable[Effort]) -> list[float]:
    return [turn.processor for turn in turns]


def _measured() -> Measured:
    told: Mapping[str, Workload] = WORKLOADS
    return {
        **{name: partial(figure, workload) for name, workload in told.items()},
        "four": lambda spark, size, repeat: JOINS.measured["four"](
            spark, Size(max(1_000, size.rows // 5), tick=size.tick), repeat
        ),
    }


PEERS_BENCH = Bench("Peers", {}, _measured())
