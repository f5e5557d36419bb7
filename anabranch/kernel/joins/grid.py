"""The hypercube of cells: to which of them rows go, and under which key Spark finds a cell."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from anabranch.kernel.joins.run import Ints
from anabranch.model.join import JoinQuery

# A code's low bits tell rows of a cell apart in its index; these tell the cells.
SHIFT = 32
WORD = 1 << 32


@dataclass(frozen=True)
class Grid:
    """Cells by shares, one per key of the query.

    Examples
    --------
    >>> from anabranch.model.join import Stream
    >>> pair = [(("a", "x"), ("b", "x"))]
    >>> grid = Grid(JoinQuery.on([Stream("a", 1), Stream("b", 1)], pair), (2,))
    >>> codes = {0: np.array([0, 1 << 32, 3 << 32])}
    >>> [(cell, rows.tolist()) for cell, rows in grid.cells_of("a", codes).items()]
    [(0, [0]), (1, [1, 2])]
    """

    query: JoinQuery
    shares: tuple[int, ...]

    def __len__(self) -> int:
        return prod(self.shares)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """By how much a cell's number rises with each coordinate."""
        return tuple(prod(self.shares[i + 1 :]) for i in range(len(self.shares)))

    def cells_of(self, stream: str, codes: Mapping[int, Ints]) -> dict[int, NDArray[np.int64]]:
        """Cell -> the rows of a stream that go there."""
        own = self.query.keys_of[stream]
        rows = len(next(iter(codes.values())))
        base = np.zeros(rows, np.int64)
        for key in own:
            high = codes[key].view(np.uint64) >> np.uint64(SHIFT)
            base += (high % np.uint64(self.shares[key])).astype(np.int64) * self.steps[key]
        others = [key for key in range(len(self.shares)) if key not in own]
        found: dict[int, NDArray[np.int64]] = {}
        for first in np.unique(base).tolist():
            members = np.flatnonzero(base == first)
            for place in product(*(range(self.shares[key]) for key in others)):
                steps = (at * self.steps[key] for at, key in zip(place, others, strict=True))
                found[first + sum(steps)] = members
        return found


def key_of(cell: int) -> int:
    """The whole number that Spark's hash partitioning puts into the partition of a cell's number.

    Spark takes Murmur3 (32 bits, seed 42) modulo the partitions. On one number that is a bijection:
    here it is taken backwards, so that cells spread evenly over however many partitions there are.

    >>> [key_of(cell) for cell in (0, 1)]
    [-1693959553, -1910889132]
    """
    x = cell ^ (cell >> 16)
    x = x * pow(0xC2B2AE35, -1, WORD) % WORD
    x ^= (x >> 13) ^ (x >> 26)
    x = x * pow(0x85EBCA6B, -1, WORD) % WORD
    x ^= (x >> 16) ^ 4
    x = (x - 0xE6546B64) * pow(5, -1, WORD) % WORD
    x = _rotated(x, 19) ^ 42
    x = _rotated(x * pow(0x1B873593, -1, WORD) % WORD, 17)
    x = x * pow(0xCC9E2D51, -1, WORD) % WORD
    return x - WORD if x >= WORD // 2 else x


def _rotated(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (32 - bits))) % WORD
