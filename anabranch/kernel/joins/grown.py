"""A column that grows at its end and shrinks at its front."""

from dataclasses import dataclass, field

import numpy as np

from anabranch.kernel.joins.run import Ints

LEAST = 1024


@dataclass
class Grown:
    """Numbers in one piece of memory, so that many of them are fetched at once.

    Examples
    --------
    >>> column = Grown()
    >>> column.append(np.array([5, 6, 7]))
    >>> column.drop(1)
    >>> column.take(np.array([1, 0])).tolist(), len(column)
    ([7, 6], 2)
    """

    memory: Ints = field(default_factory=lambda: np.empty(LEAST, np.int64))
    first: int = 0
    last: int = 0

    def __len__(self) -> int:
        return self.last - self.first

    def append(self, values: Ints) -> None:
        """Put these behind the others."""
        needed = len(self) + len(values)
        if self.last + len(values) > len(self.memory):
            # Twice as large, unless there is much room at the front: then they only move there.
            size = max(LEAST, len(self.memory) if needed <= len(self.memory) // 2 else 2 * needed)
            memory = np.empty(size, np.int64)
            memory[: len(self)] = self.memory[self.first : self.last]
            self.memory, self.first, self.last = memory, 0, len(self)
        self.memory[self.last : self.last + len(values)] = values
        self.last += len(values)

    def drop(self, count: int) -> None:
        """Forget the first ones."""
        self.first += count

    def take(self, places: Ints) -> Ints:
        """Some of them, by place."""
        return self.memory[places + self.first]
