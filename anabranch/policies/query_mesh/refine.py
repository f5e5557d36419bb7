"""Routes by what all rows tell, cell by cell, once it is known which cells there are.

A sample of a thousand rows has few of each cell. While a classifier is in use, every row that an
operator sees tells of its cell for nothing; so routes are re-ordered and cells re-labelled by these
tallies, each operator's share of passed rows taken as it is where it stands now.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import choose_routes, rank_orders, route_costs
from anabranch.model import Mesh, Query, Route
from anabranch.policies.base import Feedback, Rows
from anabranch.policies.query_mesh.repair import classified
from anabranch.stats import CellTally, Reservoir
from anabranch.stats.thinned import thinned

Floats = NDArray[np.float64]

MOST_ROUTES = 16
# A cell with few rows is believed to be like all rows: this many of these are added to it.
PRIOR_ROWS = 4.0
# A cheaper repair is taken if it saves at most so much less of the cost than the best.
NEARLY = 0.003
# Rows of a call that are counted: more would tell no more.
MOST_TALLIED = 4_000


class Refinement:
    """The tallies of a mesh's cells, and the routes that they suggest.

    Rows are counted in two halves. Routes that one half suggests are costed by the other, or chance
    would look like a saving.
    """

    def __init__(self, mesh: Mesh, known: tuple[int, ...]) -> None:
        self.mesh = mesh
        self._halves = [CellTally(known, len(mesh.query)) for _ in range(2)]
        self._random = np.random.default_rng(0)

    @classmethod
    def of(cls, mesh: Mesh, sample: Reservoir) -> "Refinement":
        """Begin with what a sample would have told under the mesh."""
        told = classified(mesh, sample)
        made = cls(mesh, tuple(np.unique(told.cells).tolist()))
        for half, tally in enumerate(made._halves):
            mine = np.arange(len(sample)) % 2 == half
            tally.count(told.cells[mine])
            for place, route in enumerate(mesh.routes):
                alive = np.flatnonzero((told.routes == place) & mine)
                for operator in route.indexes:
                    passed = ~sample.bits[alive, operator]
                    tally.update(operator, told.cells[alive], passed)
                    alive = alive[passed]
        return made

    @classmethod
    def blank(cls, mesh: Mesh) -> "Refinement":
        """Begin with nothing, for a mesh that a run begins with."""
        assert mesh.celled is not None
        return cls(mesh, mesh.celled.known_cells)

    def clear(self) -> None:
        """Forget all rows: the data is not what it was."""
        for tally in self._halves:
            tally.clear()

    def remember(self, rows: float) -> None:
        """Let rows fade when so many more have come."""
        for tally in self._halves:
            tally.memory = rows / 2

    def update(self, feedback: Feedback) -> None:
        """Rows went by under a plan with the mesh's classifier."""
        cells = feedback.cells
        if not len(cells):
            return
        # Row by row, by lot: of few slices one half could have all, and rows may come in turns.
        second = self._random.integers(0, 2, len(cells), np.uint8).astype(bool)
        visits = [
            (visit.operator, *thinned(self._random, MOST_TALLIED, visit.rows, visit.passed))
            for visit in feedback.visits
        ]
        rows, passed = (np.concatenate(each) for each in list(zip(*visits, strict=True))[1:])
        # All visits at once: a slice may have few rows and dozens of visits.
        operators = np.repeat([v[0] for v in visits], [len(v[1]) for v in visits])
        for half, tally in enumerate(self._halves):
            mine = second[rows] == half
            tally.count(cells[second == half])
            tally.update(operators[mine], cells[rows[mine]], passed[mine])

    def repaired(self, costs: Floats, overhead: float) -> tuple[str, Mesh, float]:
        """The cheapest repair that is nearly as good as the best, and the share that it saves."""
        whole = self._view(self._halves[0].merge(self._halves[1]), costs, overhead)
        halves = [self._view(tally, costs, overhead) for tally in self._halves]
        if not all(half.rows.sum() for half in halves):
            return "", self.mesh, 0.0
        now = sum(half.cost(half.orders, half.labels) for half in halves)
        gains = {}
        # Of one route, another order is A-Greedy's business.
        repairs = REPAIRS if len(self.mesh.routes) > 1 else {BOTH: _both}
        for name, repair in repairs.items():
            fitted = [repair(half) for half in halves]
            then = halves[0].cost(*fitted[1]) + halves[1].cost(*fitted[0])
            gains[name] = 1 - then / now
        best = max(gains.values())
        name = next(name for name, gain in gains.items() if gain >= best - NEARLY)
        return name, self._with(*REPAIRS[name](whole)), gains[name]

    def _view(self, tally: CellTally, costs: Floats, overhead: float) -> "_View":
        assert self.mesh.celled is not None
        return _View(
            self.mesh.query,
            tally.get(PRIOR_ROWS),
            tally.rows,
            costs,
            overhead,
            np.array([route.indexes for route in self.mesh.routes]),
            np.append(self.mesh.celled.routes_of(tally.known), 0),  # cells not known take the first
        )

    def _with(self, orders: Rows, labels: Rows) -> Mesh:
        """The mesh with these routes, those that no cell takes left out.

        The first is the route of cells that are not known, or if there are none the main one.
        """
        counted = self._halves[0].rows + self._halves[1].rows
        rows = np.bincount(labels, counted, len(orders))
        if counted[-1]:
            rows[labels[-1]] = np.inf
        labels = labels[:-1]
        routes: dict[tuple[int, ...], int] = {}
        for r in np.argsort(-rows, kind="stable").tolist():
            if (labels == r).any() or rows[r] == np.inf:
                routes.setdefault(tuple(orders[r].tolist()), len(routes))
        places = [routes[tuple(orders[r].tolist())] for r in labels]
        known = self._halves[0].known
        assert self.mesh.celled is not None
        return replace(
            self.mesh,
            routes=tuple(Route.of(self.mesh.query, order) for order in routes),
            classifier=self.mesh.celled.labelled(dict(zip(known, places, strict=True))),
            reasons=(),
        )


