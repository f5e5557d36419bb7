"""A sorted run: rows of a window by key and time, where all matches of a row stand together."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

# Above this the product of keys and times would not fit into a number.
LARGEST = 1 << 62


@dataclass(frozen=True, eq=False)
class SortedRun:
    """Rows by key, then by time; numpy's binary searches find ranges for many rows at once.

    `places` are keys and times as one ascending number each.

    Examples
    --------
    >>> run = SortedRun.of(np.array([7, 5, 7, 7]), np.array([30, 10, 10, 20]), np.arange(4))
    >>> start, stop = run.ranges(np.array([7, 6]), np.array([10, 0]), np.array([20, 99]))
    >>> [run.rows[a:b].tolist() for a, b in zip(start, stop)]
    [[2, 3], []]
    """

    keys: Ints  # distinct, ascending
    rows: Ints
    times: Ints
    places: Ints
    steps: Ints | None  # distinct times, where these count instead of microseconds
    first: int
    span: int

    @classmethod
    def of(cls, keys: Ints, times: Ints, rows: Ints) -> "SortedRun":
        """From rows in any order."""
        order = np.lexsort((times, keys))
        keys, times, rows = keys[order], times[order], rows[order]
        fresh = np.ones(len(keys), bool)
        fresh[1:] = keys[1:] != keys[:-1]
        distinct, rank = keys[fresh], np.cumsum(fresh) - 1
        first = int(times.min()) if len(times) else 0
        span = (int(times.max()) if len(times) else 0) - first + 2
        steps: Ints | None = None
        since = times - first
        if len(distinct) * span >= LARGEST:
            steps, since = np.unique(times, return_inverse=True)
            span = len(steps) + 1
        return cls(distinct, rows, times, rank * span + since, steps, first, span)

    def __len__(self) -> int:
        return len(self.rows)

    def ranges(self, keys: Ints, earliest: Ints, latest: Ints) -> tuple[Ints, Ints]:
        """For each key, where its rows from the earliest to the latest time begin and end."""
        if not len(self):
            nothing = np.zeros(len(keys), np.int64)
            return nothing, nothing
        rank = np.searchsorted(self.keys, keys)
        rank[rank == len(self.keys)] = 0
        hit = self.keys[rank] == keys
        start, stop = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        base = rank[hit] * self.span
        if self.steps is None:
            low, high = earliest[hit] - self.first, latest[hit] - self.first
        else:
            low = np.searchsorted(self.steps, earliest[hit], "left")
            high = np.searchsorted(self.steps, latest[hit], "right") - 1
        low, high = np.clip(low, 0, self.span - 1), np.clip(high, -1, self.span - 1)
        start[hit] = np.searchsorted(self.places, base + low, "left")
        stop[hit] = np.searchsorted(self.places, base + high, "right")
        return start, np.maximum(start, stop)

    def merged(self, other: "SortedRun", since: int) -> "SortedRun":
        """One run of both, without rows from before a time."""
        keys = np.concatenate([self._keys(), other._keys()])
        times = np.concatenate([self.times, other.times])
        rows = np.concatenate([self.rows, other.rows])
        fresh = times >= since
        return SortedRun.of(keys[fresh], times[fresh], rows[fresh])

    def _keys(self) -> Ints:
        """The key of each row."""
        return np.asarray(self.keys[self.places // self.span], np.int64)
