"""What a plan is expected to cost by a sample, and how one in use is mended."""

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import order_cost
from anabranch.model import Mesh, Query
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
    random = np.random.default_rng(0)
    return mesh.classifier.classify(columns_of(mesh.query, sample), len(sample), random).routes


def expected(mesh: Mesh, sample: Reservoir, costs: Floats) -> float:
    """Seconds per row of the sample under a plan."""
    taken, cost = routes_of(mesh, sample), 0.0
    for place, route in enumerate(mesh.routes):
        rows = sample.bits[taken == place]
        cost += len(rows) * order_cost(rows, costs, route.indexes)
    return cost / max(len(sample), 1)
