"""The workers agree: their samples become one, and one mesh is found for all."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from anabranch.model import Mesh, Query
from anabranch.policies.base import Floats, Opinion
from anabranch.policies.query_mesh.optimise import THOROUGH, Task
from anabranch.policies.query_mesh.repair import expected
from anabranch.policies.query_mesh.treed import NEARLY, solve, treed
from anabranch.policies.query_mesh.wire import sample_from_dict
from anabranch.stats import Reservoir
from anabranch.stats.routing_cost import CLASSIFYING

# Rows of the merged sample.
MOST_ROWS = 4_000


def agree(query: Query, opinions: Sequence[Opinion], seed: int = 0) -> Mesh | None:
    """The best plan for the rows of all workers: one of theirs, or a new one.

    A worker has mended its mesh by all rows that it saw, so its plan may be better than what a
    search finds in the samples. None if no worker told of a sample.
    """
    told = [opinion for opinion in opinions if opinion.evidence]
    if not told:
        return None
    sample, costs = merged(query, told, seed)
    plans = [opinion.plan for opinion in sorted(opinions, key=lambda o: -o.rows)[:8]]
    task = Task(sample, query, costs, replace(THOROUGH, seed=seed), CLASSIFYING)
    plans.append(solve(task).mesh)
    best = min(plans, key=lambda plan: expected(plan, sample, costs))
    tree = treed(best, sample, seed)
    now, then = (expected(plan, sample, costs) for plan in (best, tree))
    return tree if then <= (1 + NEARLY) * now else best


def merged(query: Query, told: Sequence[Opinion], seed: int) -> tuple[Reservoir, Floats]:
    """One sample of all rows, and what operators cost on average."""
    empty = Reservoir(len(query.attributes), len(query), MOST_ROWS, seed)
    samples = [sample_from_dict(_evidence(opinion)["sample"]) for opinion in told]
    sample = reduce(Reservoir.merge, samples, empty)
    weights = [float(opinion.rows) for opinion in told]
    costs = np.average([_evidence(o)["costs"] for o in told], axis=0, weights=weights)
    return sample, np.asarray(costs, np.float64)


def _evidence(opinion: Opinion) -> Any:
    assert opinion.evidence is not None
    return opinion.evidence
