"""The profile window: which operators drop each of the last profiled rows."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]


@dataclass
class ProfileWindow:
    """Sliding window of profile rows (A-Greedy, Section 4.1).

    A profile row has one bit per operator: does it drop the row? The window holds the last `size`
    rows and, with `seconds`, none older than that.

    Examples
    --------
    >>> window = ProfileWindow(operators=2, size=2)
    >>> _ = window.update(np.array([[1, 0], [0, 1]], bool), now=0.0)
    >>> window.update(np.array([[1, 1]], bool), now=1.0).astype(int).tolist()  # what fell out
    [[1, 0]]
    >>> window.get().astype(int).tolist()
    [[0, 1], [1, 1]]
    """

    operators: int
    size: int = 1000
    seconds: float | None = None
    _bits: Bits = field(init=False, repr=False)
    _times: NDArray[np.float64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._bits = np.zeros((0, self.operators), bool)
        self._times = np.zeros(0)

    def __len__(self) -> int:
        return len(self._bits)

    def update(self, bits: Bits, now: float = 0.0) -> Bits:
        """Insert profile rows; return the rows that left the window, oldest first."""
        self._bits = np.concatenate([self._bits, bits])
        self._times = np.concatenate([self._times, np.full(len(bits), now)])
        leaving = max(0, len(self._bits) - self.size)
        if self.seconds is not None:
            expired = int(np.searchsorted(self._times, now - self.seconds, side="left"))
            leaving = max(leaving, expired)
        gone = self._bits[:leaving]
        self._bits, self._times = self._bits[leaving:], self._times[leaving:]
        return gone

    def get(self) -> Bits:
        """The profile rows, oldest first."""
        return self._bits

    def merge(self, other: "ProfileWindow") -> "ProfileWindow":
        """The window that one pass over both inputs in order of time would have left."""
        merged = ProfileWindow(self.operators, self.size, self.seconds)
        times = np.concatenate([self._times, other._times])
        order = np.argsort(times, kind="stable")
        bits = np.concatenate([self._bits, other._bits])[order]
        times = times[order]
        keep = slice(max(0, len(bits) - self.size), None)
        merged._bits, merged._times = bits[keep], times[keep]
        if self.seconds is not None and len(times):
            merged.update(np.zeros((0, self.operators), bool), float(times[-1]))
        return merged
