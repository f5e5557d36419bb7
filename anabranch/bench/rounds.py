"""`anabranch bench rounds`: what rounds add, whether they follow drifts, and survive deaths."""

import random
import statistics
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import anabranch as ab
from anabranch.bench.burn import filter_on_bit, steps_for
from anabranch.bench.figure import Figure
from anabranch.bench.rounds_job import kept, mixed
from anabranch.bench.rounds_victim import RoundsVictim
from anabranch.bench.runner import Bench
from anabranch.bench.size import Size
from anabranch.data.records import BY_NAME, records
from anabranch.data.shifting import EPOCHS, shifting, stream_of, write_files
from anabranch.model import AnabranchError
from anabranch.policies import Fixed

ROUNDS = 100
KILLS = 10
# Micro-batches of a turn that adds are measured over, and those at its beginning that are not.
BATCHES, FIRST = 24, 4
NATIVES = ("json", "agent", "fields", "near", "level", "masked")  # the cheapest first
MICROSECONDS = (4.0, 6.0, 8.0, 10.0)
OURS, PLAIN = "rounds", "foreachBatch"
Result = tuple[int, int]


def _drift(spark: SparkSession, size: Size, _: int) -> Figure:
    """A hundred rounds and two drifts."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        write_files(shifting(spark, size.rows, EPOCHS), source, ROUNDS)
        counted: list[Result] = []
        handle = mixed(stream_of(spark, source)).stream(
            lambda df, _: counted.append(_result(df)),
            checkpoint=f"{folder}/checkpoint",
            trigger="available now",
            listener=lambda _: size.tick(),
        )
        handle.await_termination()
        plain = _result(kept(spark.read.parquet(str(source))))
        if _all(counted) != plain:
            raise AnabranchError(f"the results differ: {_all(counted)} and {plain}")
        history = [row.asDict() for row in handle.history().collect()]
    told = [row for row in history if row["drift"] or row["switched"]]
    shown = [(row["round"], _line(row["plan"]), row["drift"], row["switched"]) for row in told]
    seconds = [row["seconds"] for row in history]
    return Figure(
        "drift",
        f"{len(history)} rounds, {size.rows:,} rows, drifts after {ROUNDS // 3} and "
        f"{2 * ROUNDS // 3} rounds",
        "no paper; wanted: the plan follows",
        f"drifts told after rounds {_listed(told, 'drift')}; new plans from rounds "
        f"{_listed(told, 'switched')} on",
        ("round", "plan", "drift", "new plan"),
        shown,
        {"seconds": ([row["round"] for row in history], seconds)},
        ("round", "seconds"),
    )


def _line(plan: str) -> str:
    return plan.replace("\n", "; ")


def _listed(rows: list[dict[str, Any]], key: str) -> str:
    return ", ".join(str(row["round"]) for row in rows if row[key])


def _kill(spark: SparkSession, size: Size, _: int) -> Figure:
    """Ten deaths at random points of a hundred rounds."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        write_files(shifting(spark, size.rows, EPOCHS), source, ROUNDS)
        victim, lives = RoundsVictim(source=source, folder=Path(folder)), []
        draws = sorted(random.Random(0).sample(range(3, ROUNDS - 5, 3), KILLS))
        for at in draws:
            lives.append(victim.killed(max(at, victim.committed() + 1)))
            size.tick()
        victim.ended()
        whole = victim.is_whole(kept(spark.read.parquet(str(source))))
        went_on = [victim.goes_on(life) for life in lives]
    rows = [
        (number, life.committed, _line(life.plan), same)
        for number, (life, same) in enumerate(zip(lives, went_on, strict=True), 1)
    ]
    return Figure(
        "kill",
        f"SIGKILL {KILLS} times in {ROUNDS} rounds, {size.rows:,} rows",
        "no paper; wanted: every row's fate as in one plain batch, the plan as before the restart",
        f"rows {'as in one plain batch' if whole else 'LOST OR DOUBLED'}; the plan was the one "
        f"before in {sum(went_on)} of {KILLS} restarts",
        ("death", "rounds committed", "plan for the next", "went on with it"),
        rows,
    )


@dataclass
class _Contest:
    """One stream over the same files, run in a plain foreachBatch and in rounds."""

    stream: Callable[[], DataFrame]
    make: Callable[[DataFrame, int], ab.Query]
    plain: Callable[[DataFrame, int], DataFrame]
    results: dict[str, list[Result]] = field(default_factory=lambda: {PLAIN: [], OURS: []})

    def run(self, name: str, checkpoint: str, turn: int) -> list[float]:
        """Milliseconds of each micro-batch, by Spark's own clock."""
        run = self._plain if name == PLAIN else self._rounds
        query = run(checkpoint, turn)
        told = {p["batchId"]: p["durationMs"]["triggerExecution"] for p in query.recentProgress}
        return [float(told[number]) for number in range(BATCHES)]

    def _plain(self, checkpoint: str, turn: int) -> StreamingQuery:
        each = self.stream().writeStream.foreachBatch(
            lambda df, _: self.results[PLAIN].append(_result(self.plain(df, turn)))
        )
        query = each.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    def _rounds(self, checkpoint: str, turn: int) -> StreamingQuery:
        handle = self.make(self.stream(), turn).stream(
            lambda df, _: self.results[OURS].append(_result(df)),
            checkpoint,
            trigger="available now",
        )
        handle.await_termination()
        query: StreamingQuery = handle.query
        return query


