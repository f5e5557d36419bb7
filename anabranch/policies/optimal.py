"""Optimal: the cheapest order of all for a first profile."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.model import InputError, Query
from anabranch.policies.base import Bits
from anabranch.policies.static import Static

MAX_OPERATORS = 8


def optimal_order(bits: Bits, costs: NDArray[np.float64], query: Query) -> tuple[int, ...]:
    """The order of least cost (A-Greedy paper, Equation 1) that the guards allow.

    Every order is covered, by prefix *sets*: what comes next costs the same however the set before
    it was ordered, so the best order of each of the 2^n sets is enough.

    >>> from anabranch.model import Operator
    >>> bits = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    >>> optimal_order(bits, np.array([9.0, 1.0, 1.0]), Query(tuple(map(Operator, "abc"))))
    (1, 2, 0)
    """
    n = len(query)
    if n > MAX_OPERATORS:
        raise InputError(f"optimal takes at most {MAX_OPERATORS} operators, got {n}; use greedy")
    codes = bits.astype(np.int64) @ (1 << np.arange(n)) if n else np.zeros(len(bits), np.int64)
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    # A set's number is above the number of each of its subsets.
    for placed in range(1 << n):
        if placed not in best:
            continue
        cost, order = best[placed]
        alive = float(((codes & placed) == 0).sum())
        for i in query.eligible(order):
            longer = (cost + alive * float(costs[i]), (*order, i))
            following = placed | (1 << i)
            if following not in best or longer[0] < best[following][0]:
                best[following] = longer
    return best[(1 << n) - 1][1]


@dataclass
class Optimal(Static):
    """Exhaustive search over the first `profile_rows` rows, for up to 8 operators.

    Parameters
    ----------
    profile_rows
        Rows profiled in full before the order is settled.
    """

    name: ClassVar[str] = "optimal"
    summary: ClassVar[str] = "exhaustive: the best order for a first profile (up to 8 operators)"

    def check(self, query: Query) -> None:
        if len(query) > MAX_OPERATORS:
            raise InputError(
                f"optimal takes at most {MAX_OPERATORS} operators, this query has {len(query)}; "
                "use greedy or agreedy"
            )

    def settle(self, bits: Bits, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return optimal_order(bits, costs, self.query)
