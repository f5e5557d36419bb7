"""What classifying a row costs in a batch."""

from collections import deque
from dataclasses import dataclass, field
from statistics import median

# Seconds to classify one more row, by which what a short slice took is scaled to a batch.
CLASSIFYING = 7e-8
# Slices remembered, and those taken at the start to have cost no more than that.
REMEMBERED, ASSUMED = 9, 3


@dataclass
class RoutingCost:
    """Seconds per row: the median of the last slices, against hiccups.

    Examples
    --------
    >>> cost = RoutingCost()
    >>> for _ in range(4):
    ...     cost.update(1_000, 2e-4)
    >>> round(1e6 * cost.get(10_000), 3)
    0.083
    """

    slices: deque[tuple[int, float]] = field(
        default_factory=lambda: deque([(0, 0.0)] * ASSUMED, maxlen=REMEMBERED)
    )

    def update(self, rows: int, seconds: float) -> None:
        """Add a slice that was classified."""
        self.slices.append((rows, seconds))

    def get(self, rows: float) -> float:
        """Seconds per row in a batch of that many."""
        size = max(rows, 1.0)
        scaled = [took + max(0.0, size - part) * CLASSIFYING for part, took in self.slices]
        return median(scaled) / size
