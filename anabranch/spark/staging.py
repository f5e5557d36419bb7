"""Which predicates run in which stage, and the plans of the native stages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from pyspark.sql import DataFrame

from anabranch.cost.placement import place
from anabranch.model import Mesh, Operator, Query
from anabranch.policies import Policy
from anabranch.spark.catalyst import chain
from anabranch.spark.compiled import Compiled, looked_up
from anabranch.spark.look import Look, guarded, looking
from anabranch.spark.native_stage import Stage, filtered
from anabranch.spark.pilot import joint
from anabranch.spark.planning import Planned, as_written
from anabranch.spark.sampling import Sample
from anabranch.spark.stages import Declared, Native, Stages, insideable, split

# Seconds per row from which on a native predicate may be worth the way of rows to Python.
DEAR = 2e-6


@dataclass(frozen=True)
class Staged:
    """The stages of a run, and the plans of the native ones."""

    stages: Stages
    before: Stage
    above: Stage
    plans: tuple[Planned, Planned]

    def below(self, source: DataFrame) -> DataFrame:
        """The rows that reach the Python stage."""
        return self.before.applied(filtered(source, self.stages.first), self.plans[0].mesh)

    def behind(self, df: DataFrame) -> DataFrame:
        """The rows that pass what stands behind the Python stage."""
        return filtered(self.above.applied(df, self.plans[1].mesh), self.stages.last)

    def plan(self, fused: Mesh) -> Mesh:
        """One plan of all stages; without Python predicates it is that of the native ones."""
        before, behind = (planned.mesh for planned in self.plans)
        if not self.stages.fused:
            return before
        return replace(
            fused,
            before=before if len(before.query) else None,
            behind=behind if len(behind.query) else None,
        )


def staged(
    source: DataFrame,
    declared: Sequence[Declared],
    compiled: Compiled,
    policy: Policy,
    start: Mesh | None,
    named: Sequence[str] | None,
    spec: Sample | None,
    seed: int,
    inside: Sequence[str] = (),
) -> Staged:
    """Stages and plans: as a given plan says, or by a bounded look at the input, or as written."""
    found = given(source, declared, policy, start, named, inside)
    stages = found.stages
    if start is not None or found.before.given(None) is not None:
        return found
    below = filtered(source, stages.first)
    if spec is None or not _is_worth_it(stages) or source.isStreaming:
        return found
    if not spec.pays(below, any(native.dear for native in stages.before.natives)):
        return found
    with looking(below, found.before.query, found.before.conditions, spec, seed) as look:
        late = _moved(below, stages, found.before, compiled, look, seed)
        if late:
            found = unlooked(source, split(declared, late, inside), policy, named)
            # Those that were declared behind the Python ones stay behind.
            order = [*late, *(n for n in found.above.query.written() if n not in late)]
            mesh = Mesh.single(found.above.query, tuple(order))
            found = replace(found, plans=(found.plans[0], Planned(mesh)))
        return replace(found, plans=(found.before.planned(look), found.plans[1]))


def given(
    source: DataFrame,
    declared: Sequence[Declared],
    policy: Policy,
    start: Mesh | None,
    named: Sequence[str] | None,
    inside: Sequence[str] = (),
) -> Staged:
    """Stages and plans as a given plan says, or without a look at the input."""
    stages = split(declared, _late(declared, start), inside)
    told = start.before if start and stages.fused else start
    found = unlooked(source, stages, policy, _with_those_of(start, named))
    plans = found.before.given(told), found.above.given(start.behind if start else None)
    return replace(found, plans=(plans[0] or found.plans[0], plans[1] or found.plans[1]))


def inside_spark(
    declared: Sequence[Declared], policy: Policy, start: Mesh | None = None
) -> list[str]:
    """Lookups that Spark does before rows move to Python: as a given plan says, or the policy."""
    if isinstance(start, Mesh):
        return [name for name in insideable(declared) if name not in start.query.names]
    return insideable(declared) if policy.lookups_inside else []


def _with_those_of(start: Mesh | None, named: Sequence[str] | None) -> Sequence[str] | None:
    """The attributes that a given plan asks for come on top of those that are named."""
    if start is None or named is None:
        return named
    plans = [plan for plan in (start.before, start, start.behind) if plan is not None]
    asked = [name for plan in plans if plan.classifier for name in plan.classifier.attributes]
    return list(dict.fromkeys([*named, *asked]))


def unlooked(
    source: DataFrame, stages: Stages, policy: Policy, named: Sequence[str] | None = None
) -> Staged:
    """Without a look at the input: as written, or as the policy was told."""
    before = Stage.of(source, stages.before, policy, stages.whole, named)
    above = Stage.of(source, stages.above, policy, stages.whole, named)
    plans = (before.given(None), above.given(None))
    written = as_written(before.query), as_written(above.query)
    return Staged(stages, before, above, (plans[0] or written[0], plans[1] or written[1]))


def _late(declared: Sequence[Declared], start: Mesh | None) -> list[str]:
    """Native predicates that a plan runs behind the Python ones."""
    names = {d.operator.name for d in declared if isinstance(d, Native)}
    behind = start.behind.query.names if start is not None and start.behind else ()
    return [name for name in behind if name in names]


def _is_worth_it(stages: Stages) -> bool:
    """Whether there is anything to order, or to move."""
    return len(stages.before) > 1 or bool(stages.fused and _movable(stages))


def _movable(stages: Stages) -> list[str]:
    """Native predicates before the Python ones that are no guards of these.

    None where what stands behind runs as ordinary filters, in the order written.
    """
    if stages.last:
        return []
    guards = stages.guards()
    return [name for name in stages.before.query.names if name not in guards]


def _moved(
    below: DataFrame, stages: Stages, before: Stage, compiled: Compiled, look: Look, seed: int
) -> list[str]:
    """The native predicates that had better run behind the Python ones, in their order there."""
    names = _movable(stages)
    if not stages.fused or not names or not look.rows:
        return []
    seconds = dict(zip(look.query.names, look.timed.seconds.mean(axis=0).tolist(), strict=True))
    if max(seconds[name] for name in names) < DEAR:
        return []
    # What guards Python predicates holds for all rows that these are asked for.
    held = [name for name in before.query.written() if name not in names]
    if held:
        below = below.filter(chain([before.conditions[name] for name in held]))
    below = looked_up(below, compiled, stages.guards())
    asked = dict(zip(before.query.names, guarded(before.query, before.conditions), strict=True))
    bits, costs = joint(below, compiled, stages.query, [asked[name] for name in names], seed)
    query = _together(stages, names)
    inside = range(len(stages.query))
    movable = range(len(stages.query), len(query))
    every = np.array([*costs.tolist(), *(seconds[name] for name in names)])
    placed = place(query, bits, every, list(inside), list(movable))
    return [query.names[i] for i in placed.behind]


def _together(stages: Stages, names: Sequence[str]) -> Query:
    """The Python operators, and these native ones, with the guards among them."""
    operators = [*stages.query.operators]
    native = {operator.name: operator for operator in stages.before.query.operators}
    operators += [
        Operator(name, after=tuple(g for g in native[name].after if g in names)) for name in names
    ]
    return Query(tuple(operators))
