"""The workers agree: their samples become one, and one mesh is found for all."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from anabranch.cost import BestOrders, pattern_costs
from anabranch.model import Mesh, Query, Reason
from anabranch.policies.base import Floats, Opinion
from anabranch.policies.query_mesh.optimise import THOROUGH, Task, optimise
from anabranch.policies.query_mesh.repair import expected, routes_of
from anabranch.policies.query_mesh.treed import readable
from anabranch.policies.query_mesh.wire import sample_from_dict
from anabranch.stats import Reservoir

# Rows of the merged sample, and plans of workers that are looked at, of those that saw most rows.
MOST_ROWS, MOST_PLANS = 4_000, 8


def agree(
    query: Query,
    opinions: Sequence[Opinion],
    seed: int = 0,
    search: bool = True,
    tolerance: float = THOROUGH.tolerance,
) -> Mesh | None:
    """The best plan for the rows of all workers: one of theirs, or one that a search finds.

    A worker has mended its mesh by all rows that it saw, so its plan may be better than what a
    search finds in the samples. None if no worker told of a sample.
    """
    told = [opinion for opinion in opinions if opinion.evidence]
    if not told:
        return None
    sample = merged(query, told, seed)
    costs = costs_of(sample)
    classifying, overhead = (_mean(told, name) for name in ("classifying", "overhead"))
    plans = [opinion.plan for opinion in sorted(opinions, key=lambda o: -o.rows)[:MOST_PLANS]]
    if search:
        settings = replace(THOROUGH, seed=seed, tolerance=tolerance)
        task = Task(sample, query, costs, settings, classifying, overhead)
        plans.append(optimise(task).mesh)

    def whole(plan: Mesh) -> float:
        further = len(plan.routes) - 1
        extra = further * overhead + (classifying if further else 0.0)
        return expected(plan, sample, costs) + extra

    best = min(plans, key=whole)
    return reasoned(readable(best, sample, costs, seed), sample, costs)


def merged(query: Query, told: Sequence[Opinion], seed: int) -> Reservoir:
    """One sample of all rows."""
    empty = Reservoir(len(query.attributes), len(query), MOST_ROWS, seed)
    samples = []
    for opinion in told:
        samples.append(sample_from_dict(_evidence(opinion)["sample"]))
        samples[-1].seen = opinion.rows  # the rows that it stands for
    return reduce(Reservoir.merge, samples, empty)


def costs_of(sample: Reservoir) -> Floats:
    """Seconds per row of each operator, as was usual when rows were sampled.

    Where nothing was timed all are taken to cost the same.
    """
    timed = sample.times[~np.isnan(sample.times).any(axis=1)]
    return np.median(timed, axis=0) if len(timed) else np.ones(sample.operators)


def _mean(told: Sequence[Opinion], name: str) -> float:
    """Over all rows."""
    rows = sum(opinion.rows for opinion in told)
    return sum(opinion.rows * float(_evidence(opinion)[name]) for opinion in told) / max(rows, 1)


def reasoned(mesh: Mesh, sample: Reservoir, costs: Floats) -> Mesh:
    """The mesh with what a sample tells of the rows on each route."""
    if mesh.classifier is None or not len(sample):
        return mesh
    everyone = np.ones((1, len(sample)))
    single = BestOrders(sample.bits, costs, mesh.query).of(everyone)[0].tolist()
    taken, reasons = routes_of(mesh, sample), []
    for place, route in enumerate(mesh.routes):
        bits = sample.bits[taken == place]
        rows = max(len(bits), 1)
        cost, alone = (
            float(pattern_costs(bits, costs, order).sum()) / rows
            for order in (route.indexes, single)
        )
        passed = 1 - bits.sum(axis=0) / rows
        told = dict(zip(mesh.query.names, passed.tolist(), strict=True))
        reasons.append(Reason(len(bits) / len(sample), cost, alone, told))
    return replace(mesh, reasons=tuple(reasons))


def _evidence(opinion: Opinion) -> Any:
    assert opinion.evidence is not None
    return opinion.evidence
