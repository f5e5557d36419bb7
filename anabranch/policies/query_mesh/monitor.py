"""Readings of a mesh in use: the cost and the selectivities of each route, chunk by chunk."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anabranch.model import Mesh
from anabranch.policies.base import Feedback

Floats = NDArray[np.float64]

# Rows of a route that make a reading, and rows that an operator must have met for one of its own.
CHUNK_ROWS, LEAST_MET = 1_000, 100
# A share is taken to spread at least as one this far from 0 and 1 would, and a cost by at least
# this share of it: a first chunk whose rows all end alike says little of the next.
LEAST_SHARE, LEAST_SPREAD = 0.02, 0.15
COST = "cost"
# The number of no route: a reading of all rows.
ALL = -1
# Of all rows together no order is known: the spread of what a row costs, as a share of the mean.
ALL_SPREAD = 0.6


@dataclass(frozen=True)
class Reading:
    """The cost of a row, or the share that an operator passes, on one route.

    `value` is in standard errors of a chunk, so that readings of all kinds move alike by chance.
    """

    route: int
    what: str  # COST, or an operator's name
    value: float


@dataclass
class _Chunk:
    """Rows of one route: how many, and how many came to and passed each operator."""

    rows: int
    met: Floats
    passed: Floats


@dataclass
class Monitor:
    """Collects the rows of each route into chunks and reads them.

    Costs are weighed as they were when the mesh came into use: how busy the machine is does not
    matter.
    """

    mesh: Mesh
    costs: Floats
    _chunks: dict[int, _Chunk] = field(default_factory=dict)
    _scales: dict[tuple[int, str], float] = field(default_factory=dict)

    def update(self, feedback: Feedback) -> list[Reading]:
        """Add a slice; the readings of routes that have enough rows now."""
        count, size = len(self.mesh.routes), len(self.mesh.query)
        routes = feedback.routes
        single = not len(routes)
        ordinary = np.ones(feedback.rows, bool)
        ordinary[feedback.profiled] = False
        rows = [int(ordinary.sum())] if single else np.bincount(routes[ordinary], minlength=count)
        met, passed = np.zeros((2, count, size))
        for visit in feedback.visits:
            mine = ordinary[visit.rows]
            seen, fine = visit.rows[mine], visit.passed[mine]
            if single:
                met[0, visit.operator] += len(seen)
                passed[0, visit.operator] += int(fine.sum())
            else:
                met[:, visit.operator] += np.bincount(routes[seen], minlength=count)
                passed[:, visit.operator] += np.bincount(routes[seen[fine]], minlength=count)
        readings = []
        if count > 1:  # all together as well: a chunk of them is soon full
            rows = [*rows, sum(rows)]
            met, passed = (np.vstack([each, each.sum(axis=0)]) for each in (met, passed))
        for place in range(len(rows)):
            route = place if place < count else ALL
            chunk = self._chunks.setdefault(route, _Chunk(0, np.zeros(size), np.zeros(size)))
            chunk.rows += int(rows[place])
            chunk.met += met[place]
            chunk.passed += passed[place]
            if chunk.rows >= CHUNK_ROWS:
                readings += self._read(route, chunk)
                del self._chunks[route]
        return readings

    def _read(self, route: int, chunk: _Chunk) -> list[Reading]:
        cost = float(chunk.met @ self.costs) / chunk.rows
        readings = [self._scaled(route, COST, cost, self._spread(route, chunk, cost), chunk.rows)]
        for operator, name in enumerate(self.mesh.query.names):
            met = chunk.met[operator]
            if met >= LEAST_MET:
                share = float(chunk.passed[operator] / met)
                middle = float(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))
                spread = float(np.sqrt(middle * (1 - middle)))
                readings.append(self._scaled(route, name, share, spread, float(met)))
        return readings

    def _spread(self, route: int, chunk: _Chunk, cost: float) -> float:
        """Standard deviation of what a row costs, by how far the rows of the chunk got."""
        if route == ALL:
            return ALL_SPREAD * cost
        order = list(self.mesh.routes[route].indexes)
        reached = np.append(chunk.met[order], 0.0)
        ended = np.maximum(reached[:-1] - reached[1:], 0.0)
        costs = np.cumsum(self.costs[order])
        spread = float(np.sqrt(ended @ (costs - cost) ** 2 / max(ended.sum(), 1.0)))
        return max(spread, LEAST_SPREAD * cost)

    def _scaled(self, route: int, what: str, value: float, spread: float, rows: float) -> Reading:
        # The first chunk sets the scale: a spread that moves must not hide a value that moves.
        error = max(spread / np.sqrt(rows), 1e-12)
        scale = self._scales.setdefault((route, what), error)
        return Reading(route, what, value / scale)
