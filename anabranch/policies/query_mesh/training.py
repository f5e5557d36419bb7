"""The training set: sampled rows with all their bits, condensed to weighted training tuples."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Training:
    """Training tuples: how often each pattern of drops was seen among the rows of each.

    Parameters
    ----------
    patterns
        A row per pattern, a column per operator: does it drop the row?
    counts
        Fold, tuple, pattern -> sampled rows. With one fold nothing is held out.
    content
        Tuple, attribute -> where it lies in the attribute's domain, by which tuples are close.

    Examples
    --------
    >>> bits = np.array([[1, 0], [1, 0], [0, 1], [0, 0]], bool)
    >>> training = Training.of(bits, tuples=np.array([0, 0, 1, 1]))
    >>> training.patterns.astype(int).tolist(), training.counts[0].astype(int).tolist()
    ([[0, 0], [0, 1], [1, 0]], [[0, 0, 2], [1, 1, 0]])
    """

    patterns: Bits
    counts: Floats
    content: Floats

    @classmethod
    def of(
        cls, bits: Bits, tuples: Rows, folds: Rows | None = None, content: Floats | None = None
    ) -> "Training":
        """From sampled rows, the tuple that each belongs to, its fold, and the tuples' content."""
        patterns, place = np.unique(bits, axis=0, return_inverse=True)
        fold = np.zeros(len(bits), np.int64) if folds is None else folds
        shape = int(fold.max(initial=0)) + 1, int(tuples.max(initial=-1)) + 1, len(patterns)
        counts = np.zeros(shape)
        np.add.at(counts, (fold, tuples, place.ravel()), 1.0)
        return cls(patterns, counts, np.zeros((shape[1], 0)) if content is None else content)

    def __len__(self) -> int:
        return int(self.counts.shape[1])

    @cached_property
    def weights(self) -> Floats:
        """Sampled rows of each tuple."""
        return np.asarray(self.counts.sum(axis=(0, 2)))

    @cached_property
    def weight(self) -> float:
        return float(self.weights.sum())

    def folds(self, subsets: Sequence[Iterable[int]]) -> Floats:
        """Subset of the tuples, fold, pattern -> rows."""
        inside = np.zeros((len(subsets), len(self)))
        for place, members in enumerate(subsets):
            inside[place, list(members)] = 1.0
        return (inside @ self._flat).reshape(len(subsets), self.counts.shape[0], -1)

    @cached_property
    def _flat(self) -> Floats:
        """Tuple -> its rows by fold and pattern."""
        return np.ascontiguousarray(self.counts.transpose(1, 0, 2).reshape(len(self), -1))
