"""Cost of an order of correlated filters, from a profile (A-Greedy, Equation 1)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anabranch.model import Query

Bits = NDArray[np.bool_]
Costs = NDArray[np.float64]

# Operators up to which all orders are looked at for each of many groups of rows.
FEW_OPERATORS = 4


def survival(bits: Bits, order: Sequence[int]) -> NDArray[np.float64]:
    """D_i: the share of rows that reach each position of the order.

    >>> bits = np.array([[1, 0], [0, 1], [0, 0], [0, 0]], bool)
    >>> survival(bits, (0, 1)).tolist()
    [1.0, 0.75]
    """
    dropped = np.logical_or.accumulate(bits[:, list(order)], axis=1)
    reach = np.ones(len(order))
    if len(bits):
        reach[1:] = 1.0 - dropped[:, :-1].mean(axis=0)
    return reach


def conditional_drops(bits: Bits, order: Sequence[int]) -> NDArray[np.float64]:
    """d(i|i-1): the share of the rows that reach each position that is dropped there.

    >>> bits = np.array([[1, 1], [0, 1], [0, 0], [0, 0]], bool)
    >>> [round(d, 2) for d in conditional_drops(bits, (0, 1)).tolist()]
    [0.25, 0.33]
    """
    ordered = bits[:, list(order)]
    before = np.zeros_like(ordered)
    before[:, 1:] = np.logical_or.accumulate(ordered, axis=1)[:, :-1]
    reach = (~before).sum(axis=0)
    return np.asarray((ordered & ~before).sum(axis=0) / np.maximum(reach, 1), np.float64)


def order_cost(bits: Bits, costs: Costs, order: Sequence[int]) -> float:
    """Expected seconds per row: the sum of t_i * D_i (Equation 1).

    >>> bits = np.array([[1, 0], [1, 0], [0, 0], [0, 0]], bool)
    >>> [order_cost(bits, np.array([1.0, 10.0]), order) for order in ((0, 1), (1, 0))]
    [6.0, 11.0]
    """
    return float((costs[list(order)] * survival(bits, order)).sum())


def order_costs(patterns: Bits, weights: Costs, costs: Costs, order: Sequence[int]) -> Costs:
    """Seconds of an order on groups of rows, each given by how often it has each drop pattern.

    >>> patterns = np.array([[1, 0], [0, 1]], bool)
    >>> order_costs(patterns, np.array([[2.0, 0.0], [1.0, 1.0]]), np.ones(2), (0, 1)).tolist()
    [2.0, 3.0]
    """
    dropped = np.logical_or.accumulate(patterns[:, list(order)], axis=1)
    each = costs[order[0]] + (~dropped[:, :-1]) @ costs[list(order[1:])]
    return np.asarray(weights @ each)


def greedy_order(
    patterns: Bits, costs: Costs, query: Query, weights: Costs | None = None
) -> tuple[int, ...]:
    """Take, again and again, the operator that drops most per cost of the rows still there.

    A-Greedy paper, Section 4: at most four times the optimal cost. `weights` say how often there is
    a row of each pattern, once if they are not given.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b"), Operator("c")))
    >>> patterns = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    >>> greedy_order(patterns, np.ones(3), query, np.array([2.0, 1.0, 1.0]))  # b adds nothing
    (0, 2, 1)
    """
    drops = patterns / costs
    alive = np.ones(len(patterns)) if weights is None else weights
    order: list[int] = []
    while len(order) < len(query):
        rank = alive @ drops
        order.append(max(query.eligible(order), key=lambda i: float(rank[i])))
        alive = np.where(patterns[:, order[-1]], 0.0, alive)
    return tuple(order)


def optimal_order(
    patterns: Bits, costs: Costs, query: Query, weights: Costs | None = None
) -> tuple[int, ...]:
    """The order of least cost (Equation 1) that the guards allow.

    Every order is covered, by prefix *sets*: what comes next costs the same however the set before
    it was ordered, so the best order of each of the 2^n sets is enough.

    >>> from anabranch.model import Operator
    >>> bits = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    >>> optimal_order(bits, np.array([9.0, 1.0, 1.0]), Query(tuple(map(Operator, "abc"))))
    (1, 2, 0)
    """
    n = len(query)
    codes = patterns.astype(np.int64) @ (1 << np.arange(n))
    rows = np.ones(len(patterns)) if weights is None else weights
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    # A set's number is above the number of each of its subsets.
    for placed in range(1 << n):
        if placed not in best:
            continue
        cost, order = best[placed]
        alive = float(rows[(codes & placed) == 0].sum())
        for i in query.eligible(order):
            longer = (cost + alive * float(costs[i]), (*order, i))
            following = placed | (1 << i)
            if following not in best or longer[0] < best[following][0]:
                best[following] = longer
    return best[(1 << n) - 1][1]


def best_order(
    patterns: Bits, costs: Costs, query: Query, weights: Costs | None = None
) -> tuple[int, ...]:
    """The optimal order of few operators, the greedy one of many."""
    few = len(query) <= FEW_OPERATORS
    return (optimal_order if few else greedy_order)(patterns, costs, query, weights)
