"""The matrix view over a profile window, kept incrementally."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anabranch.model import Query
from anabranch.stats.profile_window import Bits

Costs = NDArray[np.float64]


class MatrixView:
    """V[i, j]: profile rows that the operator at j drops and none before i drops.

    A-Greedy, Section 4.2: `insert` and `delete` are Figure 3, `violation` Figure 4 with the
    thrash-avoidance of Equation 4, `correct` Figure 5. Rows and columns follow the current order.
    Where guards forbid an operator at a position, its entry there is not considered.

    Correction moves the best operator forward and keeps the others' relative order, where the paper
    swaps two; both end in an order that satisfies the Greedy Invariant.

    Examples
    --------
    >>> from anabranch.model import Operator
    >>> view = MatrixView(Query((Operator("a"), Operator("b"))), (0, 1))
    >>> bits = np.array([[1, 1], [0, 1], [0, 1]], bool)
    >>> view.insert(bits)
    >>> view.values.tolist()
    [[1, 3], [0, 2]]
    >>> view.violation(np.ones(2))
    0
    >>> view.correct(0, bits, np.ones(2))
    >>> view.order, view.values.tolist()
    ((1, 0), [[3, 1], [0, 0]])
    """

    def __init__(self, query: Query, order: Sequence[int]) -> None:
        self.query = query
        self.order = tuple(order)
        self.values = np.zeros((len(query), len(query)), np.int64)

    def insert(self, bits: Bits) -> None:
        self.values += self._count(bits)

    def delete(self, bits: Bits) -> None:
        self.values -= self._count(bits)

    def _count(self, bits: Bits) -> NDArray[np.int64]:
        n = len(self.query)
        ordered = bits[:, self.order]
        dropped = ordered.any(axis=1)
        ordered = ordered[dropped]
        first = ordered.argmax(axis=1)  # dc of Figure 3: the first operator that drops the row
        by_first = (first == np.arange(n)[:, None]).astype(np.int64) @ ordered
        # A row dropped first at dc counts in every row of V up to dc.
        return np.asarray(by_first[::-1].cumsum(axis=0)[::-1], np.int64)

    def _eligible(self) -> NDArray[np.bool_]:
        """Position, place in the order -> may that operator, here or later now, be put there?"""
        n = len(self.order)
        place = {operator: i for i, operator in enumerate(self.order)}
        behind = [max((place[g] for g in self.query.guards[o]), default=-1) for o in self.order]
        positions = np.arange(n)[:, None]
        return (np.array(behind) < positions) & (np.arange(n) >= positions)

    def violation(self, costs: Costs, alpha: float = 1.0) -> int | None:
        """The first position at which the Greedy Invariant fails by more than 1 / alpha."""
        ratios = self.values / costs[list(self.order)]
        later = np.where(self._eligible(), ratios, 0.0).max(axis=1)
        violated = np.diagonal(ratios) < alpha * later
        return int(violated.argmax()) if violated.any() else None

    def correct(self, position: int, bits: Bits, costs: Costs, alpha: float = 1.0) -> None:
        """Re-order from `position` on until the invariant holds again.

        A batch of profile rows can break it at several places at once, so the scan goes on to the
        end; past the operators that had to move, only violations by more than 1 / alpha count.
        """
        order = list(self.order)
        last = position
        for row in range(position, len(order)):
            alive = bits[~bits[:, order[:row]].any(axis=1)]
            ratios = alive[:, order[row:]].sum(axis=0) / costs[order[row:]]
            placed = set(order[:row])
            allowed = np.array([self.query.guards[i] <= placed for i in order[row:]])
            best = int(np.where(allowed, ratios, -1.0).argmax())
            tolerated = 1.0 if row <= last else alpha
            if allowed[0] and ratios[0] >= tolerated * ratios[best]:
                continue
            last = max(last, row + best)
            order.insert(row, order.pop(row + best))
        self.order = tuple(order)
        self.values = self._count(bits)
