"""Rusters: groups of rows on one route, and the agenda that moves them on.

Query Mesh, Section 5: a *ruster* is a group of rows with one r-token, the stack of operators they
have yet to visit. No router looks at rows between two operators.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from anabranch.kernel.predicate import Mask
from anabranch.kernel.profile import Profile, Rows
from anabranch.kernel.token import Token, taken
from anabranch.kernel.wheel import Point, Wheels
from anabranch.model import Query

NO_ROWS: Rows = np.zeros(0, np.int64)


@dataclass
class Ruster:
    """Rows alive on a route, with the r-token of what they have yet to visit."""

    route: tuple[int, ...]
    token: Token
    alive: Rows
    profiled: Rows  # all of its rows that are profiled, also those that were dropped
    position: int = 0  # operators behind it
    shadows: Rows = field(default_factory=lambda: NO_ROWS)
    next: int = -1  # the operator before which it stands
    drawn: Point | None = None  # the choice point where that one was drawn

    @property
    def waiting(self) -> int:
        return len(self.alive) + len(self.shadows)


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
    wheels: Wheels
    random: np.random.Generator

    def __post_init__(self) -> None:
        self._open = [ruster for ruster in self.rusters if self._settle(ruster)]

    def _settle(self, ruster: Ruster) -> bool:
        """Put a ruster before the next operator that has something to do; False if none has."""
        while ruster.token:
            self._choose(ruster)
            guards = self.query.guards[ruster.next]
            ruster.shadows = NO_ROWS
            if self.extra is not None and len(ruster.profiled):
                ruster.shadows = self.profile.shadows(
                    ruster.profiled, ruster.position, self.extra, guards
                )
            if ruster.waiting:
                return True
            self._pop(ruster)
        return False

    def _choose(self, ruster: Ruster) -> None:
        """The operator on top; where several are, one is drawn."""
        options = ruster.token[0]
        ruster.drawn = None if len(options) == 1 else (ruster.route, ruster.token)
        ruster.next = (
            options[0] if ruster.drawn is None else self.wheels.draw(ruster.drawn, self.random)
        )

    def _pop(self, ruster: Ruster) -> None:
        ruster.token = taken(ruster.token, ruster.next)
        ruster.position += 1

    def next(self) -> tuple[int, list[Ruster]] | None:
        """The operator to call, and the rusters before it; None at the end."""
        if len(self._open) > 1:
            self._merge()
        rows: dict[int, int] = {}
        for ruster in self._open:
            rows[ruster.next] = rows.get(ruster.next, 0) + ruster.waiting
        if not rows:
            return None
        most = max(rows.values())
        equals = [o for o in rows if rows[o] == most]
        operator = equals[0] if len(equals) == 1 else min(equals, key=self._later)
        return operator, [r for r in self._open if r.next == operator]

    def _later(self, operator: int) -> int:
        """Rows that will come to an operator yet: waiting for them may save a call."""
        return sum(
            r.waiting
            for r in self._open
            if r.next != operator and any(operator in side for side in r.token)
        )

    def advance(self, rusters: Sequence[Ruster]) -> None:
        """These rusters were called; what is left of them moves on."""
        for ruster in rusters:
            self._pop(ruster)
        moved = [ruster for ruster in rusters if self._settle(ruster)]
        called = {id(r) for r in rusters}
        self._open = [r for r in self._open if id(r) not in called] + moved

    def _merge(self) -> None:
        """Rusters with the same r-token become one, unless profiled rows tell them apart."""
        by_token: dict[Token, list[Ruster]] = {}
        alone = []
        for ruster in self._open:
            if self.extra is not None and len(ruster.profiled):
                alone.append(ruster)
            else:
                by_token.setdefault(ruster.token, []).append(ruster)
        merged = [r[0] if len(r) == 1 else _one(r) for r in by_token.values()]
        self._open = alone + merged


def _one(rusters: Sequence[Ruster]) -> Ruster:
    first = rusters[0]
    return Ruster(
        first.route,
        first.token,
        np.concatenate([r.alive for r in rusters]),
        np.concatenate([r.profiled for r in rusters]),
        first.position,
        next=first.next,
        drawn=first.drawn,
    )
