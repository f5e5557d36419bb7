"""Plans for a join of streams, the best one first, and where they cross."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from anabranch.cost.crossing import Stage, schedule
from anabranch.cost.flow import Flow, rows_between
from anabranch.cost.objectives import LocalRate, MostResults, Objective, Soonest
from anabranch.cost.rate import JoinTree
from anabranch.cost.spec import Spec
from anabranch.cost.stream_join import StreamJoin
from anabranch.cost.trees import MOST_EXHAUSTIVE, all_trees
from anabranch.model import InputError

# Plans whose ties are broken.
CLOSE = 100
# Windows after which all of them are surely full.
FULL = 4


@dataclass(frozen=True)
class Ranking:
    """Plans by how well they meet an objective; which of them is ahead when, up to a time."""

    spec: Spec
    plans: tuple[JoinTree, ...]
    seen: int  # plans that were looked at
    until: float
    stages: tuple[Stage, ...]

    @property
    def best(self) -> JoinTree:
        return self.plans[0]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        objective = self.spec.objective
        return {
            "looked_at": self.seen,
            "until": self.until,
            "plans": [
                {
                    "tree": str(plan),
                    "achieves": objective.told(plan),
                    "loss": objective.loss(plan),
                    "results": Flow(plan).results(self.until),
                }
                for plan in self.plans
            ],
            "stages": [
                {"tree": str(stage.tree), "at": stage.at, "results": stage.results}
                for stage in self.stages
            ],
            "where": {
                name: [selection.name for selection in order]
                for name, order in (self.spec.pipelines or {}).items()
            },
        }


def ranked(spec: Spec, most: int = 5) -> Ranking:
    """All plans, or where these are too many the ones that searches find.

    >>> from anabranch.cost.spec import read_spec
    >>> told = ranked(read_spec({
    ...     "streams": {"a": {"rate": 50}, "b": {"rate": 500}, "c": {"rate": 100}},
    ...     "predicates": [
    ...         {"between": ["a", "b"], "selectivity": 0.002},
    ...         {"between": ["a", "c"], "selectivity": 0.005, "cost": 0.005},
    ...     ],
    ...     "handling": {"move": 0.00375},
    ...     "objective": {"soonest": {"results": 10000}},
    ... }))
    >>> [str(plan) for plan in told.plans]
    ['((a, c), b)', '((a, b), c)']
    >>> [str(stage.tree) for stage in told.stages]  # the second one is for the first results
    ['((a, b), c)', '((a, c), b)']
    """
    trees = list(spec.plans) or _candidates(spec)
    losses = {str(tree): spec.objective.loss(tree) for tree in trees}
    by = _horizon(spec.join, spec.objective, [min(trees, key=lambda tree: losses[str(tree)])])
    ahead = sorted(trees, key=lambda tree: (losses[str(tree)], str(tree)))
    # Of plans that are equally good the one with few rows between its joins; of some, as that takes
    # as long as to cost them.
    close = sorted(
        ahead[:CLOSE],
        key=lambda tree: (float(f"{losses[str(tree)]:.9g}"), rows_between(tree, by), str(tree)),
    )
    order = [*close, *ahead[CLOSE:]]
    if losses[str(order[0])] == inf:
        raise InputError(f"no plan achieves it: {spec.objective.told(order[0])}")
    shown = order[:most]
    until = _horizon(spec.join, spec.objective, shown)
    # Of what is not shown, too, may some be the best for the first results.
    stages = schedule(order, until)
    return Ranking(spec, tuple(shown), len(trees), until, tuple(stages))


def _candidates(spec: Spec) -> list[JoinTree]:
    if len(spec.join.sources) <= MOST_EXHAUSTIVE:
        return all_trees(spec.join, spec.shape)
    searches = (
        spec.objective.search(spec.join, spec.shape),
        LocalRate(60.0).search(spec.join, spec.shape),
        spec.objective.search(spec.join, "left-deep"),
    )
    return list({str(tree): tree for tree in searches}.values())


def _horizon(join: StreamJoin, objective: Objective, trees: Sequence[JoinTree]) -> float:
    """How long it is worth to look at curves."""
    if isinstance(objective, MostResults):
        return objective.by
    if isinstance(objective, Soonest):
        times = [time for tree in trees[:2] if (time := objective.loss(tree)) < inf]
        return 1.5 * max(times, default=1.0)
    return FULL * max(source.window for source in join.sources)
