"""Greedy: order once, from a first profile, by conditional drop rate per cost.

The static algorithm of the A-Greedy paper, Section 4; at most four times the optimal cost.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.model import Query
from anabranch.policies.base import Bits
from anabranch.policies.static import Static


def greedy_order(bits: Bits, costs: NDArray[np.float64], query: Query) -> tuple[int, ...]:
    """Take, again and again, the operator that drops most per cost of the rows still there.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b"), Operator("c")))
    >>> bits = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    >>> greedy_order(bits, np.ones(3), query)  # b adds nothing behind a
    (0, 2, 1)
    """
    order: list[int] = []
    while len(order) < len(query):
        drops = bits.sum(axis=0) / costs
        best = max(query.eligible(order), key=lambda i: float(drops[i]))
        order.append(best)
        bits = bits[~bits[:, best]]
    return tuple(order)


@dataclass
class Greedy(Static):
    """Static Greedy over the first `profile_rows` rows.

    Parameters
    ----------
    profile_rows
        Rows profiled in full before the order is settled.
    """

    name: ClassVar[str] = "greedy"
    summary: ClassVar[str] = "static greedy: one order from a first profile"

    def settle(self, bits: Bits, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return greedy_order(bits, costs, self.query)
