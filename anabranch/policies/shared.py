"""The order of operators that several queries share.

An operator that drops a row ends the row's way for the queries that ask for it; what others need of
the row is still to be done. So it is worth what it saves, per cost: an evaluation that some
of its askers need no longer counts by their share. As in A-Greedy, that is counted on rows that all
operators were asked of, behind the operators already placed.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anabranch.model.shared import SharedQuery
from anabranch.stats import OperatorCost, ProfileWindow

Bits = NDArray[np.bool_]
Floats = NDArray[np.float64]
Order = tuple[int, ...]
# An order must be better by this share to take the place of another.
LEAST_GAIN = 0.02
# Old timings fade by this factor per call.
COST_MEMORY = 0.95


def shared_cost(
    shared: SharedQuery, dropped: Bits, costs: Floats, order: Order, wanted: Bits | None = None
) -> float:
    """Seconds per row of an order, on rows whose drops are known, and by which queries wanted.

    >>> from anabranch.model import Operator, Query
    >>> union = Query((Operator("a"), Operator("b"), Operator("c")))
    >>> shared = SharedQuery(union, {"one": ("a", "b"), "two": ("b", "c")})
    >>> drops = np.array([[0, 1, 0], [0, 1, 0], [1, 0, 0]], bool)
    >>> orders = (1, 0, 2), (0, 1, 2)
    >>> [round(shared_cost(shared, drops, np.ones(3), order), 3) for order in orders]
    [1.667, 2.333]
    """
    alive = _wanted(shared, dropped, wanted)
    spent = 0.0
    for operator in order:
        asked = shared.asks[:, operator]
        needed = alive[:, asked].any(axis=1)
        spent += float(needed.sum()) * float(costs[operator])
        alive[np.ix_(needed & dropped[:, operator], asked)] = False
    return spent / max(len(dropped), 1)


def _wanted(shared: SharedQuery, dropped: Bits, wanted: Bits | None) -> Bits:
    """By row and query; all of them if nothing is told."""
    return np.ones((len(dropped), len(shared.members)), bool) if wanted is None else wanted.copy()


def greedy_shared(
    shared: SharedQuery, dropped: Bits, costs: Floats, wanted: Bits | None = None
) -> Order:
    """What saves most per cost first."""
    alive = _wanted(shared, dropped, wanted)
    order: list[int] = []
    while len(order) < len(shared.query):
        options = shared.query.eligible(order)
        gains = [_gain(shared, dropped, costs, alive, order, option) for option in options]
        best = options[int(np.argmax(gains))]
        order.append(best)
        asked = shared.asks[:, best]
        alive[np.ix_(dropped[:, best], asked)] = False
    return tuple(order)


def _gain(
    shared: SharedQuery, dropped: Bits, costs: Floats, alive: Bits, placed: list[int], option: int
) -> float:
    asked = shared.asks[:, option]
    reached = alive[:, asked].any(axis=1)
    fails = reached & dropped[:, option]
    if not reached.any():
        return -1.0 / float(costs[option])
    left = np.ones(len(shared.query), bool)
    left[[*placed, option]] = False
    asks = shared.asks.astype(np.float32)
    before = alive[fails].astype(np.float32) @ asks  # queries that ask for each operator
    behind = (alive[fails] & ~asked).astype(np.float32) @ asks
    shares = (before - behind) / np.maximum(before, 1)
    saved = float((shares[:, left] * costs[left]).sum())
    return saved / (float(reached.sum()) * float(costs[option]))


@dataclass
class SharedOrder:
    """Learns the order from profiled rows and timed calls.

    Parameters
    ----------
    shared
        The queries.
    learns
        Whether the order may change.
    p
        Share of the rows that all operators are asked of, once an order is there.
    first_rows
        Rows that are profiled before that.
    """

    shared: SharedQuery
    order: Order = ()
    learns: bool = True
    p: float = 0.01
    first_rows: int = 300
    window: int = 1_000
    switches: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        written = tuple(map(self.shared.query.names.index, self.shared.query.written()))
        self._begun = bool(self.order)
        self.order = self.order or written
        # Of each row what operators drop it, and which queries wanted it.
        columns = len(self.shared.query) + len(self.shared.members)
        self._profile = ProfileWindow(columns, self.window)
        self._costs = [OperatorCost() for _ in self.shared.query.operators]
        self._fresh = 0  # profiled rows since the last decision
        self._called: set[int] = set()

    @property
    def rate(self) -> float:
        """The share of rows to profile now."""
        if not self.learns or len(self.shared.query) < 2:
            return 0.0
        return self.p if self._begun else 1.0

    @property
    def slice_rows(self) -> int | None:
        """The first rows are taken apart: a first call may load a model or compile a regex."""
        return None if self._begun or not self.learns else max(self.first_rows // 2, 1)

    def timed(self, operator: int, rows: int, seconds: float, busy: float) -> None:
        if operator in self._called:
            self._costs[operator].update(rows, seconds, busy, COST_MEMORY)
        self._called.add(operator)

    def observe(self, dropped: Bits, wanted: Bits, now: float, rows: int) -> None:
        """Profiled rows of a slice: decide if there are enough new ones."""
        if not self.learns or not len(dropped):
            return
        self._profile.update(np.concatenate([dropped, wanted], axis=1), now)
        self._fresh += len(dropped)
        if self._fresh < (self.first_rows if not self._begun else self.window // 5):
            return
        self._fresh, self._begun = 0, True
        costs = self._known(rows)
        bits, alive = np.hsplit(self._profile.get(), [len(self.shared.query)])
        found = greedy_shared(self.shared, bits, costs, alive)
        now_costs, then = (
            shared_cost(self.shared, bits, costs, order, alive) for order in (self.order, found)
        )
        if then < (1 - LEAST_GAIN) * now_costs:
            self.order = found
            self.switches += 1

    def _known(self, rows: int) -> Floats:
        told = [cost.get(max(rows, 1)) for cost in self._costs]
        known = [cost for cost in told if cost is not None]
        mean = sum(known) / len(known) if known else 1.0
        return np.array([max(mean if cost is None else cost, 1e-12) for cost in told])
