"""`anabranch bench scale`: cost per row by rows, operators and attributes."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.burn import filter_on_bit, steps_for
from anabranch.bench.figure import Figure
from anabranch.bench.runner import Bench
from anabranch.bench.size import Size
from anabranch.data.correlated import codes, correlated_bits
from anabranch.model import AnabranchError
from anabranch.policies.query_mesh.allowance import MOST_THOUGHT

MICROSECONDS = 1.0
DROP = 0.3
ROWS = (10_000, 100_000, 1_000_000, 10_000_000)
OPERATORS = (2, 4, 8, 16, 32)
ATTRIBUTES = (1, 10, 50, 100, 200)
# Up to this power growth is called linear; the share of the processor time that planning may take,
# and the seconds of each worker that it may take in advance, for counting and for searching.
LINEAR, BUDGET, ADVANCE = 1.05, 0.01, 2 * MOST_THOUGHT
FEW = 200_000  # rows where something else is varied


def _table(spark: SparkSession, rows: int, operators: int, attributes: int) -> DataFrame:
    """Outcomes as the bits of a number, and columns that tell nothing of them."""
    some = min(rows, 1_000_000)
    bits = correlated_bits(some, [DROP] * operators, 2, seed=3)
    df = spark.createDataFrame(pa.table({"place": range(some), "code": codes(bits)}))
    # More rows: the same again and again, with other columns.
    df = df.crossJoin(F.broadcast(spark.range(-(-rows // some)).withColumnRenamed("id", "copy")))
    told = [
        F.pmod(F.xxhash64("place", "copy", F.lit(i)), F.lit(100)).alias(f"a{i + 1}")
        for i in range(attributes)
    ]
    # With equal rows Spark would put these side by side.
    df = df.select("place", "copy", "code", *told)
    df = df.repartition(2).persist()
    if df.count() != rows:
        raise AnabranchError("the workload was not loaded in full")
    return df


def _once(df: DataFrame, operators: int, attributes: int, steps: int) -> tuple[float, ab.Report]:
    query = ab.query(df)
    for j in range(operators):
        query = query.where(filter_on_bit(j, steps), "code", name=f"f{j + 1}")
    run = query.run(attributes=[f"a{i + 1}" for i in range(attributes)])
    begin = time.perf_counter()
    run.df.select(F.count(F.lit(1)), F.bit_xor("code")).collect()
    return time.perf_counter() - begin, run.report()


def _told(
    spark: SparkSession, size: Size, repeat: int, settings: Sequence[tuple[int, int, int]]
) -> list[tuple[Any, ...]]:
    """Of every setting: microseconds per row and per evaluation, and what planning takes."""
    steps = steps_for(MICROSECONDS)
    told = []
    for rows, operators, attributes in settings:
        df = _table(spark, rows, operators, attributes)
        _once(df, operators, attributes, steps)  # warm up
        runs = []
        for _ in range(repeat):
            runs.append(_once(df, operators, attributes, steps))
            size.tick()
        df.unpersist()
        seconds = statistics.median(s for s, _ in runs)
        reports = [report for _, report in runs]
        evaluations = statistics.median(sum(r.evaluations.values()) for r in reports)
        profiling = statistics.median(
            sum(r.profiling.values()) / sum(r.evaluations.values()) for r in reports
        )
        planning = statistics.median((r.learning + r.classifying) / r.cpu for r in reports)
        # What was neither earned nor may be advanced.
        over = statistics.median(
            (r.learning + r.classifying - BUDGET * r.cpu) / len(r.workers) for r in reports
        )
        told.append(
            (
                rows,
                operators,
                attributes,
                seconds,
                1e6 * seconds / rows,
                evaluations / rows,
                profiling,
                planning,
                1e3 * over,
            )
        )
    return told


COLUMNS = (
    "rows",
    "operators",
    "attributes",
    "seconds",
    "us per row",
    "evaluations per row",
    "profiling, share of evaluations",
    "planner, share of CPU time",
    f"ms per worker beyond {BUDGET:.0%}",
)


def _figure(
    name: str, about: str, place: int, ours: Callable[[list[Any]], str], rows: list[Any]
) -> Figure:
    axis = [row[place] for row in rows]
    return Figure(
        name,
        f"{about}, functions of {MICROSECONDS:g} us that drop {DROP:.0%}",
        "no paper; wanted: linear in rows, planning within its budget",
        ours(rows),
        COLUMNS,
        rows,
        {"seconds": (axis, [row[3] for row in rows])},
        (COLUMNS[place], "seconds"),
        log=place == 0,
    )


def power(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """With which power of the size time grows, by least squares.

    >>> round(power([1, 10, 100], [2, 20, 200]), 3), round(power([1, 10], [1, 100]), 3)
    (1.0, 2.0)
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _by_rows(rows: list[Any]) -> str:
    """What is the same for every run counts at few rows: growth is told of the others."""
    large = rows[1:] if len(rows) > 2 else rows
    grown = power([row[0] for row in large], [row[3] for row in large])
    verdict = "linear at most" if grown <= LINEAR else "MORE THAN LINEAR"
    return (
        f"{rows[0][4]:.1f} us per row at {rows[0][0]:,} rows, {rows[-1][4]:.2f} us at "
        f"{rows[-1][0]:,}; from {large[0][0]:,} rows on time grows with the power {grown:.2f} of "
        f"rows ({verdict}); {_planning(rows)}"
    )


def _by_others(rows: list[Any]) -> str:
    each = [row[4] for row in rows]
    return f"{min(each):.2f} to {max(each):.2f} us per row; {_planning(rows)}"


def _planning(rows: list[Any]) -> str:
    """Profiling and planning, the latter against its budget."""
    shares, profiling = [row[7] for row in rows], [row[6] for row in rows]
    over = [row for row in rows if row[8] > 1e3 * ADVANCE]
    budget = f"{BUDGET:.0%}, but for {1e3 * ADVANCE:.0f} ms of each worker in advance"
    verdict = (
        f"within {budget}" if not over else f"OVER {budget}, in {len(over)} of {len(rows)} settings"
    )
    return (
        f"profiling {min(profiling):.1%} to {max(profiling):.1%} of the evaluations, planning "
        f"{min(shares):.1%} to {max(shares):.1%} of the processor time ({verdict})"
    )


def by_rows(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """10^4 to 10^7 rows."""
    settings = [(rows, 8, 6) for rows in ROWS if rows <= size.rows]
    told = _told(spark, size, repeat, settings)
    return _figure("rows", "8 operators, 6 attributes", 0, _by_rows, told)


def by_operators(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """2 to 32 operators."""
    settings = [(min(FEW, size.rows), count, 6) for count in OPERATORS]
    told = _told(spark, size, repeat, settings)
    return _figure("operators", f"{FEW:,} rows, 6 attributes", 1, _by_others, told)


def by_attributes(spark: SparkSession, size: Size, repeat: int) -> Figure:
    """1 to 200 attributes."""
    settings = [(min(FEW, size.rows), 8, count) for count in ATTRIBUTES]
    told = _told(spark, size, repeat, settings)
    return _figure("attributes", f"{FEW:,} rows, 8 operators", 2, _by_others, told)


SCALE = Bench(
    "Scale", {}, {"rows": by_rows, "operators": by_operators, "attributes": by_attributes}
)
