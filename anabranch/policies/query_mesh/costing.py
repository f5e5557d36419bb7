"""What a configuration costs (Query Mesh, Equation 2), subset by subset."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import best_order, order_costs
from anabranch.model import Query
from anabranch.policies.query_mesh.lattice import Configuration, Subset
from anabranch.policies.query_mesh.training import Training

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Costed:
    """A subset of the training tuples: its best route, its share of the rows, its cost."""

    route: tuple[int, ...]
    share: float
    cost: float  # seconds per row of the subset, times its share


@dataclass
class Costing:
    """Costs configurations; what was found for a subset is kept, so that a move is cheap.

    Equation 2: the sum over the routes of f * (c(r) + c(DT)) plus OVH per route. Classifying costs
    nothing where there is one route. A route is chosen by some of the sampled rows and costed by
    the others, and the other way round: a route that fits the noise of few rows shows no gain.

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
    """

    query: Query
    training: Training
    costs: Floats
    classifying: float = 0.0
    overhead: float = 0.0
    _known: dict[Subset, Costed] = field(default_factory=dict, repr=False)

    @property
    def subsets(self) -> int:
        """How many subsets were costed."""
        return len(self._known)

    def subset(self, members: Subset) -> Costed:
        """The best route of a subset and its cost."""
        if members not in self._known:
            self._known[members] = self._cost(members)
        return self._known[members]

    def _cost(self, members: Subset) -> Costed:
        patterns, folds = self.training.patterns, self.training.folds(members)
        weights = folds.sum(axis=0)
        total = float(weights.sum())
        route = best_order(patterns, self.costs, self.query, weights)
        if len(folds) == 1 or not folds.sum(axis=1).all():
            cost = order_costs(patterns, weights[None], self.costs, route)[0]
        else:
            cost = 0.0
            for fold in folds:
                chosen = best_order(patterns, self.costs, self.query, weights - fold)
                cost += order_costs(patterns, fold[None], self.costs, chosen)[0]
        whole = self.training.weight
        return Costed(route, total / whole, float(cost) / whole)

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
