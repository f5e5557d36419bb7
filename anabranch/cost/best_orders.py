"""The best orders for many groups of the same rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from anabranch.cost.order import FEW_OPERATORS, Bits, Costs, greedy_orders, pattern_costs
from anabranch.model import Query

Orders = NDArray[np.int64]


@dataclass
class BestOrders:
    """Drop patterns of rows; a group of rows is given by how often it has each of them.

    Of few operators the best of all orders is found, of many the greedy one. What an order costs
    is worked out once.

    Examples
    --------
    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b"), Operator("c")))
    >>> patterns = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], bool)
    >>> best = BestOrders(patterns, np.ones(3), query)
    >>> best.of(np.array([[2.0, 1.0, 1.0], [2.0, 1.0, 9.0]])).tolist()
    [[0, 2, 1], [2, 0, 1]]
    >>> best.costs_of((2, 0, 1)).tolist()
    [2.0, 2.0, 1.0]
    """

    patterns: Bits
    costs: Costs
    query: Query
    _known: dict[tuple[int, ...], Costs] = field(default_factory=dict, repr=False)

    def of(self, weights: Costs) -> Orders:
        """An order for each group."""
        if len(self.query) > FEW_OPERATORS:
            return greedy_orders(self.patterns, self.costs, self.query, weights)
        orders, table = self._all
        return np.asarray(orders[(table @ weights.T).argmin(axis=0)])

    def costs_of(self, order: Sequence[int]) -> Costs:
        """Seconds that an order takes for a row of each pattern."""
        key = tuple(order)
        if key not in self._known:
            self._known[key] = pattern_costs(self.patterns, self.costs, key)
        return self._known[key]

    @cached_property
    def _all(self) -> tuple[Orders, Costs]:
        """Every order that the guards allow, and what it costs for each pattern."""
        names = self.query.names
        every = permutations(range(len(names)))
        allowed = [order for order in every if self.query.allows(names[i] for i in order)]
        return np.array(allowed), np.array([self.costs_of(order) for order in allowed])
