"""Correlated filters as in the A-Greedy paper, Section 9.2.

n filters stand in groups of G. Filters of different groups are independent; two of one group agree
on 80 % of the rows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

AGREEMENT = 0.8

Bits = NDArray[np.bool_]


def correlated_bits(rows: int, drops: Sequence[float], group: int = 2, seed: int = 0) -> Bits:
    """Whether each filter drops each row: one column per filter, `drops` their drop rates.

    A filter follows a draw that its group shares, or draws for itself; how often it follows is set
    so that two filters of a group with a drop rate of 50 % agree on 80 % of the rows.

    >>> bits = correlated_bits(100_000, [0.5] * 4, group=2)
    >>> [round(float(x), 1) for x in bits.mean(axis=0)]
    [0.5, 0.5, 0.5, 0.5]
    >>> round(float((bits[:, 0] == bits[:, 1]).mean()), 2)
    0.8
    >>> round(float((bits[:, 1] == bits[:, 2]).mean()), 2)
    0.5
    """
    random = np.random.default_rng(seed)
    columns = []
    shared = np.zeros(rows)
    both_follow = 2 * AGREEMENT - 1  # agreement = both follow + (1 - both follow) / 2
    for i, drop in enumerate(drops):
        if i % group == 0:
            shared = random.random(rows)
        follows = random.random(rows) < np.sqrt(both_follow)
        draw = np.where(follows, shared, random.random(rows)) if group > 1 else random.random(rows)
        columns.append(draw < drop)
    return np.column_stack(columns)


def codes(bits: Bits) -> NDArray[np.int64]:
    """One number per row: bit i is set where filter i drops the row.

    >>> codes(np.array([[True, False], [True, True]])).tolist()
    [1, 3]
    """
    return np.asarray(bits.astype(np.int64) @ (1 << np.arange(bits.shape[1])), np.int64)
