"""How often a round samples, so that sampling stays within its budget."""

import math
import statistics
from collections import deque
from dataclasses import dataclass, field

# Rounds from one that samples to the next, in calm: at least and at most.
LEAST, MOST = 4, 32
# Rounds of each kind that are remembered, and from how many on they are compared.
REMEMBERED, KNOWN = 4, 2


@dataclass
class RoundPace:
    """Compares rounds that sample with those that do not.

    What runs now and then is compiled late, so that at first sampling costs more than later.

    Examples
    --------
    >>> pace = RoundPace(budget=0.02)
    >>> for number in range(8):
    ...     sampled = pace.is_due(curious=False)
    ...     pace.took(sampled, rows=100, seconds=1.2 if sampled else 1.0)
    >>> pace.every  # a fifth more, in every tenth round
    10
    """

    budget: float = 0.02
    _since: int = MOST  # rounds since one sampled
    _seconds: dict[bool, deque[float]] = field(
        default_factory=lambda: {kind: deque(maxlen=REMEMBERED) for kind in (True, False)}
    )

    def is_due(self, curious: bool) -> bool:
        """Whether the next round samples."""
        return curious or self._since + 1 >= self.every

    def took(self, sampled: bool, rows: int, seconds: float, curious: bool = False) -> None:
        """A round is over; what one took that had much to learn tells nothing of later ones."""
        self._since = 0 if sampled else self._since + 1
        if rows and not curious:
            self._seconds[sampled].append(seconds / rows)

    @property
    def every(self) -> int:
        """From one round that samples to the next."""
        with_it, without = self._seconds[True], self._seconds[False]
        if min(len(with_it), len(without)) < KNOWN:
            return LEAST
        adds = statistics.median(with_it) / statistics.median(without) - 1
        return min(max(math.ceil(round(adds / self.budget, 6)), LEAST), MOST)
