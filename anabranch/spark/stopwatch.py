"""Times native predicates row by row, inside Spark.

Between two predicates the JVM's clock is read. A row's time is the least of several passes over the
same rows: compilers warm up, collectors and other tenants of the machine interrupt.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

# A pass that brings no predicate's time down by more than this share is one of so many last ones.
STEADY, LAST_PASSES = 0.05, 4
MOST_PASSES = 40
# A look at so many rows first, then at so many times as many.
FIRST_ROWS, GROWTH = 128, 8
# So many passes over all rows are to fit into the time.
PASSES = 8
# What interrupts a row, as loading does in first calls, is not the row's own: dearer rows than all
# but this share count as those.
USUAL = 0.995
# A column of the sample by which a part of it can be taken: a text from "0.00000" to "0.99999".
LOT, DIGITS = "__anabranch_lot", 5


@dataclass(frozen=True)
class Timed:
    """A sample: which predicates hold for a row, and seconds of each."""

    passed: Bits
    seconds: Floats


def lotted(sample: DataFrame, seed: int) -> DataFrame:
    """A sample, ready to be cached, of which parts can be taken."""
    return sample.withColumn(LOT, F.format_string(f"%.{DIGITS}f", 0.99999 * F.rand(seed)))


def glance(sample: DataFrame, predicates: Sequence[Column], rows: int, seconds: float) -> Timed:
    """A first look at a few of so many rows of a cached sample, and at more if there is time."""
    few = min(FIRST_ROWS, rows)
    passed, taken = _pass(share_of(sample, few / rows), predicates)  # loads, and sets up
    further = min(GROWTH * few, rows)
    if further * np.median(taken, axis=0).sum() <= seconds:
        passed, taken = _pass(share_of(sample, further / rows), predicates)
    return Timed(passed, _without_clock(taken))


def share_of(sample: DataFrame, share: float) -> DataFrame:
    """A part of a cached sample."""
    # A text is no part of the code that Spark generates: that is compiled once for all parts.
    return sample.filter(F.col(LOT) < f"{min(share, 1.0):.{DIGITS}f}")


def enough(seen: Timed, rows: int, seconds: float) -> float:
    """The share of so many rows that predicates can be asked for several times in so many seconds.

    As many as the first look has at least: of fewer nothing is learned.

    >>> seen = Timed(np.ones((4, 2), bool), np.full((4, 2), 1e-5))
    >>> enough(seen, 8_000, seconds=0.8), enough(seen, 8_000, seconds=8.0)
    (0.625, 1.0)
    """
    each = float(usual(seen.seconds).mean(axis=0).sum()) if len(seen.seconds) else 0.0
    affordable = seconds / PASSES / max(rows * each, 1e-9)
    return min(max(affordable, FIRST_ROWS / rows), 1.0)


def timed(sample: DataFrame, predicates: Sequence[Column], seconds: float) -> Timed:
    """Evaluate every predicate on every row of a cached sample, again and again, for so long.

    What the compilers do not know yet is slow, and slow by different factors: passes are made as
    long as some predicate gets faster. At least two passes are made, however long they take.
    """
    deadline = time.monotonic() + seconds
    (passed, least), calm = _pass(sample, predicates), 0
    for _ in range(MOST_PASSES):
        known = least.sum(axis=0)
        least = np.minimum(least, _pass(sample, predicates)[1])
        calm = calm + 1 if (least.sum(axis=0) >= (1 - STEADY) * known).all() else 0
        if calm >= LAST_PASSES or time.monotonic() > deadline:
            break
    return Timed(passed, _without_clock(least))


def _pass(sample: DataFrame, predicates: Sequence[Column]) -> tuple[Bits, Floats]:
    """Which predicates hold, and the seconds of each, and last, of reading the clock alone."""
    # A struct's fields are evaluated in order.
    asked = F.struct(*stamps([*predicates, F.lit(True)])).alias("stamps")
    told = sample.select(asked).toArrow().column("stamps").combine_chunks()
    count = len(predicates)
    passed = np.column_stack([_bits(told.field(f"b{i}")) for i in range(count)])
    read = np.column_stack([told.field(f"t{i}").to_numpy() for i in range(count + 2)])
    return passed, np.diff(read, axis=1) * 1e-9


def _without_clock(seconds: Floats) -> Floats:
    """What predicates take alone; last is what it takes to read the clock."""
    clock = float(np.median(seconds[:, -1])) if len(seconds) else 0.0
    return np.maximum(seconds[:, :-1] - clock, 0.0)


def usual(seconds: Floats) -> Floats:
    """What rows take, without what interrupts a few of them.

    >>> usual(np.array([[1.0]] * 999 + [[500.0]])).max().item()
    1.0
    """
    return np.minimum(seconds, np.quantile(seconds, USUAL, axis=0)) if len(seconds) else seconds


def stamps(predicates: Sequence[Column]) -> list[Column]:
    """Fields t0, b0, t1, b1, ...: the clock in nanoseconds, and the predicates' answers."""
    clock = F.expr("cast(reflect('java.lang.System', 'nanoTime') as bigint)")
    fields = [clock.alias("t0")]
    for i, predicate in enumerate(predicates):
        # In a conditional, so that what predicates share is not evaluated before them.
        fields += [F.when(clock > 0, predicate).alias(f"b{i}"), clock.alias(f"t{i + 1}")]
    return fields


def _bits(column: pa.Array) -> Bits:
    return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False), bool)
