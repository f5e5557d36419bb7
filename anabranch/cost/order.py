"""Cost of an order of correlated filters, from a profile (A-Greedy, Equation 1)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]
Costs = NDArray[np.float64]


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
