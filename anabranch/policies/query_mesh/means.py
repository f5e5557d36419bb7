"""What rows, sampled rows, classifying and further routes cost, as measured."""

from dataclasses import dataclass, field

import numpy as np

from anabranch.model import Mesh
from anabranch.policies.agreedy import AGreedy
from anabranch.policies.base import Feedback, Floats
from anabranch.policies.query_mesh.allowance import Allowance
from anabranch.policies.query_mesh.repair import expected
from anabranch.stats import Reservoir, RoutingCost

# Calls that a ruster of its own costs: others wait for the same operators. The most rows asked of
# one.
EXTRA_CALLS, LARGEST_RUSTER = 2, 1_000
# A mesh must be expected to save this share of the cost of the plan in force to be tried.
WORTH_TRYING = 0.01


@dataclass
class Means:
    """Kept from slice to slice; the operators are timed by the stage of one route."""

    single: AGreedy
    costs: Floats = field(init=False)  # seconds per row of each operator
    row: float = 0.0  # seconds that a row takes
    extra: float = 0.0  # seconds to evaluate a sampled row by all that would not see it
    _routing: RoutingCost = field(default_factory=RoutingCost)

    def __post_init__(self) -> None:
        self.costs = np.ones(len(self.single.query))

    def update(self, feedback: Feedback, allowance: Allowance, promised: float | None) -> None:
        """A slice is over; what it took is earned and paid.

        `promised` are the seconds that a row takes from now on, if there is a new order.
        """
        self.costs = self.single.cautious_costs()
        extra = np.zeros(len(self.costs))
        for call in feedback.calls:
            extra[call.operator] += call.extra
        self.row = float(self.single.work(feedback) @ self.costs)
        self.extra = max(float(self.costs.sum()) - self.row, 0.0)
        if len(feedback.cells):
            self._routing.update(feedback.rows, feedback.routing)
        if not self.single.beginning:
            # What nothing was timed of yet has no cost to speak of: no more was earned than spent.
            useful = min(self.row * feedback.rows, feedback.spent)
            paid = min(float(extra @ self.costs), feedback.spent)
            row = self.row if promised is None else min(self.row, promised)
            allowance.earn(useful, paid, feedback.spent, row)

    @property
    def batch(self) -> float:
        """Rows of a usual batch."""
        return max(self.single.slice_rows, 1.0)

    @property
    def call(self) -> float:
        """Seconds that a call of an operator costs, whatever the rows."""
        return self.single.fixed_cost() / max(len(self.costs), 1)

    def least_ruster(self, saved: float) -> int:
        """Rows of a batch that save what the calls of a ruster of its own cost."""
        return int(min(EXTRA_CALLS * self.call / saved, LARGEST_RUSTER)) if saved > 0 else 0

    def in_slice(self, rows: int | None, least: int) -> int:
        """So many rows of a batch, in a slice: a short one has fewer rows of every route."""
        return int(min((rows or self.batch) / self.batch, 1.0) * least)

    def promises(self, mesh: Mesh, now: Mesh, sample: Reservoir, classified: bool) -> bool:
        """Whether a sample expects a mesh to be better than the plan in force.

        `classified` says whether rows are classified under that, too.
        """
        before, after = (expected(plan, sample, self.costs) for plan in (now, mesh))
        return after + (0.0 if classified else self.classifying) < (1 - WORTH_TRYING) * before

    @property
    def classifying(self) -> float:
        """Seconds per row."""
        return self._routing.get(self.batch)

    @property
    def overhead(self) -> float:
        """Seconds per row that a further route costs: one more call, spread over a batch."""
        return self.call / self.batch
