"""What profiling has found so far: which attribute tells most about which operator.

Content-based routing, Sections 3 and 4.1. The best classifier attribute of an operator is the one
with the greatest gain ratio, if that is above the threshold and more than chance would give. When
no single attribute is, pairs of attributes are tried.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.model import Attribute, Partition, SinglePartition, combine, pair_of
from anabranch.model.attribute import SPECIAL
from anabranch.stats import InOut, RunningRange, is_stale, partition_by, pruned
from anabranch.stats.gain import Evidence, evidence
from anabranch.stats.in_out import count
from anabranch.stats.partitioner import MOST_PARTITIONS

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bits = NDArray[np.bool_]
Names = tuple[str, ...]

# The chance of taking one of an operator's attributes for a classifier when none is, each time.
FALSE_ALARM = 0.0003
# The same for attributes that other operators are routed by: one more costs nothing to classify by.
FAMILIAR_ALARM = 0.05
# And for them when no pair of attributes tells more.
ANY_ALARM = 0.9
# Of the attributes that tell something, those count that tell at least this share of the most: a
# nearly constant attribute has a great gain ratio over next to no gain.
RELEVANT = 0.5
# Attributes that are tried in pairs, and partitions of each of a pair.
PAIRED = 12
COARSE = 8
# A pair must tell so many times what a single attribute tells to be taken in its place.
TOGETHER = 1.5
# Codes of rows that are counted at once, for several operators where there are few.
AT_ONCE = 50_000
# Rows below which nothing is judged, and rows per partition that make a table dense enough.
LEAST_ROWS = 100
ROWS_PER_CELL = 8
# Profiled rows kept with their values, to choose partitions by and to try pairs on.
KEPT_ROWS = 1_500
# Rows taken from one slice: more would tell little more.
MOST_TAKEN = 1_500
# Partitions are chosen anew when there are so many times the rows they were chosen by.
REBUILD = 4


@dataclass(frozen=True)
class Found:
    """A partition that tells something about an operator; In and Out over it.

    `gain` is in bits, without what chance alone would give.
    """

    partition: Partition
    ratio: float
    gain: float
    rows_in: Floats
    rows_out: Floats


class Register:
    """Profiled rows of all operators, counted by the partitions of every attribute.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> values = random.integers(0, 4, (800, 2)).astype(float)
    >>> odd = values.sum(axis=1) % 2 == 1  # neither attribute alone tells anything
    >>> chances = np.column_stack([
    ...     np.where(values[:, 1] == 2, 0.1, 0.9), np.full(800, 0.5), np.where(odd, 0.1, 0.9)])
    >>> register = Register((Attribute("a"), Attribute("b")), operators=3, partitions=None)
    >>> register.update(values, random.random((800, 3)) < chances, np.ones((800, 3), bool))
    >>> [str(f.partition) if f else None for f in (register.best(o, 0.001) for o in range(3))]
    ['b', None, 'a, b']
    """

    def __init__(
        self, attributes: Sequence[Attribute], operators: int, partitions: int | None, size: int = 0
    ) -> None:
        self.attributes = tuple(attributes)
        self._partitions = partitions
        width = max(MOST_PARTITIONS + 1, partitions or 0) + SPECIAL
        sizes = {"size": size} if size else {}
        self._counts = InOut(operators, len(attributes), width, **sizes)
        self._least, self._most = min(LEAST_ROWS, size or LEAST_ROWS), max(MOST_TAKEN, size)
        self._ranges = [RunningRange() for _ in attributes]
        self._chosen: list[SinglePartition | None] = [None] * len(attributes)
        self._coarse: dict[int, SinglePartition] = {}  # of attributes in pairs
        self._random = np.random.default_rng(0)
        self._rebuild_at = 0
        self._seen = 0
        # What was worked out from the rows; good until there are other rows.
        self._cells: dict[Any, tuple[Codes, Floats, Codes]] = {}
        self._told: Evidence | None = None
        self._paired: _PairTable | None = None
        self._values = np.zeros((0, len(attributes)))
        self._passed, self._met = np.zeros((2, 0, operators), bool)

    def clear(self) -> None:
        """Forget all rows."""
        self._counts.clear()
        self._outdate()
        self._values, self._passed, self._met = self._values[:0], self._passed[:0], self._met[:0]
        self._rebuild_at = self._seen = 0

    def clear_operator(self, operator: int) -> None:
        """Forget what was found about an operator."""
        self._counts.clear(operator)
        self._outdate()
        self._met[:, operator] = False

    def _outdate(self) -> None:
        self._cells.clear()
        self._told = self._paired = None

    @property
    def seen(self) -> int:
        """Rows added in all."""
        return self._seen

    @property
    def kept(self) -> int:
        """Rows kept with their values."""
        return len(self._values)

    def rows(self, operator: int) -> float:
        return float(self._counts.rows[operator])

    def passed(self, operator: int) -> float:
        """Share of the profiled rows that an operator passed; 0.5 before there are any."""
        rows = self.rows(operator)
        return float(self._counts.passed[operator]) / rows if rows else 0.5

    def update(
        self, values: Floats, passed: Bits, met: Bits, used: Collection[Partition] = ()
    ) -> None:
        """Add profiled rows: their attributes, and what operators that they met made of them."""
        self._outdate()
        if len(values) > self._most:  # at random: every k-th row could be of one class
            taken = np.sort(self._random.permutation(len(values))[: self._most])
            values, passed, met = values[taken], passed[taken], met[taken]
        self._values = np.concatenate([self._values, values])[-KEPT_ROWS:]
        self._passed = np.concatenate([self._passed, passed])[-KEPT_ROWS:]
        self._met = np.concatenate([self._met, met])[-KEPT_ROWS:]
        self._seen += len(values)
        if self._partitions is not None:  # ranges of equal width need to know from where to where
            for place, span in enumerate(self._ranges):
                span.update(values[:, place])
        codes = self._codes(values)
        self._counts.update(codes, passed, met)
        self._refresh(used, codes)

    def _codes(self, values: Floats) -> Codes:
        codes = np.zeros(values.shape, np.int64)
        for place, part in enumerate(self._chosen):
            if part is not None:
                codes[:, place] = part.code([values[:, place]])
        return codes

    def _refresh(self, used: Collection[Partition], fresh: Codes) -> None:
        """Choose partitions by the rows kept, where it is time or the old ones no longer fit."""
        due = self._seen >= max(self._rebuild_at, LEAST_ROWS)
        if due:
            self._rebuild_at = REBUILD * self._seen
        for place, attribute in enumerate(self.attributes):
            old = self._chosen[place]
            stale = old is not None and is_stale(old, fresh[:, place])
            if not stale and (not due or old in used):
                continue
            column = self._values[:, place]
            self._chosen[place] = None
            self._coarse.pop(place, None)
            if pruned(attribute, column) is not None:
                continue
            part = partition_by(attribute, column, self._partitions, self._ranges[place])
            self._chosen[place] = part
            if part != old:
                self._counts.recount(place, part.code([column]), self._passed, self._met)

    def can_judge(self, operator: int) -> bool:
        """Whether enough rows met an operator."""
        return self.rows(operator) >= self._least

    def best(
        self, operator: int, threshold: float, pairs: bool = True, familiar: Collection[Names] = ()
    ) -> Found | None:
        """The best classifier of an operator; None if there is none.

        Less evidence is asked of `familiar` attributes, which other operators are routed by. With
        `pairs`, two attributes may be better than a single one: each operator may have an attribute
        that tells a little about it, and all of them depend on two others.
        """
        if not self.can_judge(operator) or not 0 < self.passed(operator) < 1:
            return None
        known = [i for i, part in enumerate(self._chosen) if part is not None]
        near = [i for i in known if (self.attributes[i].name,) in familiar]
        found = self._among(operator, known, threshold, FALSE_ALARM)
        found = found or self._among(operator, near, threshold, FAMILIAR_ALARM)
        pair = self._best_pair(operator, known[:PAIRED], threshold) if pairs else None
        if pair is not None and (found is None or pair.gain > TOGETHER * found.gain):
            return pair
        return found or self._among(operator, near, threshold, ANY_ALARM)

    def _among(
        self, operator: int, places: list[int], threshold: float, alarm: float
    ) -> Found | None:
        if not places:
            return None
        told = self._evidence().of(operator, places)
        dense = ROWS_PER_CELL if self._partitions is None else 0
        best = _best(told, threshold, alarm, len(places), dense)
        if best is None:
            return None
        part = self._chosen[places[best]]
        assert part is not None
        where = operator, places[best], slice(part.size)
        rows_in, rows_out = self._counts.get()
        counts = rows_in[where].copy(), rows_out[where].copy()
        return Found(part, float(told.ratio[best]), told.beyond_chance(best), *counts)

    def _evidence(self) -> Evidence:
        """What each attribute tells about each operator, for all of them at once."""
        if self._told is None:
            width = max((part.size for part in self._chosen if part is not None), default=1)
            rows_in, rows_out = self._counts.get()
            self._told = evidence(rows_in[..., :width], rows_out[..., :width])
        return self._told

    def _best_pair(self, operator: int, places: list[int], threshold: float) -> Found | None:
        if len(places) < 2 or int(self._met[:, operator].sum()) < LEAST_ROWS:
            return None
        if self._paired is None:
            self._paired = self._pair_table(places)
        table = self._paired
        if operator not in table.told:
            self._count_pairs(table, operator)
        rows_in, rows_out, told = table.told[operator]
        best = _best(told, threshold, FALSE_ALARM, len(table.parts))
        if best is None:
            return None
        pair = pair_of(*table.parts[best])
        counts = rows_in[best, : pair.size], rows_out[best, : pair.size]
        return Found(pair, float(told.ratio[best]), told.beyond_chance(best), *counts)

    def _count_pairs(self, table: "_PairTable", operator: int) -> None:
        """Count the pairs for an operator, and for as many others as make a call worth it."""
        several = max(1, AT_ONCE // max(table.codes.size, 1))
        chosen = [
            o
            for o in range(operator, self._met.shape[1])
            if o not in table.told and self.can_judge(o)
        ]
        chosen = list(dict.fromkeys([operator, *chosen]))[:several]
        met = self._met[:, chosen]
        rows_in = count(table.codes, table.width, met)
        rows_out = count(table.codes, table.width, met & self._passed[:, chosen])
        told = evidence(rows_in, rows_out)
        every = list(range(len(table.parts)))
        for place, o in enumerate(chosen):
            table.told[o] = rows_in[place], rows_out[place], told.of(place, every)

    def _pair_table(self, places: list[int]) -> "_PairTable":
        coarse = [self._coarsened(place) for place in places]
        codes = [a * two.size + b for (_, a), (two, b) in combinations(coarse, 2)]
        parts = [(one, two) for (one, _), (two, _) in combinations(coarse, 2)]
        width = max(a.size * b.size for a, b in parts)
        return _PairTable(parts, np.column_stack(codes), width, {})

    def _coarsened(self, place: int) -> tuple[SinglePartition, Codes]:
        column = self._values[:, place]
        if place not in self._coarse:
            part = self._chosen[place]
            assert part is not None
            if part.regular > COARSE + 1:
                part = partition_by(self.attributes[place], column, None, most=COARSE)
            self._coarse[place] = part
        return self._coarse[place], self._coarse[place].code([column])

    def cells(self, partitions: Sequence[Partition], most: int) -> tuple[Codes, Floats, Codes]:
        """The most frequent cells of the rows kept, their rows, and their partitions."""
        none = np.zeros(0, np.int64)
        if not partitions or not len(self._values):
            return none, np.zeros(0), none
        key = (tuple(partitions), most)
        if key not in self._cells:
            self._cells[key] = self._count_cells(partitions, most)
        return self._cells[key]

    def _count_cells(
        self, partitions: Sequence[Partition], most: int
    ) -> tuple[Codes, Floats, Codes]:
        places = {attribute.name: i for i, attribute in enumerate(self.attributes)}
        codes = [p.code([self._values[:, places[a]] for a in p.attributes]) for p in partitions]
        cells = combine(codes, [p.size for p in partitions], len(self._values))
        known, first, rows = np.unique(cells, return_index=True, return_counts=True)
        kept = np.sort(np.argsort(-rows, kind="stable")[:most])
        return known[kept], rows[kept].astype(float), np.column_stack(codes)[first[kept]]


@dataclass(frozen=True)
class _PairTable:
    """Attributes two by two: their partitions, those of each row kept, and In and Out over them."""

    parts: list[tuple[SinglePartition, SinglePartition]]
    codes: Codes
    width: int
    told: dict[int, tuple[Floats, Floats, Evidence]]  # of operators asked for


@lru_cache(maxsize=1024)
def _level(alarm: float, tests: int) -> float:
    """Standard deviations that chance alone exceeds in none of that many tests, but rarely."""
    return NormalDist().inv_cdf(1 - alarm / max(tests, 1))


def _best(
    told: Evidence, threshold: float, alarm: float, tests: int, dense: int = ROWS_PER_CELL
) -> int | None:
    """The greatest gain ratio that is not by chance, of partitions of which so many are tested."""
    telling = told.surprise > _level(alarm, tests)
    single = [_level(alarm, 2 * tests * cells) for cells in told.cells.tolist()]
    telling |= told.outlier > single
    # Sparse tables look surprising by themselves.
    telling &= told.cells * dense <= told.rows
    telling &= told.ratio > threshold
    if not telling.any():
        return None
    telling &= told.gain >= RELEVANT * told.gain[telling].max()
    return int(np.where(telling, told.ratio, -1.0).argmax())
