"""What all policies share that measure: rows seen, costs of operators, the usual slice."""

from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from anabranch.model import InputError, Mesh, Operator, Route
from anabranch.policies.base import Feedback, Policy
from anabranch.stats import OperatorCost

# A first call may load a model or compile a regex: its rows count, its time does not. So the first
# slice is a small one.
COLD_ROWS = 50
# Old timings fade by this factor per call, so that a cost that drifts is noticed
# within some tens of batches while one slow call does not turn the order.
COST_MEMORY = 0.95
# Timed calls of an operator, and seconds in all operators' on average, at which its cost is half
# believed.
HALF_CALLS, HALF_SECONDS = 2.0, 0.003


@dataclass
class Measured(Policy):
    """A policy that orders by measured costs."""

    def begin(self, start: Mesh | None) -> None:
        self._fits = [OperatorCost() for _ in self.query.operators]
        self._priors = _priors(self.query.operators, start)
        self._rows = 0
        self._sizes = (0.0, 0.0)  # sums of rows and of rows times batch, fading
        self._called: set[int] = set()
        self._fit_costs: NDArray[np.float64] | None = None  # good until more is measured

    def measure(self, feedback: Feedback) -> None:
        """Take in the timed calls of a slice."""
        self._rows += feedback.rows
        self._fit_costs = None
        # Slices are short at the start only: the batch tells how large they will be.
        size = max(feedback.rows, feedback.batch)
        self._sizes = (
            COST_MEMORY * self._sizes[0] + feedback.rows,
            COST_MEMORY * self._sizes[1] + feedback.rows * size,
        )
        for call in feedback.calls:
            if call.operator in self._called:
                fit = self._fits[call.operator]
                fit.update(call.rows, call.seconds, call.busy, COST_MEMORY)
        self._called |= {call.operator for call in feedback.calls}

    @property
    def slice_rows(self) -> float:
        """The size of the batch that a row finds itself in: a short tail hardly counts."""
        return self._sizes[1] / max(self._sizes[0], 1.0)

    def costs(self) -> NDArray[np.float64]:
        """Seconds per row of each operator: measured, else the prior, else their mean."""
        if self._fit_costs is None:
            self._fit_costs = self._fitted()
        return self._fit_costs.copy()

    def _fitted(self) -> NDArray[np.float64]:
        rows = self.slice_rows
        known = [
            fit.get(rows) or prior for fit, prior in zip(self._fits, self._priors, strict=True)
        ]
        measured = [cost for cost in known if cost is not None]
        mean = sum(measured) / len(measured) if measured else 1.0
        return np.array([max(mean if cost is None else cost, 1e-12) for cost in known])

    @property
    def timed(self) -> bool:
        """Whether anything is known of costs."""
        return any(cost.fit.calls for cost in self._fits) or any(self._priors)

    def cautious_costs(self) -> NDArray[np.float64]:
        """The costs, drawn to their median as long as little was timed.

        Two short calls of a cheap operator can differ tenfold. Believed at once, that would put an
        operator behind all others for rows that only it drops.
        """
        costs = self.costs()
        fits = [cost.fit for cost in self._fits]
        seconds = sum(fit.seconds for fit in fits) / len(fits)
        timed = seconds / (seconds + HALF_SECONDS)
        seen = [min(fit.calls / (fit.calls + HALF_CALLS), timed) for fit in fits]
        told = zip(seen, self._priors, strict=True)
        trust = np.array([share if known is None else 1.0 for share, known in told])
        middle = median(costs.tolist())
        return np.asarray(middle * (costs / middle) ** trust)

    def fixed_cost(self) -> float:
        """Seconds that calling every operator once costs, whatever the rows."""
        return sum(cost.fit.fixed for cost in self._fits)

    def rows_to_hide(self, share: float) -> float:
        """Rows of a call to each operator of which the fixed cost is only this share."""
        each = sum(cost.fit.per_row for cost in self._fits)
        return self.fixed_cost() / share / each if each > 0 else 0.0

    def work(self, feedback: Feedback) -> NDArray[np.float64]:
        """Evaluations per row of each operator, what profiling added left out."""
        work = np.zeros(len(self.query))
        for call in feedback.calls:
            work[call.operator] += call.rows - call.extra
        return work / feedback.rows

    def names(self, order: tuple[int, ...]) -> tuple[str, ...]:
        return Route.of(self.query, order).order


def _priors(operators: tuple[Operator, ...], start: Mesh | None) -> list[float | None]:
    figures = start.figures if start else {}
    return [figures.get(o.name, {}).get("cost") or o.cost for o in operators]


def check_share(name: str, value: object) -> None:
    """Refuse a share outside (0, 1]."""
    if not isinstance(value, int | float) or not 0 < value <= 1:
        raise InputError(f"{name} is a share above 0 and at most 1, got {value!r}")


def check_rows(name: str, value: object, of: str = " of rows") -> None:
    """Refuse a count below 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} is a number{of}, at least 1, got {value!r}")
