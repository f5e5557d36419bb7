"""Eddy: source-based routing by the selectivity of each operator on the rows it saw lately.

R. Avnur, J. Hellerstein: Eddies, SIGMOD 2000, in the form that content-based routing (Bizarro,
Babu, DeWitt, Widom, VLDB 2005, Section 4.2) starts from and calls SBR. Content plays no role.

>>> from anabranch.model import Operator, Query
>>> learner = Eddy().bind(Query((Operator("a"), Operator("b"))))
>>> len(learner.plan().routes)  # eight draws, dealt out to the rows
8
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from anabranch.cost import rank_orders
from anabranch.model import InputError, Lottery, Mesh, Route
from anabranch.policies.base import Event, Feedback, Floats, Sampling
from anabranch.policies.measured import COLD_ROWS, Measured
from anabranch.stats import Selectivity

# Routes drawn per slice of rows. Every row has the chances of a lottery of its own; rows of a slice
# share draws, so that operators are called on many rows at once.
DRAWS = 8
# An operator that dropped all rows it saw gets the tickets of one that passes this share.
LEAST_PASSED = 0.01
# Rows after which a first estimate is used.
FIRST_ROWS = 250


@dataclass
class Eddy(Measured):
    """Route by overall selectivity, measured on the rows as they pass.

    Parameters
    ----------
    routing
        `"lottery"`: at every hop an operator is drawn with a chance in inverse proportion to its
        selectivity (and its cost). `"minimum"`: always the operator that drops most per cost.
    alpha
        Memory of the selectivities. The paper's 0.95 remembers 20 rows, which suits an Eddy that
        decides row by row; here a decision holds for a slice, so the default remembers 1,000.
    seed
        For the lottery.
    """

    name: ClassVar[str] = "eddy"
    summary: ClassVar[str] = "Eddy (SBR): a lottery by overall selectivity, no profiling"
    routing: Literal["lottery", "minimum"] = "lottery"
    alpha: float = 0.999
    seed: int = 0

    def __post_init__(self) -> None:
        if self.routing not in ("lottery", "minimum"):
            raise InputError(f'routing is "lottery" or "minimum", got {self.routing!r}')
        check_alpha(self.alpha)

    def begin(self, start: Mesh | None) -> None:
        super().begin(start)
        self._selectivity = [Selectivity(1, self.alpha) for _ in self.query.operators]
        self._random = np.random.default_rng(self.seed)
        written = Mesh.single(self.query, self.query.written())
        self._order = (start or written).routes[0].indexes
        for name, figures in (start.figures if start else {}).items():
            known = self._selectivity[self.query.index(name)]
            known.update(np.array([FIRST_ROWS]), np.array([figures["passed"] * FIRST_ROWS]))
        self._mesh = start or self._draw()

    def passed(self) -> Floats:
        """The overall selectivities W."""
        return np.array([float(s.get()[0]) for s in self._selectivity])

    def plan(self) -> Mesh:
        return self._mesh

    def main_order(self) -> tuple[str, ...]:
        return self.names(self._order)

    def sampling(self) -> Sampling:
        if len(self.query) < 2:
            return Sampling()
        if self._rows < COLD_ROWS:
            return Sampling(rows=COLD_ROWS)
        return Sampling(rows=FIRST_ROWS if self._rows < COLD_ROWS + FIRST_ROWS else None)

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        if not feedback.rows or len(self.query) < 2:
            return ()
        self.measure(feedback)
        for call in feedback.calls:
            known = self._selectivity[call.operator]
            known.update(np.array([call.rows]), np.array([call.passed]))
        before, costs = self._order, self.cautious_costs()
        self._order = tuple(rank_orders(self.passed()[None], costs, self.query)[0].tolist())
        self._mesh = self._draw()
        if before == self._order or self.routing == "lottery":
            return ()
        reach = sum(call.rows * costs[call.operator] for call in feedback.calls) / feedback.rows
        change = self.names(before), self.names(self._order)
        return (Event("switch", self._rows, *change, float(reach)),)

    def _draw(self) -> Mesh:
        if self.routing == "minimum" or len(self.query) < 2:
            return Mesh.single(self.query, self.names(self._order))
        tickets = 1 / (np.maximum(self.passed(), LEAST_PASSED) * self.cautious_costs())
        orders = (self._lots(tickets) for _ in range(DRAWS))
        routes = tuple(Route.of(self.query, order) for order in orders)
        return Mesh(self.query, routes, classifier=Lottery(DRAWS))

    def _lots(self, tickets: Floats) -> tuple[int, ...]:
        """Draw operator after operator, without putting back."""
        order: list[int] = []
        while len(order) < len(self.query):
            able = self.query.eligible(order)
            chances = tickets[able] / tickets[able].sum()
            order.append(int(self._random.choice(able, p=chances)))
        return tuple(order)


def check_alpha(alpha: object) -> None:
    """Refuse a memory outside (0, 1)."""
    if not isinstance(alpha, float) or not 0 < alpha < 1:
        raise InputError(f"alpha is a factor above 0 and below 1, got {alpha!r}")
