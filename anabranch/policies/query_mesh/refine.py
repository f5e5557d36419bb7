"""Routes by what all rows tell, cell by cell, once it is known which cells there are.

A sample of a thousand rows has few of each cell. While a classifier is in use, every row that an
operator sees tells of its cell for nothing; so routes are re-ordered and cells re-labelled by these
tallies, each operator's share of passed rows taken as it is where it stands now.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import choose_routes, rank_orders, route_costs
from anabranch.model import Mesh, Route
from anabranch.policies.base import Feedback, Rows
from anabranch.policies.query_mesh.repair import columns_of
from anabranch.stats import CellTally, Reservoir

Floats = NDArray[np.float64]

MOST_ROUTES = 16
# A cell with few rows is believed to be like all rows: this many of these are added to it.
PRIOR_ROWS = 4.0
# A cheaper repair is taken if it saves at most so much less of the cost than the best.
NEARLY = 0.003


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

    def repairs(self, costs: Floats, overhead: float) -> Iterator[tuple[str, Mesh, float]]:
        """Meshes by the tallies, the cheapest repair first, and the share of the cost each saves.

        Re-order: the cells of a route stay together, in another order. Re-label: cells take the
        other routes that there are. Both: the best few routes for all cells.
        """
        known = len(self.tally.known)
        passed, weights = self.tally.get(PRIOR_ROWS)[:known], self.tally.rows[:known]
        if not weights.sum():
            return
        labels, orders = self._labels(), np.array([r.indexes for r in self.mesh.routes])
        cost = _Cost(passed, weights / weights.sum(), costs, overhead)
        now = cost.of(orders, labels)
        mixed = np.array(
            [
                np.average(passed[labels == r], axis=0, weights=weights[labels == r] + 1e-9)
                if (labels == r).any()
                else passed.mean(axis=0)
                for r in range(len(orders))
            ]
        )
        reordered = rank_orders(mixed, costs, self.mesh.query)
        yield "re-order", self._with(reordered, labels), 1 - cost.of(reordered, labels) / now
        relabelled = route_costs(passed, costs, orders).argmin(axis=1)
        yield "re-label", self._with(orders, relabelled), 1 - cost.of(orders, relabelled) / now
        found = choose_routes(passed, weights, costs, self.mesh.query, MOST_ROUTES, overhead)
        best = self._with(found.orders, found.chosen)
        yield "re-order and re-label", best, 1 - cost.of(found.orders, found.chosen) / now

    def repaired(self, costs: Floats, overhead: float) -> tuple[str, Mesh, float]:
        """The cheapest repair that is nearly as good as the best."""
        repairs = list(self.repairs(costs, overhead))
        if not repairs:
            return "", self.mesh, 0.0
        best = max(gain for _, _, gain in repairs)
        return next(repair for repair in repairs if repair[2] >= best - NEARLY)

    def _with(self, orders: Rows, labels: Rows) -> Mesh:
        """The mesh with these routes, those that no cell takes left out, the main one first."""
        rows = np.bincount(labels, self.tally.rows[: len(labels)], len(orders))
        used = [r for r in np.argsort(-rows, kind="stable").tolist() if (labels == r).any()]
        routes: dict[tuple[int, ...], int] = {}
        for r in used:
            routes.setdefault(tuple(orders[r].tolist()), len(routes))
        places = [routes[tuple(orders[r].tolist())] for r in labels]
        assert self.mesh.classifier is not None
        return replace(
            self.mesh,
            routes=tuple(Route.of(self.mesh.query, order) for order in routes),
            classifier=self.mesh.classifier.labelled(
                dict(zip(self.tally.known, places, strict=True))
            ),
        )

    def _labels(self) -> Rows:
        """The route of each known cell."""
        assert self.mesh.classifier is not None
        return self.mesh.classifier.routes_of(self.tally.known)


@dataclass(frozen=True)
class _Cost:
    """Seconds per row, by the selectivities and the share of rows of each cell."""

    passed: Floats
    share: Floats
    costs: Floats
    overhead: float

    def of(self, orders: Rows, labels: Rows) -> float:
        table = route_costs(self.passed, self.costs, orders)
        work = float(self.share @ table[np.arange(len(labels)), labels])
        return work + self.overhead * (len(np.unique(orders[np.unique(labels)], axis=0)) - 1)
