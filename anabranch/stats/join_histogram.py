"""The share of pairs of two streams whose keys are equal, by histograms of the keys.

OM, Section 4.3: the selectivity of a join is estimated by histograms (V. Poosala, 1997), and again
only when what is observed differs from the estimate by a threshold.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anabranch.model import InputError

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass
class JoinHistogram:
    """Keys of the left and of the right stream, counted by bucket.

    Within a bucket rows are taken to be spread evenly over its keys. Buckets are by hash, so they
    have about equally many: those of the side that has more, what it has not shown yet included.

    Examples
    --------
    >>> told = JoinHistogram(buckets=64)
    >>> told.update(np.array([1, 1, 3, 3]), np.array([1, 3, 3, 1]))
    >>> round(told.get(), 3)  # of 16 pairs (1, 1) and (3, 3) four times each
    0.5
    """

    buckets: int = 64
    _left: Floats = field(init=False, repr=False)
    _right: Floats = field(init=False, repr=False)
    _distinct: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.buckets, int) or self.buckets < 1:
            raise InputError(f"buckets is a whole number of at least 1, got {self.buckets!r}")
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._left = np.zeros(self.buckets)
        self._right = np.zeros(self.buckets)
        self._distinct = [0.0, 0.0]

    def update(self, left: Codes, right: Codes) -> None:
        """Keys that have come, of both sides, by whole numbers."""
        for place, (counts, codes) in enumerate(((self._left, left), (self._right, right))):
            counts += np.bincount(_buckets(codes, self.buckets), minlength=self.buckets)
            _, times = np.unique(codes, return_counts=True)
            # Distinct keys of several updates: at least those of the one that had most.
            self._distinct[place] = max(self._distinct[place], _keys(times))

    def get(self) -> float | None:
        """The share of pairs; None if a side has no rows."""
        pairs = self._left.sum() * self._right.sum()
        if not pairs:
            return None
        most = max(self._distinct)
        filled = int(np.count_nonzero(self._left + self._right))
        used = max(filled, self.buckets * -np.expm1(-most / self.buckets))  # that have a key
        return float((self._left * self._right).sum() * used / most / pairs)

    def merge(self, other: "JoinHistogram") -> "JoinHistogram":
        merged = JoinHistogram(self.buckets)
        merged._left = self._left + other._left
        merged._right = self._right + other._right
        merged._distinct = [max(a, b) for a, b in zip(self._distinct, other._distinct, strict=True)]
        return merged


@dataclass
class JoinSelectivity:
    """An estimate that stands until what is observed differs by more than a threshold.

    Examples
    --------
    >>> told = JoinSelectivity(threshold=0.5)
    >>> keys = np.repeat(np.arange(100), 3)
    >>> [told.update(keys, keys, observed) for observed in (0.010, 0.012, 0.030)]
    [True, False, True]
    >>> round(told.get(), 2)
    0.01
    """

    threshold: float = 0.2
    histogram: JoinHistogram = field(default_factory=JoinHistogram)
    _estimate: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, int | float) or not self.threshold > 0:
            raise InputError(f"threshold is a share above 0, got {self.threshold!r}")

    def update(self, left: Codes, right: Codes, observed: float) -> bool:
        """A round: its keys, and the share of pairs that matched; was it estimated again?"""
        told = self._estimate
        if told is not None and abs(observed - told) <= self.threshold * told:
            return False
        self.histogram.clear()  # the distribution is another one
        self.histogram.update(left, right)
        self._estimate = self.histogram.get()
        return True

    def get(self) -> float | None:
        return self._estimate


def _keys(times: Codes) -> float:
    """How many keys there are: those that were seen once tell of others that never were.

    A. Chao, Scandinavian Journal of Statistics 11, 1984.
    """
    once, twice = int((times == 1).sum()), int((times == 2).sum())
    return len(times) + once * (once - 1) / (2 * (twice + 1))


def _buckets(codes: Codes, buckets: int) -> Codes:
    """By a mix of the bits, so that keys with a common step spread."""
    mixed = codes.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(33)) % np.uint64(buckets)).astype(np.int64)
