"""Keep or drop: is routing with something measurably cheaper than without? (CBR, Section 4.1)

The paper measures throughput with and without a new operator-attribute pair. Here slices of rows
take turns under the two plans, longer and longer ones, until the difference is clear.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

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
    """Evaluations under one of the plans, over slices.

    They are kept by operator and weighed at the end: the estimate of what an operator costs may
    move while the trial runs, and must not favour the plan that ran when it was low.
    """

    rows: list[int] = field(default_factory=list)
    work: list[Floats] = field(default_factory=list)  # evaluations per row, by operator

    @property
    def total(self) -> int:
        return sum(self.rows)

    def mean(self, costs: Floats) -> float:
        """Seconds per row."""
        return float(np.average(np.array(self.work) @ costs, weights=self.rows))

    def error(self, costs: Floats) -> float:
        """Squared standard error of the mean."""
        mean = self.mean(costs)
        spread = 0.0
        if len(self.rows) > 1:
            deviations = np.array(self.rows) * (np.array(self.work) @ costs - mean) ** 2
            spread = float(deviations.sum()) / (len(self.rows) - 1)
        return max((LEAST_SPREAD * mean) ** 2, spread) / self.total


@dataclass
class Trial:
    """Slices in turns: with, without, with, without ...

    Examples
    --------
    >>> trial, costs = Trial(), np.array([1.0, 2.0])
    >>> trial.turn, trial.slice_rows
    ('with', 200)
    >>> trial.update(200, np.array([1.0, 0.1]), costs); trial.turn
    'without'
    >>> trial.update(100, np.array([1.0, 0.9]), costs); trial.kept, round(trial.saved, 1)
    (True, 1.6)
    """

    with_it: Arm = field(default_factory=Arm)
    without: Arm = field(default_factory=Arm)
    kept: bool | None = None  # None until decided
    saved: float = 0.0  # seconds per row
    clear: bool = False  # whether the difference is beyond doubt
    doubt: float = DOUBT
    audit: bool = False  # of pairs in use, not of new ones
    most_rows: int = MOST_ROWS
    patient: bool = False

    @property
    def turn(self) -> str:
        return "with" if len(self.with_it.rows) <= len(self.without.rows) else "without"

    @property
    def slice_rows(self) -> int:
        rows = min(LONGEST_SLICE, int(FIRST_SLICE * GROWTH ** len(self.without.rows)))
        # What is tried will probably be kept: most rows go that way.
        return rows if self.turn == "without" else ADVANTAGE * rows

    def update(self, rows: int, work: Floats, costs: Floats, charge: float = 0.0) -> None:
        """Add a slice that was run under the plan whose turn it was.

        `work` are the evaluations per row of each operator, `costs` what one costs now, `charge`
        what classifying a row costs.
        """
        arm = self.with_it if self.turn == "with" else self.without
        arm.rows.append(rows)
        arm.work.append(work)
        if self.turn == "with":  # both have had as many slices
            self._decide(costs, charge)

    def _decide(self, costs: Floats, charge: float) -> None:
        self.saved = self.without.mean(costs) - self.with_it.mean(costs) - charge
        error = np.sqrt(self.with_it.error(costs) + self.without.error(costs))
        self.clear = bool(abs(self.saved) > CLEAR * error)
        # What was good so far is not given up after a few short slices.
        early = self.patient and self.saved < 0 and self.without.total < MOST_ROWS
        if (self.clear and not early) or self.without.total >= self.most_rows:
            self.kept = bool(self.saved > self.doubt * error)
