"""Round-robin profiling: whose turn it is, and for how many rows (CBR, Section 4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anabranch.policies.base import Feedback, Sampling

# Rows of a turn at most: more would tell no more.
LONGEST_TURN = 1_500
# A turn that is too dear is thought of again after this part of the rows so far, at most so many.
PAUSE, LONGEST_PAUSE = 2, 50_000


@dataclass
class Turns:
    """One operator at a time is met first by the profiled rows.

    Examples
    --------
    >>> turns = Turns()
    >>> turns.next([0, 2, 5])
    0
    >>> turns.begin(0, rows=150); turns.profiling, turns.sampling("auto").rows
    (0, 150)
    >>> turns.next([0, 2, 5])
    2
    """

    profiling: int | None = None  # the operator whose turn it is
    extra: float = 0.0  # seconds per row that its turn is expected to cost
    fixed: float = 0.0  # seconds that each slice of it costs by itself
    _last: int = -1
    _at: int = 0  # row before which the next turn need not be thought of
    _wanted: int = 0  # rows that this turn still needs
    _rows: int = 0  # rows that it had

    def next(self, worth: Sequence[int]) -> int:
        """The operator after the last one, of those worth it."""
        return next((o for o in worth if o > self._last), worth[0])

    def begin(self, operator: int, rows: int) -> None:
        self._last = self.profiling = operator
        self._wanted, self._rows = rows, 0

    def postpone(self, row: int) -> None:
        """The next turn is too dear now."""
        self._at = row + min(row // PAUSE, LONGEST_PAUSE)

    def is_early(self, row: int) -> bool:
        return row < self._at

    def sampling(self, p: float | str) -> Sampling:
        """All rows of a slice, or the share `p` of the rows of a longer one."""
        if p == "auto":
            return Sampling(1.0, rows=self._wanted, first=self.profiling)
        rows = max(1, round(self._wanted / float(p)))
        return Sampling(float(p), rows=rows, first=self.profiling)

    def update(self, operator: int, feedback: Feedback, sample_rows: int) -> bool:
        """Count the rows that met the operator; whether its turn is over."""
        met: NDArray[np.bool_] = feedback.passed[:, operator] | feedback.dropped[:, operator]
        self._wanted -= int(met.sum())  # guards may have kept the others from it
        self._rows += len(feedback.profiled)
        if self._wanted > 0 and self._rows < max(LONGEST_TURN, 4 * sample_rows):
            return False
        self.profiling = None
        return True
