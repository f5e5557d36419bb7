"""What Content-Learns knows: selectivities W and S, costs, pairs, and the rows profiled."""

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from anabranch.model import Cells, Mesh, Query
from anabranch.policies.base import Feedback, Floats
from anabranch.policies.pairs import Pairs
from anabranch.policies.planner import Planner
from anabranch.policies.register import Register
from anabranch.stats import RoutingCost, Selectivity

# Rows that the overall selectivity of a plan to begin with counts for.
RESUMED_ROWS = 150


@dataclass
class Knowledge:
    """Statistics of one query's operators and attributes, as rows pass."""

    query: Query
    register: Register
    alpha: float
    pairs: Pairs = field(init=False)
    overall: Selectivity = field(init=False)  # W, one part per operator
    costs: Floats = field(init=False)  # seconds per row of each operator
    routing: RoutingCost = field(default_factory=RoutingCost)

    def __post_init__(self) -> None:
        self.pairs = Pairs(self.query)
        self.overall = Selectivity(len(self.query), self.alpha)
        self.costs = np.ones(len(self.query))

    @property
    def passed(self) -> Floats:
        """Share of the rows that each operator passes, of those that come to it."""
        return self.overall.get()

    def resume(self, start: Mesh) -> None:
        """Begin with the pairs and selectivities of a plan."""
        rows, passed = np.zeros((2, len(self.query)))
        for name, figures in start.figures.items():
            rows[self.query.index(name)] = RESUMED_ROWS
            passed[self.query.index(name)] = figures["passed"] * RESUMED_ROWS
        self.overall = Selectivity.of(rows, passed, self.alpha, 0.5)
        if isinstance(start.classifier, Cells):
            self.pairs.resume(start.classifier, self.alpha)

    def tally(self, feedback: Feedback, mesh: Mesh) -> None:
        """Update W and S with what the operators passed under a plan."""
        rows, passed = np.zeros((2, len(self.query)), np.int64)
        for call in feedback.calls:
            rows[call.operator] += call.rows
            passed[call.operator] += call.passed
        self.overall.update(rows, passed)
        if isinstance(mesh.classifier, Cells) and feedback.codes:
            self.routing.update(feedback.rows, feedback.routing)
            self.pairs.tally(mesh.classifier, feedback)

    def collect(self, feedback: Feedback, operators: Collection[int]) -> None:
        """Register the profiled rows for these operators."""
        values = feedback.profiled_values([a.name for a in self.query.attributes])
        met = np.zeros(feedback.passed.shape, bool)
        chosen = list(operators)
        met[:, chosen] = feedback.passed[:, chosen] | feedback.dropped[:, chosen]
        self.register.update(values, feedback.passed, met, self.pairs.partitions)

    def begin_overall(self) -> None:
        """Take W from the rows profiled: before them every operator saw few."""
        operators = range(len(self.query))
        rows = np.array([self.register.rows(o) for o in operators])
        passed = rows * np.array([self.register.passed(o) for o in operators])
        self.overall = Selectivity.of(rows, passed, self.alpha, 0.5)

    def forget(self) -> None:
        """Drop all pairs and the evidence for them."""
        self.pairs.clear()
        self.register.clear()

    def planner(self, overhead: float) -> Planner:
        """Plans by what is known now; a further route costs `overhead` seconds per row."""
        return Planner(self.query, self.register, self.passed, self.costs, overhead)
