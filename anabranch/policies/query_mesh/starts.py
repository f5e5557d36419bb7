"""Where a search begins: the five start solutions of Query Mesh, Section 4.7."""

from collections.abc import Callable

import numpy as np

from anabranch.policies.query_mesh.costing import Costing
from anabranch.policies.query_mesh.lattice import (
    Configuration,
    configuration,
    random_configuration,
)

# Ranges that an attribute's domain is cut into, to call content close.
CLOSE = 3
# Solutions drawn by random-pick.
DRAWN = 20


def content_driven(costing: Costing, random: np.random.Generator) -> Configuration:
    """Tuples of close content together: each attribute's domain is cut into a few ranges."""
    del random
    content = costing.training.content
    low, high = content.min(axis=0, initial=0.0), content.max(axis=0, initial=0.0)
    ranges = np.floor(CLOSE * (content - low) / np.maximum(high - low, 1e-12) * (1 - 1e-9))
    return _grouped([tuple(row) for row in ranges.tolist()])


def route_driven(costing: Costing, random: np.random.Generator) -> Configuration:
    """Tuples with the same best route together, however different their content."""
    del random
    alone = [frozenset({t}) for t in range(len(costing.training))]
    costing.prepare(alone)
    return _grouped([costing.subset(members).route for members in alone])


def random_pick(costing: Costing, random: np.random.Generator) -> Configuration:
    """The cheapest of some random solutions."""
    size = len(costing.training)
    return min((random_configuration(size, random) for _ in range(DRAWN)), key=costing.total)


def extreme_1(costing: Costing, random: np.random.Generator) -> Configuration:
    """One route for all."""
    del random
    return configuration([range(len(costing.training))])


def extreme_n(costing: Costing, random: np.random.Generator) -> Configuration:
    """A route for each."""
    del random
    return configuration([[t] for t in range(len(costing.training))])


def _grouped(keys: list[tuple[float, ...]] | list[tuple[int, ...]]) -> Configuration:
    groups: dict[tuple[float, ...], list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(tuple(key), []).append(place)
    return configuration(list(groups.values()))


Start = Callable[[Costing, np.random.Generator], Configuration]

STARTS: dict[str, Start] = {
    "content_driven": content_driven,
    "route_driven": route_driven,
    "random_pick": random_pick,
    "extreme_1": extreme_1,
    "extreme_n": extreme_n,
}
