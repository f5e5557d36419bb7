"""Selectivities that follow the data: exponentially weighted, overall and per partition."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass
class Selectivity:
    """Shares of rows passed, one per partition, each an exponentially weighted mean.

    Content-based routing, Section 4.1: after each row the estimate is `alpha` times the old one
    plus `1 - alpha` times whether the row passed. Rows come in groups here, and a group counts as
    its mean, with the weight that its rows would have had one by one. Before there are
    1 / (1 - alpha) rows all rows count alike, so that the start does not depend on a first guess.

    The overall selectivity W of an operator is the case of one partition, a column of the matrix S
    the case of several.

    Examples
    --------
    >>> w = Selectivity(partitions=1, alpha=0.9)
    >>> w.update(np.array([4]), np.array([1])); w.get().tolist()
    [0.25]
    >>> w.update(np.array([1000]), np.array([1000])); round(float(w.get()[0]), 3)
    1.0
    """

    partitions: int = 1
    alpha: float = 0.999
    rows: Floats = field(init=False)
    passed: Floats = field(init=False)  # the estimate

    def __post_init__(self) -> None:
        self.rows = np.zeros(self.partitions)
        self.passed = np.full(self.partitions, 0.5)

    @classmethod
    def of(cls, rows: Floats, passed: Floats, alpha: float, prior: float) -> "Selectivity":
        """From In and Out; where In is 0 the overall selectivity `prior` stands in."""
        made = cls(len(rows), alpha)
        made.rows = rows.astype(float)
        made.passed = np.where(rows > 0, passed / np.where(rows > 0, rows, 1.0), prior)
        return made

    def update(self, rows: NDArray[np.int64], passed: NDArray[np.int64]) -> None:
        """Add, per partition, rows evaluated and rows passed."""
        seen = rows > 0
        total = self.rows + rows
        gain = np.maximum(1 - self.alpha**rows, rows / np.maximum(total, 1e-12))
        mean = passed / np.maximum(rows, 1)
        self.passed = np.where(seen, self.passed + gain * (mean - self.passed), self.passed)
        self.rows = np.minimum(total, 1 / (1 - self.alpha))

    def get(self) -> Floats:
        """The estimates; 0.5 where no row was seen."""
        return self.passed

    def merge(self, other: "Selectivity") -> "Selectivity":
        """Both as one, each weighted by the rows that it stands on."""
        merged = Selectivity(self.partitions, self.alpha)
        total = self.rows + other.rows
        weighted = self.rows * self.passed + other.rows * other.passed
        merged.passed = np.where(total > 0, weighted / np.maximum(total, 1e-12), 0.5)
        merged.rows = np.minimum(total, 1 / (1 - self.alpha))
        return merged
