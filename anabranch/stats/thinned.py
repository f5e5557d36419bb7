"""Some rows of many, where more would tell no more."""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Bits = NDArray[np.bool_]


def thinned(random: np.random.Generator, most: int, rows: Rows, passed: Bits) -> tuple[Rows, Bits]:
    """At most so many, with what became of them.

    At random: every k-th row could be of one class.

    >>> rows, passed = thinned(np.random.default_rng(0), 2, np.arange(9), np.arange(9) > 4)
    >>> len(rows), bool(((rows > 4) == passed).all())
    (2, True)
    """
    if len(rows) <= most:
        return rows, passed
    some = random.integers(0, len(rows), most)
    return rows[some], passed[some]