def _adds(kind: str, spark: SparkSession, size: Size, repeat: int) -> Figure:
    """What rounds add to a micro-batch."""
    turns: dict[str, list[list[float]]] = {PLAIN: [], OURS: []}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        table, make, plain = KINDS[kind](spark, size.rows)
        write_files(table, source, BATCHES)
        contest = _Contest(partial(stream_of, spark, source, table.schema), make, plain)
        for turn in range(repeat + 1):  # the first one warms up
            for name in random.Random(turn).sample(list(turns), len(turns)):
                turns[name].append(contest.run(name, f"{folder}/{name}-{turn}", turn))
                size.tick()
        if _all(contest.results[PLAIN]) != _all(contest.results[OURS]):
            raise AnabranchError("the results differ")
    return _added(kind, size, repeat, {name: told[1:] for name, told in turns.items()})


# Rows, the query, and the same in the best order in a plain foreachBatch.
Kind = tuple[DataFrame, Callable[[DataFrame, int], ab.Query], Callable[[DataFrame, int], DataFrame]]


def _natives(spark: SparkSession, rows: int) -> Kind:
    # All rows pass this. Spark makes code of its own for every turn, as for a stream that starts:
    # the JVM has compiled neither contestant's before.
    def of_turn(turn: int) -> str:
        return f"pmod(id, {rows + turn}) >= 0"

    def query_of(df: DataFrame, turn: int) -> ab.Query:
        query = ab.query(df).where(of_turn(turn), name="turn")
        for name in reversed(NATIVES):
            query = query.where(BY_NAME[name].spark, name=name)
        return query

    def plain(df: DataFrame, turn: int) -> DataFrame:
        for name in NATIVES:
            df = df.filter(BY_NAME[name].spark)
        return df.filter(of_turn(turn))

    return records(spark, rows, NATIVES, [[[0.5] * len(NATIVES)]]), query_of, plain


def _pythons(spark: SparkSession, rows: int) -> Kind:
    judges = [filter_on_bit(bit, steps_for(cost)) for bit, cost in enumerate(MICROSECONDS)]
    best = [f"f{bit}" for bit in range(len(judges))]

    def query_of(df: DataFrame, _: int) -> ab.Query:
        query = ab.query(df)
        for name, judge in reversed(list(zip(best, judges, strict=True))):
            query = query.where(judge, "code", name=name)
        return query

    codes = spark.range(rows).select("id", F.pmod(F.xxhash64("id"), F.lit(16)).alias("code"))
    return codes, query_of, lambda df, turn: query_of(df, turn).run(Fixed(best)).df


KINDS = {"native": _natives, "python": _pythons}


def _added(kind: str, size: Size, repeat: int, turns: Mapping[str, list[list[float]]]) -> Figure:
    """The median of turns; a turn is told by the median of its micro-batches."""
    usual = {
        name: [statistics.median(turn[FIRST:]) for turn in told] for name, told in turns.items()
    }
    whole = {name: [sum(turn) for turn in told] for name, told in turns.items()}

    def share(told: Mapping[str, list[float]]) -> float:
        pairs = zip(told[OURS], told[PLAIN], strict=True)
        return statistics.median(mine / other - 1 for mine, other in pairs)

    rows = [
        (name, statistics.median(usual[name]), statistics.median(whole[name]) / 1000)
        for name in turns
    ]
    numbers = list(range(BATCHES))
    batches = {
        name: (numbers, [statistics.median(batch) for batch in zip(*told, strict=True)])
        for name, told in turns.items()
    }
    return Figure(
        kind,
        f"{BATCHES} micro-batches of {size.rows // BATCHES:,} rows, {repeat} turns",
        "no paper; wanted: at most 5 % over a plain foreachBatch with the best order",
        f"rounds add {share(usual):+.1%} to a micro-batch behind the first {FIRST}, "
        f"{share(whole):+.1%} to a whole stream, with what is learned in it",
        ("contestant", "ms per micro-batch", "seconds of the stream"),
        rows,
        batches,
        ("micro-batch", "milliseconds"),
    )


def _result(df: DataFrame) -> Result:
    row = df.agg(F.count(F.lit(1)), F.bit_xor("id")).collect()[0]
    return int(row[0]), int(row[1] or 0)


def _all(results: list[Result]) -> Result:
    count, mixed = 0, 0
    for rows, ids in results:
        count, mixed = count + rows, mixed ^ ids
    return count, mixed


ROUNDS_BENCH = Bench(
    "rounds",
    {},
    {
        **{kind: partial(_adds, kind) for kind in KINDS},
        "drift": _drift,
        "kill": _kill,
    },
)
