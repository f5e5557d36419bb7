"""Rusters: groups of rows on one route, and the agenda that moves them on.

Query Mesh, Section 5: a *ruster* is a group of rows with one r-token, the stack of operators they
have yet to visit. No router looks at rows between two operators.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from anabranch.kernel.predicate import Mask
from anabranch.kernel.profile import Profile, Rows
from anabranch.model import Query

NO_ROWS: Rows = np.zeros(0, np.int64)


@dataclass
class Ruster:
    """Rows alive on a route, standing before the operator at `position`."""

    route: tuple[int, ...]
    alive: Rows
    profiled: Rows  # all of its rows that are profiled, also those that were dropped
    position: int = 0
    shadows: Rows = field(default_factory=lambda: NO_ROWS)

    @property
    def token(self) -> tuple[int, ...]:
        """The r-token: the operators yet to visit."""
        return self.route[self.position :]

    @property
    def waiting(self) -> int:
        return len(self.alive) + len(self.shadows)

    def settle(self, query: Query, profile: Profile, extra: Mask | None) -> bool:
        """Move on to the next operator that has something to do; False if there is none."""
        while self.position < len(self.route):
            guards = query.guards[self.route[self.position]]
            self.shadows = NO_ROWS
            if extra is not None and len(self.profiled):
                self.shadows = profile.shadows(self.profiled, self.position, extra, guards)
            if self.waiting:
                return True
            self.position += 1
        return False


@dataclass
class Agenda:
    """The rusters that still have operators to visit.

    The operator with the most rows before it is called next, once for all rusters that wait for
    it: small rusters wait until others have caught up, so that few calls are small.
    """

    query: Query
    profile: Profile
    extra: Mask | None
    rusters: Sequence[Ruster]

    def __post_init__(self) -> None:
        self._open = self._settled(self.rusters)

    def _settled(self, rusters: Sequence[Ruster]) -> list[Ruster]:
        return [r for r in rusters if r.settle(self.query, self.profile, self.extra)]

    def next(self) -> tuple[int, list[Ruster]] | None:
        """The operator to call, and the rusters before it; None at the end."""
        if len(self._open) > 1:
            self._merge()
        rows: dict[int, int] = {}
        for ruster in self._open:
            head = ruster.route[ruster.position]
            rows[head] = rows.get(head, 0) + ruster.waiting
        if not rows:
            return None
        most = max(rows.values())
        equals = [o for o in rows if rows[o] == most]
        operator = equals[0] if len(equals) == 1 else min(equals, key=self._later)
        return operator, [r for r in self._open if r.route[r.position] == operator]

    def _later(self, operator: int) -> int:
        """Rows that will come to an operator yet: waiting for them may save a call."""
        return sum(r.waiting for r in self._open if operator in r.token[1:])

    def advance(self, rusters: Sequence[Ruster]) -> None:
        """These rusters were called; what is left of them moves on."""
        for ruster in rusters:
            ruster.position += 1
        moved = self._settled(rusters)
        called = {id(r) for r in rusters}
        self._open = [r for r in self._open if id(r) not in called] + moved

    def _merge(self) -> None:
        """Rusters with the same r-token become one, unless profiled rows tell them apart."""
        by_token: dict[tuple[int, ...], list[Ruster]] = {}
        alone = []
        for ruster in self._open:
            if self.extra is not None and len(ruster.profiled):
                alone.append(ruster)
            else:
                by_token.setdefault(ruster.token, []).append(ruster)
        merged = [r[0] if len(r) == 1 else _one(r) for r in by_token.values()]
        self._open = alone + merged


def _one(rusters: Sequence[Ruster]) -> Ruster:
    return Ruster(
        rusters[0].token,
        np.concatenate([r.alive for r in rusters]),
        np.concatenate([r.profiled for r in rusters]),
    )
