"""What routes cost classes of rows, and which few routes serve many classes.

A class is described by the selectivity of each operator on its rows, taken as independent of what
ran before, as an Eddy does.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anabranch.model import Query

Floats = NDArray[np.float64]
Orders = NDArray[np.int64]


def rank_orders(passed: Floats, costs: Floats, query: Query) -> Orders:
    """For each class the order by drops per cost, guards first where they must be.

    `passed` has a row per class and a column per operator. Content-based routing, Table 1:

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("O1"), Operator("O2"), Operator("O3")))
    >>> table = np.array([[0.32, 0.10, 0.55], [0.31, 0.20, 0.65], [0.27, 0.90, 0.60]])
    >>> (rank_orders(table, np.ones(3), query) + 1).tolist()  # for a, b and c
    [[2, 1, 3], [2, 1, 3], [1, 3, 2]]
    """
    rank = (1 - passed) / costs
    if not any(query.guards):
        return np.argsort(-rank, axis=1, kind="stable")
    orders = np.zeros(passed.shape, np.int64)
    placed = np.zeros(passed.shape, bool)
    everyone = np.arange(len(passed))
    for position in range(len(query)):
        # Allowed if it has no guard that is yet to be placed.
        allowed = ~placed & ~(~placed @ query.needs.T)
        best = np.where(allowed, rank, -np.inf).argmax(axis=1)
        orders[:, position] = best
        placed[everyone, best] = True
    return orders


def route_costs(passed: Floats, costs: Floats, orders: Orders) -> Floats:
    """Seconds per row of each class (rows) on each order (columns).

    >>> route_costs(np.array([[0.5, 0.1]]), np.ones(2), np.array([[0, 1], [1, 0]])).tolist()
    [[1.5, 1.1]]
    """
    reach = np.cumprod(passed[:, orders[:, :-1]], axis=2)  # the share of rows that get past each
    later = (reach * costs[orders[:, 1:]]).sum(axis=2)
    return np.asarray(costs[orders[:, 0]] + later)


@dataclass(frozen=True)
class RouteSet:
    """A few orders, the class of each, and the mean cost of a row."""

    orders: Orders
    chosen: NDArray[np.int64]  # class -> order
    cost: float


def choose_routes(
    passed: Floats, weights: Floats, costs: Floats, query: Query, most: int, overhead: float
) -> RouteSet:
    """Few routes for many classes: each added one must save more than it costs.

    The search begins with the best single route, among the classes' own orders and the overall one.
    Then the order that saves most is added, until there are `most` routes or the next one saves
    less than `overhead` (seconds per row: the calls for a further group of rows, spread over all
    rows). So small classes, and classes whose own order is hardly better, join the nearest route.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b")))
    >>> passed = np.array([[0.1, 0.9], [0.9, 0.1], [0.2, 0.9]])
    >>> routes = choose_routes(passed, np.array([5.0, 4.0, 1.0]), np.ones(2), query, 8, 0.0)
    >>> routes.orders.tolist(), routes.chosen.tolist(), round(routes.cost, 2)
    ([[0, 1], [1, 0]], [0, 1, 0], 1.11)
    """
    share = weights / weights.sum()
    overall = (share @ passed)[None]
    own = rank_orders(np.concatenate([overall, passed]), costs, query)
    candidates = np.unique(own, axis=0)
    table = route_costs(passed, costs, candidates)
    picked = [int((share @ table).argmin())]
    current = table[:, picked[0]]
    while len(picked) < min(most, len(candidates)):
        saving = share @ np.maximum(current[:, None] - table, 0.0)
        best = int(saving.argmax())
        if saving[best] <= overhead or best in picked:
            break
        picked.append(best)
        current = np.minimum(current, table[:, best])
    within = table[:, picked]
    chosen = within.argmin(axis=1)
    # The route of most rows comes first; one that no class takes any more goes.
    followed = np.bincount(chosen, share, len(picked))
    used = np.argsort(-followed, kind="stable")[: np.count_nonzero(followed)]
    renumbered = np.zeros(len(picked), np.int64)
    renumbered[used] = np.arange(len(used))
    cost = float(share @ within.min(axis=1))
    return RouteSet(candidates[np.array(picked)[used]], renumbered[chosen], cost)


def promoted(route: tuple[int, ...], first: int, query: Query) -> tuple[int, ...]:
    """The route with an operator as early as its guards allow.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b"), Operator("c", after=("b",))))
    >>> promoted((0, 1, 2), 2, query)
    (1, 2, 0)
    """
    guards = query.guards[first]
    front = [i for i in route if i in guards]
    return (*front, first, *(i for i in route if i not in guards and i != first))
