"""Operators and the attributes that they are routed by: in use, found, dropped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from anabranch.model import Cells, InputError, Partition, Query
from anabranch.policies.base import Event, Feedback, Rows, Visit
from anabranch.stats import Selectivity, thinned

# Attributes used at once at most.
MOST_IN_USE = 6
# Rows that each selectivity of a plan to begin with counts for.
RESUMED_ROWS = 50.0
# A pair that was tried in vain is not tried again before there are so many times the rows.
REST = 1.5
# Rows of a call that selectivities are updated from: more would tell no more.
MOST_TALLIED = 2_000


@dataclass
class Paired:
    """An operator's classifier: the partition, and the operator's selectivity in each part."""

    partition: Partition
    selectivity: Selectivity


@dataclass
class Pairs:
    """The matrices CA and S of content-based routing, and what may come into them."""

    query: Query
    in_use: dict[int, Paired] = field(default_factory=dict)
    new: dict[int, Paired] = field(default_factory=dict)  # found, to be tried
    _resting: dict[tuple[int, str], int] = field(default_factory=dict)  # -> row of the next try
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def known(self) -> dict[int, Paired]:
        """Those in use, and in their place those that are to be tried."""
        return {**self.in_use, **self.new}

    @property
    def partitions(self) -> set[Partition]:
        return {paired.partition for paired in self.known.values()}

    def without(self, operator: int) -> dict[int, Paired]:
        """Those in use, of all operators but one."""
        return {o: paired for o, paired in self.in_use.items() if o != operator}

    def resume(self, cells: Cells, alpha: float) -> None:
        """Begin with the pairs and selectivities of a plan."""
        if not cells.pairings:
            raise InputError(
                "the classes of this plan are not content's own: run it by the policy that it is "
                "from (mesh, auto, ContentKnows), or begin content without a plan"
            )
        for pairing in cells.pairings:
            partition = cells.partitions[pairing.partition]
            rows = np.full(partition.size, RESUMED_ROWS)
            known = Selectivity.of(rows, rows * np.array(pairing.passed), alpha, 0.5)
            self.in_use[self.query.index(pairing.operator)] = Paired(partition, known)

    def note(self, operator: int, paired: Paired, row: int) -> None:
        """Remember a pair for the next trial, unless it rests or too many would be in use."""
        if self._resting.get((operator, str(paired.partition)), 0) > row:
            return
        if len(self.partitions | {paired.partition}) <= MOST_IN_USE:
            self.new[operator] = paired

    def settle(self, kept: bool, row: int) -> None:
        """The pairs on trial come into use, or rest for a while."""
        if kept:
            self.in_use |= self.new
        else:
            tried = [(o, str(paired.partition)) for o, paired in self.new.items()]
            self._resting |= dict.fromkeys(tried, round(REST * row))
        self.new = {}

    def tell(
        self, kind: str, pairs: Mapping[int, Paired], row: int, *measured: float
    ) -> list[Event]:
        """What happens to pairs, and the seconds per row measured without and with them."""
        before, after = measured or (0.0, 0.0)
        return [
            Event(
                kind,
                row,
                cost_before=before,
                cost_after=after,
                operator=self.query.names[operator],
                attribute=str(paired.partition),
            )
            for operator, paired in pairs.items()
        ]

    def clear(self) -> None:
        self.in_use, self.new, self._resting = {}, {}, {}

    def tally(self, cells: Cells, feedback: Feedback) -> None:
        """Update S by what the operators made of rows in each partition."""
        for pairing in cells.pairings:
            operator = self.query.index(pairing.operator)
            visits = [visit for visit in feedback.visits if visit.operator == operator]
            partition = cells.partitions[pairing.partition]
            # An operator may have a pair in use and another one on trial.
            for paired in (self.in_use.get(operator), self.new.get(operator)):
                if visits and paired is not None and paired.partition == partition:
                    codes = feedback.codes[pairing.partition]
                    _tally(paired.selectivity, visits, codes, self._random)


def _tally(
    selectivity: Selectivity, visits: Sequence[Visit], codes: Rows, random: np.random.Generator
) -> None:
    size = selectivity.partitions
    rows, passed = np.zeros((2, size), np.int64)
    for visit in visits:
        met, fine = thinned(random, MOST_TALLIED, visit.rows, visit.passed)
        seen = codes[met]
        rows += np.bincount(seen, minlength=size)
        passed += np.bincount(seen[fine], minlength=size)
    selectivity.update(rows, passed)
