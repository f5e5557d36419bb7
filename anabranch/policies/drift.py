"""Has the cost of a row risen?"""

from dataclasses import dataclass, field

import numpy as np

# The mean cost of this many rows is compared with the usual one: it must be above it by this share,
# and by this many standard errors.
RECENT_ROWS, DRIFT, CLEAR = 1_000, 0.10, 5.0
# The spread of the cost of a row is at least this share of its mean.
LEAST_SPREAD = 0.5


@dataclass
class RowCost:
    """Mean and spread of the cost of a row; `memory` is what a group of rows leaves of the old."""

    rows: float = 0.0
    mean: float = 0.0
    spread: float = 0.0  # per row

    def update(self, rows: int, cost: float, memory: float = 1.0) -> None:
        gain = max(rows / (self.rows + rows), 1 - memory)
        surprise = rows * (cost - self.mean) ** 2 if self.rows else 0.0
        self.spread += gain * (surprise - self.spread)
        self.mean += gain * (cost - self.mean)
        self.rows += rows


@dataclass
class Watch:
    """Compares the last thousand rows with those before.

    >>> watch = Watch()
    >>> any(watch.update(1_000, 1.0) for _ in range(5)), watch.update(1_000, 1.3)
    (False, True)
    """

    usual: RowCost = field(default_factory=RowCost)
    recent: RowCost = field(default_factory=RowCost)
    risen_to: float = 0.0

    def update(self, rows: int, cost: float) -> bool:
        """Add rows; whether they cost clearly more than usual."""
        self.recent.update(rows, cost)
        if self.recent.rows < RECENT_ROWS:
            return False
        recent, usual = self.recent, self.usual
        self.recent = RowCost()
        if usual.rows >= 2 * RECENT_ROWS and self._risen(recent):
            self.risen_to = recent.mean
            return True
        usual.update(int(recent.rows), recent.mean, memory=0.9)
        return False

    def _risen(self, recent: RowCost) -> bool:
        spread = max(self.usual.spread, (LEAST_SPREAD * self.usual.mean) ** 2)
        clear = recent.mean - self.usual.mean > CLEAR * np.sqrt(spread / recent.rows)
        return bool(clear and recent.mean > (1 + DRIFT) * self.usual.mean)
