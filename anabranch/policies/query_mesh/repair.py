"""What a plan makes of sampled rows, and what that is expected to cost."""

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import pattern_costs
from anabranch.model import Classified, Mesh, Query
from anabranch.model.classifier import Values
from anabranch.policies.base import Rows
from anabranch.stats import Reservoir

Floats = NDArray[np.float64]


def columns_of(query: Query, sample: Reservoir) -> Values:
    """The sampled values of an attribute, by its name."""
    names = [attribute.name for attribute in query.attributes]
    return dict(zip(names, sample.values.T, strict=True)).__getitem__


def routes_of(mesh: Mesh, sample: Reservoir) -> Rows:
    """The route of each sampled row."""
    if mesh.classifier is None:
        return np.zeros(len(sample), np.int64)
    return classified(mesh, sample).routes


def classified(mesh: Mesh, sample: Reservoir) -> Classified:
    """Sampled rows told apart; none speaks for another, they are no neighbours."""
    assert mesh.classifier is not None
    random = np.random.default_rng(0)
    return mesh.classifier.each_row.classify(columns_of(mesh.query, sample), len(sample), random)


def row_costs(mesh: Mesh, sample: Reservoir, costs: Floats) -> Floats:
    """Seconds that each sampled row takes under a plan."""
    taken, each = routes_of(mesh, sample), np.zeros(len(sample))
    for place, route in enumerate(mesh.routes):
        rows = taken == place
        each[rows] = pattern_costs(sample.bits[rows], costs, route.indexes)
    return each


def expected(mesh: Mesh, sample: Reservoir, costs: Floats) -> float:
    """Seconds per row of the sample under a plan."""
    return float(row_costs(mesh, sample, costs).sum()) / max(len(sample), 1)
