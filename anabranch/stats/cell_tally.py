"""What operators make of the rows of each cell, told by all rows and not by sampled ones only."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bits = NDArray[np.bool_]

# Cells whose places are looked up in a table; more are searched for.
MOST_DENSE = 100_000
# Rows after which all counts are halved, so that what was long ago counts less, by default.
MEMORY_ROWS = 60_000


@dataclass
class CellTally:
    """Per cell: rows, and of those that came to an operator the rows met and passed.

    The last place is for rows of cells that are not known. Rows that come to an operator are those
    that the operators before it passed: their share is the conditional one of that route.

    Examples
    --------
    >>> tally = CellTally(known=(3, 7), operators=1)
    >>> cells = np.array([3, 3, 7, 9])
    >>> tally.count(cells); tally.update(0, cells, np.array([True, False, True, True]))
    >>> tally.rows.tolist(), tally.met[:, 0].tolist(), tally.passed[:, 0].tolist()
    ([2.0, 1.0, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    """

    known: tuple[int, ...]
    operators: int
    memory: float = MEMORY_ROWS
    rows: Floats = field(init=False)
    met: Floats = field(init=False)
    passed: Floats = field(init=False)

    def __post_init__(self) -> None:
        self._cells = np.array(self.known, np.int64)
        self._dense = self._table()
        self.clear()

    def _table(self) -> Codes | None:
        if not len(self._cells) or self._cells[-1] >= MOST_DENSE:
            return None
        table = np.full(int(self._cells[-1]) + 2, len(self._cells))
        table[self._cells] = np.arange(len(self._cells))
        return table

    def clear(self) -> None:
        """Forget all rows."""
        places = len(self.known) + 1
        self.rows = np.zeros(places)
        self.met, self.passed = np.zeros((2, places, self.operators))

    def places(self, cells: Codes) -> Codes:
        """The place of each cell."""
        if self._dense is not None:
            return self._dense[np.minimum(cells, len(self._dense) - 1)]
        if not len(self._cells):
            return np.zeros(len(cells), np.int64)
        place = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        return np.where(self._cells[place] == cells, place, len(self._cells))

    def count(self, cells: Codes) -> None:
        """Rows came."""
        self.rows += np.bincount(self.places(cells), minlength=len(self.rows))
        if self.rows.sum() > self.memory:
            self.rows /= 2
            self.met /= 2
            self.passed /= 2

    def update(self, operators: int | Codes, cells: Codes, passed: Bits) -> None:
        """Operators met rows of these cells and passed some; one for all rows, or one for each."""
        places = self.places(cells) * self.operators + operators
        for counts, told in ((self.met, places), (self.passed, places[passed])):
            counts += np.bincount(told, minlength=counts.size).reshape(counts.shape)

    def get(self, prior: float) -> Floats:
        """Share passed, by cell and operator; `prior` rows like all are added to each."""
        overall = (self.passed.sum(axis=0) + 0.5) / (self.met.sum(axis=0) + 1.0)
        return np.asarray((self.passed + prior * overall) / (self.met + prior))

    def merge(self, other: "CellTally") -> "CellTally":
        """Both as one; they must know the same cells."""
        merged = CellTally(self.known, self.operators, self.memory)
        merged.rows = self.rows + other.rows
        merged.met, merged.passed = self.met + other.met, self.passed + other.passed
        return merged
