"""Keep or drop: is routing with something measurably cheaper than without? (CBR, Section 4.1)

The paper measures throughput with and without a new operator-attribute pair. Here slices of rows
take turns under the two plans, longer and longer ones, until the difference is clear.
"""

from dataclasses import dataclass, field

import numpy as np

# Rows of the first slices, the factor by which later ones grow, and the most rows of one.
FIRST_SLICE = 100
GROWTH = 2
LONGEST_SLICE = 1_000
# Rows with, for every row without.
ADVANTAGE = 2
# Rows without it after which the means decide, clear or not.
MOST_ROWS = 1_500
# Standard errors that make a difference clear, and those that it must have in the end to count.
CLEAR, DOUBT = 2.5, 1.0
# The cost of a row varies by at least this share of its mean: a few slices may agree by chance.
LEAST_SPREAD = 0.5


@dataclass
class Arm:
    """Cost per row under one of the plans, over slices."""

    rows: list[int] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)  # per row

    def update(self, rows: int, cost: float) -> None:
        self.rows.append(rows)
        self.costs.append(cost)

    @property
    def total(self) -> int:
        return sum(self.rows)

    @property
    def mean(self) -> float:
        return float(np.average(self.costs, weights=self.rows))

    def error(self) -> float:
        """Squared standard error of the mean."""
        floor = (LEAST_SPREAD * self.mean) ** 2
        spread = 0.0
        if len(self.rows) > 1:
            deviations = np.array(self.rows) * (np.array(self.costs) - self.mean) ** 2
            spread = float(deviations.sum()) / (len(self.rows) - 1)
        return max(floor, spread) / self.total


@dataclass
class Trial:
    """Slices in turns: with, without, with, without ...

    Examples
    --------
    >>> trial = Trial()
    >>> trial.turn, trial.slice_rows
    ('with', 200)
    >>> trial.update(200, 1.0, charge=0.0); trial.turn
    'without'
    >>> trial.update(100, 3.0, charge=0.0); trial.kept
    True
    """

    with_it: Arm = field(default_factory=Arm)
    without: Arm = field(default_factory=Arm)
    kept: bool | None = None  # None until decided
    charge: float = 0.0  # what classifying adds per row, measured
    doubt: float = DOUBT

    @property
    def turn(self) -> str:
        return "with" if len(self.with_it.rows) <= len(self.without.rows) else "without"

    @property
    def slice_rows(self) -> int:
        rows = min(LONGEST_SLICE, int(FIRST_SLICE * GROWTH ** len(self.without.rows)))
        # What is tried will probably be kept: most rows go that way.
        return rows if self.turn == "without" else ADVANTAGE * rows

    def update(self, rows: int, cost: float, charge: float) -> None:
        """Add a slice that was run under the plan whose turn it was."""
        (self.with_it if self.turn == "with" else self.without).update(rows, cost)
        self.charge = charge
        if self.turn == "with":  # both have had as many slices
            self._decide()

    def _decide(self) -> None:
        saved = self.without.mean - self.with_it.mean - self.charge
        error = np.sqrt(self.with_it.error() + self.without.error())
        if abs(saved) > CLEAR * error or self.without.total >= MOST_ROWS:
            self.kept = bool(saved > self.doubt * error)