@dataclass(frozen=True)
class _View:
    """Cells by some of the rows: share passed by each operator, rows, and the routes in force."""

    query: Query
    passed: Floats
    rows: Floats
    costs: Floats
    overhead: float
    orders: Rows
    labels: Rows  # cell -> route

    def cost(self, orders: Rows, labels: Rows) -> float:
        """Seconds per row."""
        table = route_costs(self.passed, self.costs, orders)
        share = self.rows / self.rows.sum()
        work = float(share @ table[np.arange(len(labels)), labels])
        return work + self.overhead * (len(np.unique(orders[np.unique(labels)], axis=0)) - 1)


def _reorder(view: _View) -> tuple[Rows, Rows]:
    """The cells of a route stay together, in another order."""
    mixed = np.zeros((len(view.orders), len(view.query)))
    for route in range(len(view.orders)):
        weights = np.where(view.labels == route, view.rows, 0.0) + 1e-9
        mixed[route] = np.average(view.passed, axis=0, weights=weights)
    return rank_orders(mixed, view.costs, view.query), view.labels


def _relabel(view: _View) -> tuple[Rows, Rows]:
    """Cells take others of the routes that there are."""
    return view.orders, route_costs(view.passed, view.costs, view.orders).argmin(axis=1)


def _both(view: _View) -> tuple[Rows, Rows]:
    """The best few routes for all cells."""
    rows = np.maximum(view.rows, 1e-9)
    found = choose_routes(view.passed, rows, view.costs, view.query, MOST_ROUTES, view.overhead)
    return found.orders, found.chosen


# The cheapest comes first.
BOTH = "re-order and re-label"
REPAIRS: dict[str, Callable[[_View], tuple[Rows, Rows]]] = {
    "re-order": _reorder,
    "re-label": _relabel,
    BOTH: _both,
}
