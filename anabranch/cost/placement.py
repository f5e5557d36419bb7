"""Which native predicates run behind the Python stage, where all may run before it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from anabranch.cost.order import Bits, Costs, greedy_order, optimal_order, order_cost
from anabranch.model import Operator, Query

# Of many that could, the dearest so many are looked at.
MOST_MOVED = 6
# Operators of a stage up to which the best of all orders is looked for.
FEW = 8
# Seconds to bring a row to Python and its verdict back.
SHIPPING = 1e-6


@dataclass(frozen=True)
class Placed:
    """Operators before, in and behind the Python stage, in their order, and seconds per row."""

    before: tuple[int, ...]
    inside: tuple[int, ...]
    behind: tuple[int, ...]
    cost: float


def place(
    query: Query,
    bits: Bits,
    costs: Costs,
    inside: Sequence[int],
    movable: Sequence[int],
    behind: Sequence[int] = (),
    shipping: float = SHIPPING,
) -> Placed:
    """The cheapest way to run native predicates before or behind the Python ones `inside`.

    Those that are `movable` may run on either side, with all that was declared after them; those
    `behind` must run there, all others before.

    >>> query = Query((Operator("native"), Operator("python"), Operator("cheap")))
    >>> bits = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]], bool)
    >>> placed = place(query, bits, np.array([50e-6, 2e-6, 1e-8]), inside=[1], movable=[0, 2])
    >>> placed.before, placed.inside, placed.behind
    ((2,), (1,), (0,))
    >>> place(query, bits, np.array([1e-6, 9e-6, 1e-8]), inside=[1], movable=[0, 2]).behind
    ()
    """
    dearest = sorted(movable, key=lambda i: -costs[i])[:MOST_MOVED]
    subsets = chain.from_iterable(combinations(dearest, n) for n in range(len(dearest) + 1))
    found = [
        _placed(query, bits, costs, list(inside), sorted({*behind, *late}), shipping)
        for late in subsets
        if _is_closed(query, late, movable)
    ]
    # Of equals the one that moves least.
    return min(found, key=lambda placed: placed.cost)


def _is_closed(query: Query, late: Sequence[int], movable: Sequence[int]) -> bool:
    """Whether all movable ones that were declared after one that is late are late, too."""
    return all(i in late or not query.guards[i] & set(late) for i in movable)


def _placed(
    query: Query, bits: Bits, costs: Costs, inside: list[int], behind: list[int], shipping: float
) -> Placed:
    before = [i for i in range(len(query)) if i not in inside and i not in behind]
    alive = np.ones(len(bits), bool)
    orders, total = [], 0.0
    for stage in (before, inside, behind):
        rows = bits[alive]
        order = _best(query, rows, costs, stage)
        share = len(rows) / max(len(bits), 1)
        total += share * (_cost(rows, costs, order) + (shipping if stage is inside else 0.0))
        alive &= ~bits[:, stage].any(axis=1)
        orders.append(order)
    return Placed(orders[0], orders[1], orders[2], total)


def _best(query: Query, bits: Bits, costs: Costs, stage: list[int]) -> tuple[int, ...]:
    operators = [
        Operator(query.names[i], after=tuple(query.names[g] for g in query.guards[i] if g in stage))
        for i in stage
    ]
    find = optimal_order if len(stage) <= FEW else greedy_order
    order = find(bits[:, stage], costs[stage], Query(tuple(operators)))
    return tuple(stage[i] for i in order)


def _cost(bits: NDArray[np.bool_], costs: Costs, order: tuple[int, ...]) -> float:
    return order_cost(bits, costs, order) if order else 0.0
