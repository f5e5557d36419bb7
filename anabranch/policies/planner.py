"""From selectivities, overall and per partition, to a mesh of a few routes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from anabranch.cost import choose_routes, promoted, rank_orders, route_costs
from anabranch.model import Cells, Mesh, Pairing, Partition, Query, Route, combine
from anabranch.policies.base import Floats, Rows
from anabranch.policies.pairs import Paired
from anabranch.policies.register import Register

# Routes at most, and cells told apart at most.
MOST_ROUTES = 16
MOST_CELLS = 256
# A cell with few rows is believed to be like all rows: this many of these are added to it.
PRIOR_ROWS = 4.0


ByOperator = Mapping[int, Paired]


@dataclass
class Planner:
    """Plans by what is known now: overall selectivities W, costs, and pairs with their S."""

    query: Query
    register: Register
    overall: Floats
    costs: Floats
    overhead: float  # seconds per row that a further route costs

    def build(self, pairs: ByOperator) -> Mesh:
        """The plan for these pairs: cells, the selectivities in each, and a few routes."""
        partitions = _partitions(pairs)
        cells, weights, codes = self.register.cells(partitions, MOST_CELLS)
        if not len(cells):
            order = rank_orders(self.overall[None], self.costs, self.query)[0]
            return Mesh(self.query, (Route.of(self.query, tuple(order.tolist())),))
        passed = self._by_cell(pairs, partitions, codes)
        routes = choose_routes(passed, weights, self.costs, self.query, MOST_ROUTES, self.overhead)
        chosen = zip(cells.tolist(), routes.chosen.tolist(), strict=True)
        table = tuple((cell, route) for cell, route in chosen if route)
        pairings = tuple(
            Pairing(
                self.query.names[operator],
                partitions.index(paired.partition),
                tuple(paired.selectivity.get().round(6).tolist()),
            )
            for operator, paired in sorted(pairs.items())
        )
        orders = tuple(Route.of(self.query, tuple(o.tolist())) for o in routes.orders)
        return Mesh(self.query, orders, {}, Cells(partitions, table, pairings))

    def _by_cell(self, pairs: ByOperator, partitions: tuple[Partition, ...], codes: Rows) -> Floats:
        """Selectivities of all operators in each cell: S where there is a pair, else W."""
        passed = np.tile(self.overall, (len(codes), 1))
        for operator, paired in pairs.items():
            known, rows = paired.selectivity.get(), paired.selectivity.rows
            prior = self.overall[operator] * PRIOR_ROWS
            shrunk = (known * rows + prior) / (rows + PRIOR_ROWS)
            passed[:, operator] = shrunk[codes[:, partitions.index(paired.partition)]]
        return passed

    def expected(self, mesh: Mesh, pairs: ByOperator, first: int | None = None) -> float:
        """Mean cost of a row under a plan, with an operator first if one is given."""
        own = mesh.classifier.partitions if isinstance(mesh.classifier, Cells) else ()
        partitions = tuple(dict.fromkeys((*_partitions(pairs), *own)))
        cells, weights, codes = self.register.cells(partitions, MOST_CELLS)
        routes = [route.indexes for route in mesh.routes]
        if first is not None:
            routes = [promoted(route, first, self.query) for route in routes]
        orders = np.array(routes)
        if not len(cells):
            return float(route_costs(self.overall[None], self.costs, orders)[0, 0])
        table = route_costs(self._by_cell(pairs, partitions, codes), self.costs, orders)
        chosen = _routes_of(mesh, partitions, codes)
        return float(np.average(table[np.arange(len(cells)), chosen], weights=weights))


def _partitions(pairs: ByOperator) -> tuple[Partition, ...]:
    return tuple(dict.fromkeys(paired.partition for paired in pairs.values()))


def _routes_of(mesh: Mesh, partitions: tuple[Partition, ...], codes: Rows) -> Rows:
    """The route that a plan gives each cell."""
    if not isinstance(mesh.classifier, Cells):
        return np.zeros(len(codes), np.int64)
    own = mesh.classifier.partitions
    mine = [codes[:, partitions.index(p)] for p in own]
    cells = combine(mine, [p.size for p in own], len(codes))
    table = dict(mesh.classifier.table)
    return np.array([table.get(cell, 0) for cell in cells.tolist()])
