"""How to partition an attribute, by what was seen of it, and whether it is worth it.

Content-based routing, Sections 4.1 and 4.4: discrete attributes are hashed, continuous ones are cut
into ranges between a running minimum and maximum; attributes that only count up or down, that are
long, or whose values hardly repeat are left out.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anabranch.model import (
    NULL,
    Attribute,
    HashPartition,
    RangePartition,
    SinglePartition,
    ValuePartition,
)
from anabranch.model.attribute import LONG_WORD

Floats = NDArray[np.float64]

# With partitions chosen automatically, a partition should have this many of the sampled rows.
ROWS_PER_PARTITION = 10
MOST_PARTITIONS = 64
MOST_RANGES = 24
# A gap between neighbouring values is one if it is so many times the mean: more than chance gives.
GAP = 12.0
# Shares of the sampled rows from which on an attribute is called near-unique, or long.
NEAR_UNIQUE = 0.5
LONG = 0.5
# Share of rows in values that a partition did not know of.
STALE = 0.1
# Fewer rows say nothing of how the values are spread, or that they only rise.
LEAST_ROWS = 30


@dataclass
class RunningRange:
    """Least and greatest finite value so far.

    >>> seen = RunningRange()
    >>> seen.update(np.array([3.0, np.inf, np.nan, NULL, 1.0])); seen.get()
    (1.0, 3.0)
    """

    low: float = field(default=np.inf)
    high: float = field(default=-np.inf)

    def update(self, values: Floats) -> None:
        finite = ordinary(values)
        if len(finite):
            self.low = min(self.low, float(finite.min()))
            self.high = max(self.high, float(finite.max()))

    def get(self) -> tuple[float, float]:
        return self.low, self.high

    def merge(self, other: "RunningRange") -> "RunningRange":
        return RunningRange(min(self.low, other.low), max(self.high, other.high))

    def cut(self, attribute: str, ranges: int) -> RangePartition:
        """Ranges of equal width."""
        edges = np.unique(np.linspace(self.low, self.high, ranges + 1)[1:-1])
        inside = edges[(edges > self.low) & (edges < self.high)]
        return RangePartition(attribute, tuple(map(float, inside)))


def ordinary(values: Floats) -> Floats:
    """The values that are neither NULL nor NaN nor infinite."""
    return np.asarray(values[np.isfinite(values) & (values != NULL)])


def pruned(attribute: Attribute, values: Floats) -> str | None:
    """Why an attribute is not worth considering (Section 4.4); None if it is.

    >>> pruned(Attribute("id"), np.arange(100.0))
    'monotone'
    >>> pruned(Attribute("note", "word"), np.random.default_rng(0).permutation(99) + 100.0)
    'near-unique'
    >>> pruned(Attribute("hour"), np.repeat(np.arange(4.0), 25)) is None  # rises, but repeats
    True
    """
    seen = ordinary(values)
    if len(values) < LEAST_ROWS:
        return None
    distinct = len(np.unique(seen))
    if distinct < 2 and len(seen) in (0, len(values)):
        return "constant"
    if attribute.kind == "word" and (seen == LONG_WORD).mean() > LONG:
        return "long"
    if distinct > NEAR_UNIQUE * len(seen):
        steps = np.diff(seen)
        if (steps >= 0).all() or (steps <= 0).all():
            return "monotone"
        if attribute.kind == "word":
            return "near-unique"
    return None


def partition_by(
    attribute: Attribute,
    values: Floats,
    partitions: int | None,
    span: RunningRange | None = None,
    most: int = MOST_PARTITIONS,
) -> SinglePartition:
    """A partition for an attribute that was seen to take these values, and earlier ones in `span`.

    With a number of partitions: hashed if the attribute is discrete, ranges of equal width if it is
    continuous. Without: known values where there are few, else buckets or ranges that hold equal
    shares of the rows, as many as there are rows to judge them by and at most `most`.

    >>> words, numbers = Attribute("city", "word"), Attribute("size")
    >>> partition_by(words, np.array([3.0, 8.0] * 50), None)
    ValuePartition(attribute='city', values=(3.0, 8.0))
    >>> partition_by(words, np.array([3.0, 8.0] * 50), 24)
    HashPartition(attribute='city', buckets=24)
    >>> partition_by(numbers, np.linspace(0.5, 4.5, 100), 4)
    RangePartition(attribute='size', borders=(1.5, 2.5, 3.5))
    >>> len(partition_by(numbers, np.random.default_rng(0).random(100), None).borders)
    9
    """
    seen = ordinary(values)
    known = np.unique(seen)
    if partitions is not None:
        if attribute.kind == "word" or _discrete(known, len(seen)):
            return HashPartition(attribute.name, partitions)
        span = span or RunningRange()
        span.update(seen)
        return span.cut(attribute.name, partitions)
    most = int(np.clip(len(seen) // ROWS_PER_PARTITION, 2, most))
    if 0 < len(known) <= most:
        return ValuePartition(attribute.name, tuple(map(float, known)))
    if attribute.kind == "word":
        return HashPartition(attribute.name, most)
    return _equal_shares(attribute.name, seen, min(most, MOST_RANGES))


def _discrete(known: Floats, rows: int) -> bool:
    """Whole numbers that repeat."""
    return bool((known == np.round(known)).all()) and len(known) <= NEAR_UNIQUE * max(rows, 1)


def _equal_shares(name: str, values: Floats, ranges: int) -> RangePartition:
    # A border is a value that was seen, the first of its range: no range is empty by rounding.
    if not len(values):
        return RangePartition(name, ())
    rows = np.sort(values)
    places = np.arange(1, ranges) * len(rows) // ranges
    borders = np.unique(_at_gaps(rows, places, len(rows) // ranges // 3))
    return RangePartition(name, tuple(map(float, borders[borders > rows[0]])))


def _at_gaps(rows: Floats, places: NDArray[np.int64], reach: int) -> Floats:
    """Values at places among sorted rows, or behind a gap within reach: clusters are not cut."""
    if not reach:
        return rows[places]
    near = rows[places[:, None] + np.arange(-reach, reach + 1)]
    gaps = np.diff(near, axis=1)
    wide = gaps.max(axis=1) > GAP * np.maximum(gaps.mean(axis=1), 1e-300)
    behind = near[np.arange(len(places)), gaps.argmax(axis=1) + 1]
    return np.where(wide, behind, rows[places])


def is_stale(partition: SinglePartition, codes: NDArray[np.int64]) -> bool:
    """Whether a partition no longer fits: new values have come, or one part holds nearly all rows.

    >>> days = ValuePartition("day", (1.0, 2.0))
    >>> is_stale(days, days.code([np.array([1.0, 2.0] * 20)]))
    False
    >>> is_stale(days, days.code([np.array([1.0, 3.0] * 20)]))
    True
    """
    counts = np.bincount(codes, minlength=partition.size)[: partition.regular]
    rows = counts.sum()
    if rows < LEAST_ROWS:
        return False
    if isinstance(partition, ValuePartition):
        return bool(counts[-1] > STALE * rows)
    return bool(partition.regular > 2 and counts.max() > (1 - STALE) * rows)
