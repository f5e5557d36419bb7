"""`anabranch bench om`: fidelity by replay, and utility on Spark over a bursty stream."""

import os
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.burn import burn, steps_for
from anabranch.bench.figure import Figure
from anabranch.bench.om_histogram import histogram
from anabranch.bench.om_replay import (
    fidelity,
    join,
    join_partitions,
    partitions,
    several,
    trace,
)
from anabranch.bench.runner import Bench
from anabranch.bench.size import Size
from anabranch.data.shifting import stream_of
from anabranch.model import AnabranchError
from anabranch.policies import Fixed, Policy

# A round stands for a second of the stream: of the rows of one in a burst, those of a calm one.
CALM = 0.1
# Calm rounds, then a burst, again and again.
PATTERN = (16, 4)
CYCLES = 2
# Microseconds, and what passes in calm and in bursts: these are floods of rows that a fast look
# tells, as junk is; in calm only the slow predicate is selective.
SLOW, FAST = (100.0, 0.1, 0.5), (5.0, 0.9, 0.1)
RATE_WEIGHT, MEMORY_WEIGHT = 0.4, 0.6
PASSES = 1_000
NOW = "available now"
SCHEMA = "id long, slow int, fast int"


def bursts(rows: int) -> list[int]:
    """Rows of every round."""
    calm, busy = PATTERN
    return CYCLES * [*([max(int(rows * CALM), 1)] * calm), *([rows] * busy)]


def write_bursts(spark: SparkSession, folder: Path, rows: Sequence[int]) -> None:
    """A file for each round; a column is below 1,000 by chance, where its predicate passes."""
    begin = 0
    for second, count in enumerate(rows):
        place = 2 if count == max(rows) else 1
        columns = [
            F.floor(F.pmod(F.xxhash64("id", F.lit(name)), F.lit(10_000)) / (10 * kind[place]))
            .cast("int")
            .alias(name)
            for name, kind in (("slow", SLOW), ("fast", FAST))
        ]
        before = set(folder.glob("*.parquet"))
        part = spark.range(begin, begin + count).select("id", *columns)
        part.coalesce(1).write.mode("append").parquet(str(folder))
        for path in set(folder.glob("*.parquet")) - before:
            os.utime(path, (1_700_000_000 + second, 1_700_000_000 + second))
        begin += count


def _query(df: DataFrame, steps: float) -> ab.Query:
    slow_steps, fast_steps = (max(1, round(steps * kind[0])) for kind in (SLOW, FAST))

    def slow(value: int) -> bool:
        burn(slow_steps)
        return value < PASSES

    def fast(value: int) -> bool:
        burn(fast_steps)
        return value < PASSES

    return ab.query(df).where(slow, "slow").where(fast, "fast")


def utils(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Measured, of a round: rate and memory in proportion to what could not be better, and both.

    Rows that come while the round runs wait; rows between operators are held, too.
    """
    seconds, rows = float(row["seconds"]), max(int(row["rows"]), 1)
    between = max(int(row["evaluations"]) - rows, 0) + int(row["rows_out"])
    slower = max(seconds, 1.0)
    held = seconds + between / rows
    both = RATE_WEIGHT * slower + MEMORY_WEIGHT * held
    return slower, held, both


def _write(kept: list[int], df: DataFrame, _: int) -> None:
    kept.append(df.count())


def utility(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """Measured utility of rounds under OM and under each single plan."""
    policies: dict[str, Policy] = {
        "om": ab.OM(RATE_WEIGHT, MEMORY_WEIGHT, partitions=20, history=3, decay=2.0, window=1.0),
        "slow first": Fixed(["slow", "fast"]),
        "fast first": Fixed(["fast", "slow"]),
    }
    told: dict[str, list[list[dict[str, Any]]]] = {name: [] for name in policies}
    charts = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        write_bursts(spark, source, bursts(size.rows))
        size.tick()
        step = steps_for(1.0)
        counts: dict[str, set[int]] = {}
        for turn in range(repeat):
            for name in random.Random(turn).sample(list(policies), len(policies)):
                query = _query(stream_of(spark, source, SCHEMA), step)
                kept: list[int] = []
                write = partial(_write, kept)
                handle = query.stream(write, f"{folder}/{turn}-{name}", policies[name], NOW)
                handle.await_termination()
                told[name].append([row.asDict() for row in handle.history().collect()])
                counts.setdefault(name, set()).add(sum(kept))
                if name == "om":
                    charts.append(handle.chart())
                size.tick()
    if len(set().union(*counts.values())) > 1:
        raise AnabranchError(f"the results differ: {counts}")
    return _compared(told, charts[-1].headline(), size, repeat)


def _compared(
    told: Mapping[str, list[list[dict[str, Any]]]], headline: str, size: Size, repeat: int
) -> Figure:
    rows, lines, means = [], {}, {}
    for name, turns in told.items():
        # The first rounds of a process compile and start workers; all contestants leave them out.
        per_turn = [statistics.mean(utils(row)[2] for row in turn[2:]) for turn in turns]
        flat = [utils(row) for turn in turns for row in turn[2:]]
        means[name] = per_turn
        rows.append(
            (
                name,
                statistics.median(per_turn),
                statistics.mean(one[0] for one in flat),
                statistics.mean(one[1] for one in flat),
                sum(bool(row["switched"]) for row in turns[-1]),
            )
        )
        numbers = [float(row["round"]) for row in turns[-1]]
        lines[name] = (numbers, [utils(row)[2] for row in turns[-1]])
    ratios = [
        min(means["slow first"][turn], means["fast first"][turn]) / means["om"][turn] - 1
        for turn in range(repeat)
    ]
    spread = "" if repeat == 1 else f" ({min(ratios):+.1%} to {max(ratios):+.1%})"
    return Figure(
        "utility",
        f"{len(bursts(size.rows))} rounds on Spark, {bursts(size.rows)[0]:,} rows in calm and "
        f"{size.rows:,} in bursts, {repeat} turn{'' if repeat == 1 else 's'}",
        "no measurement; wanted: 10 % better than the best single plan",
        f"the best single plan has {statistics.median(ratios):+.1%}{spread} more utils than OM; "
        f"{headline}",
        ("plan", "utils", "times as slow", "rows held per row", "switches"),
        rows,
        lines,
        ("round", "utils, the fewer the better"),
    )


OM_BENCH = Bench(
    "om",
    {
        "fidelity": fidelity,
        "partitions": partitions,
        "join": join,
        "join_partitions": join_partitions,
        "several": several,
        "trace": trace,
        "histogram": histogram,
    },
    {"utility": utility},
)
