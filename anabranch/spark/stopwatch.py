"""Times native predicates row by row, inside Spark.

Between two predicates the JVM's clock is read. A row's time is the least of several passes over the
same rows: compilers warm up, collectors and other tenants of the machine interrupt.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model import NULL

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

# A pass that brings the sum of times down by less than this share is one of so many last ones.
STEADY, LAST_PASSES = 0.05, 2
MOST_PASSES = 40
# A look at so many rows first, then at so many times as many, as long as there is time: what the
# compilers have not seen often is slow.
FIRST_ROWS, GROWTH = 128, 4
# A column of the sample by which a part of it can be taken.
LOT = "__anabranch_lot"


@dataclass(frozen=True)
class Timed:
    """A sample: further columns asked for, which predicates hold, and seconds of each."""

    columns: Mapping[str, Floats]
    passed: Bits
    seconds: Floats


def lotted(sample: DataFrame, seed: int) -> DataFrame:
    """A sample, ready to be cached, of which parts can be taken."""
    return sample.withColumn(LOT, F.rand(seed))


def part(sample: DataFrame, predicates: Sequence[Column], rows: int, limit: float) -> DataFrame:
    """As much of a cached sample as predicates can be asked for in so many seconds, warmed up."""
    taken, spent = min(FIRST_ROWS, rows), 0.0
    while True:
        some = sample if taken >= rows else sample.filter(F.col(LOT) < taken / rows)
        told = _stamped(some, predicates, {}).toArrow().column("stamps").combine_chunks()
        seconds = _seconds(told, len(predicates))
        spent += float(seconds.sum())
        # What is usual: first calls load and set up what later ones find ready.
        row = float(np.median(seconds, axis=0).sum()) if len(seconds) else 0.0
        if taken >= rows or spent + GROWTH * taken * row > limit:
            return some
        taken *= GROWTH


def timed(
    sample: DataFrame, predicates: Sequence[Column], columns: Mapping[str, Column], seconds: float
) -> Timed:
    """Evaluate every predicate on every row of a cached sample, again and again, for so long.

    At least two passes are made, however long they take.
    """
    deadline, count = time.monotonic() + seconds, len(predicates)
    # The last one is there to tell what reading the clock takes.
    selected = _stamped(sample, [*predicates, F.lit(True)], columns)
    first = selected.toArrow()
    read = first.column("stamps").combine_chunks()
    passed = np.column_stack([_numbers(read.field(f"b{i}"), False) for i in range(count)])
    told = {name: _numbers(first.column(f"c{i}"), NULL) for i, name in enumerate(columns)}
    least, calm = _seconds(read, count + 1), 0
    for _ in range(MOST_PASSES):
        read = selected.select("stamps").toArrow().column("stamps").combine_chunks()
        again = np.minimum(least, _seconds(read, count + 1))
        calm = calm + 1 if again.sum() > (1 - STEADY) * least.sum() else 0
        least = again
        if calm >= LAST_PASSES or time.monotonic() > deadline:
            break
    clock = float(np.median(least[:, -1])) if len(least) else 0.0
    return Timed(told, passed.astype(bool), np.maximum(least[:, :-1] - clock, 0.0))


def _stamped(
    sample: DataFrame, predicates: Sequence[Column], columns: Mapping[str, Column]
) -> DataFrame:
    """Predicates with the clock read between them; a struct's fields are evaluated in order."""
    others = [column.alias(f"c{i}") for i, column in enumerate(columns.values())]
    return sample.select(*others, F.struct(*stamps(predicates)).alias("stamps"))


def stamps(predicates: Sequence[Column]) -> list[Column]:
    """Fields t0, b0, t1, b1, ...: the clock in nanoseconds, and the predicates' answers."""
    clock = F.expr("cast(reflect('java.lang.System', 'nanoTime') as bigint)")
    fields = [clock.alias("t0")]
    for i, predicate in enumerate(predicates):
        # In a conditional, so that what predicates share is not evaluated before them.
        fields += [F.when(clock > 0, predicate).alias(f"b{i}"), clock.alias(f"t{i + 1}")]
    return fields


def _seconds(stamps: pa.StructArray, count: int) -> Floats:
    """Of each row, between one reading of the clock and the next."""
    read = np.column_stack([stamps.field(f"t{i}").to_numpy() for i in range(count + 1)])
    return np.diff(read, axis=1) * 1e-9


def _numbers(column: pa.Array | pa.ChunkedArray, missing: float | bool) -> NDArray[Any]:
    return np.asarray(column.fill_null(missing).to_numpy(zero_copy_only=False))
