"""Routes by what all rows tell, cell by cell, once it is known which cells there are.

A sample of a thousand rows has few of each cell. While a classifier is in use, every row that an
operator sees tells of its cell for nothing; so routes are re-ordered and cells re-labelled by these
tallies, each operator's share of passed rows taken as it is where it stands now.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import choose_routes, route_costs
from anabranch.model import Mesh, Query, Route
from anabranch.policies.base import Feedback, Rows
from anabranch.policies.query_mesh.repair import columns_of
from anabranch.stats import CellTally, Reservoir

Floats = NDArray[np.float64]

MOST_ROUTES = 16
# A cell with few rows is believed to be like all rows: this many of these are added to it.
PRIOR_ROWS = 4.0


@dataclass
class Refinement:
    """The tallies of a mesh's cells, and the routes that they suggest."""

    mesh: Mesh
    tally: CellTally

    @classmethod
    def of(cls, mesh: Mesh, sample: Reservoir) -> "Refinement":
        """Begin with what a sample would have told under the mesh."""
        assert mesh.classifier is not None
        columns = columns_of(mesh.query, sample)
        told = mesh.classifier.classify(columns, len(sample), np.random.default_rng(0))
        known = tuple(np.unique(told.cells).tolist())
        made = cls(mesh, CellTally(known, len(mesh.query)))
        made.tally.count(told.cells)
        for place, route in enumerate(mesh.routes):
            alive = np.flatnonzero(told.routes == place)
            for operator in route.indexes:
                passed = ~sample.bits[alive, operator]
                made.tally.update(operator, told.cells[alive], passed)
                alive = alive[passed]
        return made

    def update(self, feedback: Feedback) -> None:
        """Rows went by under a plan with the mesh's classifier."""
        if not len(feedback.cells):
            return
        self.tally.count(feedback.cells)
        for visit in feedback.visits:
            self.tally.update(visit.operator, feedback.cells[visit.rows], visit.passed)

    def refined(self, costs: Floats, overhead: float) -> tuple[Mesh, float]:
        """The mesh with the best routes by the tallies, and the share of the cost it saves."""
        query, known = self.mesh.query, len(self.tally.known)
        passed, weights = self.tally.get(PRIOR_ROWS)[:known], self.tally.rows[:known]
        found = choose_routes(passed, weights, costs, query, MOST_ROUTES, overhead)
        chosen = zip(self.tally.known, found.chosen.tolist(), strict=True)
        assert self.mesh.classifier is not None
        mesh = replace(
            self.mesh,
            routes=tuple(_route(query, order) for order in found.orders),
            classifier=self.mesh.classifier.labelled(dict(chosen)),
        )
        now = self._cost(passed, weights, costs) + overhead * (len(self.mesh.routes) - 1)
        then = found.cost + overhead * (len(mesh.routes) - 1)
        return mesh, 1 - then / now if now > 0 else 0.0

    def _cost(self, passed: Floats, weights: Floats, costs: Floats) -> float:
        orders = np.array([route.indexes for route in self.mesh.routes])
        table = route_costs(passed, costs, orders)
        routes = self._routes()
        return float(np.average(table[np.arange(len(routes)), routes], weights=weights))

    def _routes(self) -> Rows:
        """The route of each known cell."""
        assert self.mesh.classifier is not None
        return self.mesh.classifier.routes_of(self.tally.known)


def _route(query: Query, order: Rows) -> Route:
    return Route.of(query, tuple(order.tolist()))
