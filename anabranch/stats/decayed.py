"""A mean of the last values in which old ones weigh less.

D. Kulkarni, C. Ravishankar: OM, Section 4.3: G(r) = e^(-ar) weighs what was seen r rounds ago.
"""

from collections import deque
from dataclasses import dataclass, field
from math import exp

from anabranch.model import InputError


@dataclass
class Decayed:
    """The estimate for the next round from those before.

    Parameters
    ----------
    history
        Rounds that are remembered (d).
    decay
        How fast their weight falls (a): 0 is a plain mean.

    Examples
    --------
    >>> told = Decayed(history=2, decay=0.6931471805599453)  # half of the weight per round
    >>> for rate in (900.0, 100.0, 400.0):
    ...     told.update(rate)
    >>> round(told.get(), 6)
    300.0
    """

    history: int = 20
    decay: float = 0.5
    _values: deque[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        whole = isinstance(self.history, int) and not isinstance(self.history, bool)
        if not whole or self.history < 1:
            raise InputError(f"history is a number of rounds, at least 1, got {self.history!r}")
        if not isinstance(self.decay, int | float) or not self.decay >= 0:
            raise InputError(f"decay is a number of at least 0, got {self.decay!r}")
        self._values = deque(maxlen=self.history)

    def update(self, value: float) -> None:
        """What was seen in one more round."""
        self._values.append(float(value))

    def get(self) -> float | None:
        """The estimate; None before the first round."""
        if not self._values:
            return None
        weights = [exp(-self.decay * age) for age in range(len(self._values))]
        newest = reversed(self._values)
        return sum(w * v for w, v in zip(weights, newest, strict=True)) / sum(weights)

    @property
    def values(self) -> list[float]:
        """What is remembered, the oldest first."""
        return list(self._values)

    def merge(self, later: "Decayed") -> "Decayed":
        """As if the rounds of `later` had followed these."""
        merged = Decayed(self.history, self.decay)
        merged._values.extend([*self._values, *later._values])
        return merged
