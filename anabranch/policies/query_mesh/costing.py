"""What a configuration costs (Query Mesh, Equation 2), subset by subset."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import BestOrders
from anabranch.model import Query
from anabranch.policies.query_mesh.lattice import Configuration, Subset
from anabranch.policies.query_mesh.training import Training

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Costed:
    """A subset of the training tuples: its best route and its cost."""

    route: tuple[int, ...]
    cost: float  # seconds per row of the subset, times its share of the rows


@dataclass
class Costing:
    """Costs configurations; what was found for a subset is kept, so that a move is cheap.

    Equation 2: the sum over the routes of f * (c(r) + c(DT)) plus OVH per route. Classifying costs
    nothing where there is one route. A route is chosen by some of the sampled rows and costed by
    the others, and the other way round, and what it saves over the route for all counts less by
    `doubt` standard errors: of many configurations some look good by chance.

    Parameters
    ----------
    training
        The condensed sample.
    costs
        Seconds per row of each operator.
    classifying
        Seconds to classify a row.
    overhead
        OVH, seconds per row that a further route costs.
    doubt
        Standard errors by which a route of its own must be better.
    """

    query: Query
    training: Training
    costs: Floats
    classifying: float = 0.0
    overhead: float = 0.0
    doubt: float = 0.0
    _known: dict[Subset, Costed] = field(default_factory=dict, repr=False)

    @property
    def subsets(self) -> int:
        """How many subsets were costed."""
        return len(self._known)

    def subset(self, members: Subset) -> Costed:
        """The best route of a subset and its cost."""
        if members not in self._known:
            self.prepare([members])
        return self._known[members]

    def prepare(self, subsets: Iterable[Subset]) -> None:
        """Cost many subsets, those not known yet, at once."""
        fresh = [members for members in dict.fromkeys(subsets) if members not in self._known]
        if not fresh:
            return
        folds = self.training.folds(fresh)
        weights = folds.sum(axis=1)
        # All rows of a subset, and those outside each fold.
        groups = np.concatenate([weights[:, None], weights[:, None] - folds], axis=1)
        found = self._best.of(groups.reshape(-1, groups.shape[2]))
        orders = list(map(tuple, found.tolist()))
        each = np.array([self._best.costs_of(order) for order in orders]).reshape(groups.shape)
        # Where a fold has no row of a subset, nothing can be held out.
        held_out = (folds.sum(axis=2) > 0).all(axis=1) & (folds.shape[1] > 1)
        tested = (folds * each[:, 1:]).sum(axis=(1, 2))
        cost = np.where(held_out, tested, (weights * each[:, 0]).sum(axis=1))
        cost = (cost + self._doubt(weights, each[:, 0])) / self.training.weight
        routes = orders[:: groups.shape[1]]
        for members, route, seconds in zip(fresh, routes, cost.tolist(), strict=True):
            self._known[members] = Costed(route, seconds)

    def _doubt(self, weights: Floats, own: Floats) -> Floats | float:
        """Standard errors of what the subsets' own routes save over the route for all."""
        if not self.doubt:
            return 0.0
        saved = self._best.costs_of(self.common) - own
        mean = (weights * saved).sum(axis=1) / weights.sum(axis=1)
        spread = (weights * (saved - mean[:, None]) ** 2).sum(axis=1)
        return np.asarray(self.doubt * np.sqrt(spread))

    @cached_property
    def common(self) -> tuple[int, ...]:
        """The best route for all rows."""
        weights = self.training.counts.sum(axis=(0, 1))[None]
        return tuple(self._best.of(weights)[0].tolist())

    @cached_property
    def _best(self) -> BestOrders:
        return BestOrders(self.training.patterns, self.costs, self.query)

    def total(self, config: Configuration) -> float:
        """Seconds per row."""
        costed = [self.subset(members) for members in config]
        routes = len({each.route for each in costed})
        work = sum(each.cost for each in costed)
        return work + routes * self.overhead + (self.classifying if routes > 1 else 0.0)

    def routes(self, config: Configuration) -> dict[tuple[int, ...], list[int]]:
        """Route -> the training tuples that take it, the most followed route first."""
        by_route: dict[tuple[int, ...], list[int]] = {}
        for members in sorted(config, key=min):
            by_route.setdefault(self.subset(members).route, []).extend(sorted(members))
        weights = self.training.weights
        return dict(sorted(by_route.items(), key=lambda item: -float(weights[item[1]].sum())))
