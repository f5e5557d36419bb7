"""Cost of an order of correlated filters, from a profile (A-Greedy, Equation 1)."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

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


def merit_order(query: Query, merit: Costs) -> tuple[int, ...]:
    """What has most merit first, as early as guards allow.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b", after=("c",)), Operator("c")))
    >>> merit_order(query, np.array([2.0, 3.0, 1.0]))
    (0, 2, 1)
    """
    order: list[int] = []
    while len(order) < len(query):
        order.append(max(query.eligible(order), key=lambda i: float(merit[i])))
    return tuple(order)


def order_cost(bits: Bits, costs: Costs, order: Sequence[int]) -> float:
    """Expected seconds per row: the sum of t_i * D_i (Equation 1).

    >>> bits = np.array([[1, 0], [1, 0], [0, 0], [0, 0]], bool)
    >>> [order_cost(bits, np.array([1.0, 10.0]), order) for order in ((0, 1), (1, 0))]
    [6.0, 11.0]
    """
    return float((costs[list(order)] * survival(bits, order)).sum())


def pattern_costs(patterns: Bits, costs: Costs, order: Sequence[int]) -> Costs:
    """Seconds that an order takes for a row of each drop pattern.

    >>> pattern_costs(np.array([[1, 0], [0, 1]], bool), np.ones(2), (0, 1)).tolist()
    [1.0, 2.0]
    """
    dropped = np.logical_or.accumulate(patterns[:, list(order)], axis=1)
    return np.asarray(costs[order[0]] + (~dropped[:, :-1]) @ costs[list(order[1:])])


def greedy_orders(patterns: Bits, costs: Costs, query: Query, weights: Costs) -> NDArray[np.int64]:
    """Greedy for several groups of rows, given by how often each has each drop pattern.

    Take, again and again, the operator that drops most per cost of the rows still there. A-Greedy
    paper, Section 4: at most four times the optimal cost.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b"), Operator("c")))
    >>> patterns = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    >>> weights = np.array([[2.0, 1.0, 1.0], [2.0, 1.0, 9.0]])
    >>> greedy_orders(patterns, np.ones(3), query, weights).tolist()  # b adds nothing behind a
    [[0, 2, 1], [2, 0, 1]]
    """
    drops, kept = patterns / costs, (~patterns).astype(float).T
    alive = np.array(weights, float)
    groups = np.arange(len(alive))
    placed = np.zeros((len(alive), len(query)), bool)
    orders = np.zeros(placed.shape, np.int64)
    needs = query.needs if any(query.guards) else None
    for position in range(len(query)):
        barred = placed
        if needs is not None:  # a guard is yet to be placed
            barred = placed | (~placed @ needs.T)
        best = np.where(barred, -1.0, alive @ drops).argmax(axis=1)
        orders[:, position] = best
        placed[groups, best] = True
        alive *= kept[best]
    return orders


def greedy_order(bits: Bits, costs: Costs, query: Query) -> tuple[int, ...]:
    """Greedy for one group of rows, with a drop pattern each.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b"), Operator("c")))
    >>> bits = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    >>> greedy_order(bits, np.ones(3), query)
    (0, 2, 1)
    """
    return tuple(greedy_orders(bits, costs, query, np.ones((1, len(bits))))[0].tolist())


def optimal_order(bits: Bits, costs: Costs, query: Query) -> tuple[int, ...]:
    """The order of least cost (Equation 1) that the guards allow.

    Every order is covered, by prefix *sets*: what comes next costs the same however the set before
    it was ordered, so the best order of each of the 2^n sets is enough. `costs` are seconds per
    operator, or a matrix of what each row took: one that drops may take longer than one that
    passes.

    >>> from anabranch.model import Operator
    >>> query = Query(tuple(map(Operator, "abc")))
    >>> bits = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    >>> optimal_order(bits, np.array([9.0, 1.0, 1.0]), query)
    (1, 2, 0)
    >>> pair, drops = Query(tuple(map(Operator, "ab"))), np.array([[1, 0], [0, 1]], bool)
    >>> optimal_order(drops, np.array([5.0, 5.0]), pair)
    (0, 1)
    >>> optimal_order(drops, np.array([[1.0, 5.0], [9.0, 5.0]]), pair)  # a is slow to pass
    (1, 0)
    """
    n = len(query)
    codes, place = np.unique(bits.astype(np.int64) @ (1 << np.arange(n)), return_inverse=True)
    each = np.zeros((len(codes), n))  # seconds of all rows with that pattern of drops
    np.add.at(each, place, np.broadcast_to(costs, bits.shape))
    best: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    # A set's number is above the number of each of its subsets.
    for placed in range(1 << n):
        if placed not in best:
            continue
        cost, order = best[placed]
        taken = each[(codes & placed) == 0].sum(axis=0).tolist()
        for i in query.eligible(order):
            longer = (cost + taken[i], (*order, i))
            following = placed | (1 << i)
            if following not in best or longer[0] < best[following][0]:
                best[following] = longer
    return best[(1 << n) - 1][1]


def uncertain_parts(
    patterns: Bits, costs: Costs, order: Sequence[int], query: Query, weights: Costs, share: float
) -> tuple[tuple[int, int], ...]:
    """Parts of an order, from a position up to another, that may as well run in any order.

    Whatever the order inside a part, all rows together cost at most the share `share` more
    (Query Mesh, Section 5.4). A part has no operator with its guard.

    >>> from anabranch.model import Operator
    >>> query = Query(tuple(map(Operator, "abc")))
    >>> patterns = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    >>> weights = np.array([50.0, 10.0, 10.0, 30.0])
    >>> uncertain_parts(patterns, np.ones(3), (0, 1, 2), query, weights, 0.01)
    ((1, 3),)
    """
    best = float(weights @ pattern_costs(patterns, costs, order))
    parts, begin = [], 0
    while begin < len(order) - 1:
        end = begin + 1
        while end < len(order) and _free(order[begin : end + 1], query):
            turned = _turned(list(order), begin, end + 1)
            worst = max(float(weights @ pattern_costs(patterns, costs, o)) for o in turned)
            if worst > (1 + share) * best:
                break
            end += 1
        if end - begin > 1:
            parts.append((begin, end))
        begin = end
    return tuple(parts)


def _free(operators: Sequence[int], query: Query) -> bool:
    inside = set(operators)
    return not any(query.guards[operator] & inside for operator in operators)


def _turned(order: list[int], begin: int, end: int) -> Iterator[list[int]]:
    """A part in other orders: all of few operators, backwards and turned of many."""
    part = order[begin:end]
    if len(part) <= FEW_OPERATORS:
        others: Iterable[Sequence[int]] = permutations(part)
    else:
        others = [part[::-1], *(part[i:] + part[:i] for i in range(1, len(part)))]
    for other in others:
        yield [*order[:begin], *other, *order[end:]]
