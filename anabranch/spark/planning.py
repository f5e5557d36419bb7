"""Plans for native predicates: sampled, timed, compiled, and compared before the job."""

import time
from dataclasses import dataclass, replace

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.kernel.rehearse import rehearse
from anabranch.model import Mesh, Query, Tree, microseconds
from anabranch.policies import Policy
from anabranch.policies.query_mesh import QueryMesh
from anabranch.policies.query_mesh.from_sample import explained, mesh_from, single_from
from anabranch.policies.query_mesh.treed import treed
from anabranch.spark.attributes import numbers, typed
from anabranch.spark.catalyst import Conditions, chain, conjunction
from anabranch.spark.sampling import Sample, heads
from anabranch.spark.stopwatch import Floats, Timed, lotted, part, timed
from anabranch.stats import Reservoir

# Of the seconds, these shares go into warming up and into comparing plans.
WARMING, COMPARING = 0.4, 0.3
# Standard errors, and the share of the cost, by which several routes must be better than one.
DOUBT, LEAST_GAIN = 2.0, 0.01


@dataclass(frozen=True)
class Planned:
    """A plan for native predicates, and what it was chosen by.

    `alone` and `together` are seconds per row that were measured of one route for all and of the
    mesh, on rows that neither was learned from; None where there was nothing to compare.
    """

    mesh: Mesh
    rows: int = 0
    seconds: float = 0.0
    alone: float | None = None
    together: float | None = None

    def told(self) -> list[str]:
        """What it was chosen by, in words; nothing if the input was not looked at."""
        if not self.rows:
            return []
        lines = [f"native predicates sampled: {self.rows:,} rows, planned in {self.seconds:.1f} s"]
        if self.alone is not None and self.together is not None:
            lines.append(
                f"measured on rows held back: {microseconds(self.together)} us per row by class, "
                f"{microseconds(self.alone)} us on the best route for all"
            )
        return lines


def planned(
    source: DataFrame,
    query: Query,
    conditions: Conditions,
    policy: Policy,
    spec: Sample,
    seed: int = 0,
) -> Planned:
    """The plan that a bounded sample of the input gives."""
    begin = time.monotonic()
    some = lotted(heads(source, spec.rows, seed), seed).persist()
    try:
        rows = some.count()
        predicates = _guarded(query, conditions)
        looked_at = part(some, predicates, rows, WARMING * spec.seconds)
        found = _found(looked_at, query, conditions, policy, spec, seed)
    finally:
        some.unpersist()
    return replace(found, seconds=time.monotonic() - begin)


def _found(
    some: DataFrame, query: Query, conditions: Conditions, policy: Policy, spec: Sample, seed: int
) -> Planned:
    known = numbers(some, [attribute.name for attribute in query.attributes])
    looked = timed(
        some, _guarded(query, conditions), known, (1 - WARMING - COMPARING) * spec.seconds
    )
    looked = _without_guards(query, looked)
    rows = len(looked.passed)
    if not rows:
        return Planned(Mesh.single(query, query.written()))
    # Half of the rows to learn from, the others to compare by.
    learned = np.random.default_rng(seed).permutation(rows) % 2 == 0
    sample = _reservoir(looked, query, learned)
    if not isinstance(policy, QueryMesh):
        return Planned(worded(_rehearsed(policy, query, sample, seed), some), rows)
    single, mesh = single_from(query, sample), mesh_from(query, sample, seed)
    if mesh is None:
        return Planned(single, rows)
    both = [conjunction(plan, conditions, some) for plan in (single, mesh)]
    alone, together = timed(some, both, {}, COMPARING * spec.seconds).seconds[~learned].T
    best = worded(mesh, some) if _is_better(alone, together) else single
    return Planned(best, rows, 0.0, float(alone.mean()), float(together.mean()))


def _guarded(query: Query, conditions: Conditions) -> list[Column]:
    """Each predicate, asked only where its guards hold; elsewhere it drops nothing."""
    written, predicates = query.written(), []
    for name, guards in zip(query.names, query.guards, strict=True):
        before = [conditions[other] for other in written if query.index(other) in guards]
        own = conditions[name]
        predicates.append(F.when(chain(before), own).otherwise(F.lit(True)) if before else own)
    return predicates


def _without_guards(query: Query, looked: Timed) -> Timed:
    """Seconds of each predicate alone; where it was not asked, what it takes on average."""
    seconds = looked.seconds.copy()
    for i, guards in enumerate(query.guards):
        if guards:
            theirs = sorted(guards)
            asked = looked.passed[:, theirs].all(axis=1)
            own = looked.seconds[asked, i] - looked.seconds[:, theirs].sum(axis=1)[asked]
            seconds[asked, i] = np.maximum(own, 0.0)
            seconds[~asked, i] = np.maximum(own, 0.0).mean() if asked.any() else 0.0
    return replace(looked, seconds=seconds)


def _reservoir(looked: Timed, query: Query, rows: np.ndarray) -> Reservoir:
    values = [looked.columns[attribute.name] for attribute in query.attributes]
    count = int(rows.sum())
    sample = Reservoir(len(values), len(query), max(count, 1))
    stacked = np.column_stack(values) if values else np.zeros((len(rows), 0))
    # What interrupts a row in every pass is not the row's own.
    most = np.quantile(looked.seconds, 0.995, axis=0)
    sample.update(stacked[rows], ~looked.passed[rows], np.minimum(looked.seconds, most)[rows])
    return sample


def _rehearsed(policy: Policy, query: Query, sample: Reservoir, seed: int) -> Mesh:
    """What a policy arrives at; classes that no tree tells apart have the main order."""
    mesh = treed(rehearse(policy, query, sample, seed), sample, seed)
    if mesh.classifier is not None and not isinstance(mesh.classifier, Tree):
        mesh = Mesh(query, mesh.routes[:1])
    return explained(mesh, sample)


def _is_better(alone: Floats, together: Floats) -> bool:
    saved = alone - together
    doubt = DOUBT * float(saved.std()) / max(len(saved), 1) ** 0.5
    return bool(float(saved.mean()) > max(doubt, LEAST_GAIN * float(alone.mean())))


def worded(mesh: Mesh, some: DataFrame) -> Mesh:
    """The plan with the words that its numbers stand for, as far as a sample has them."""
    asked = mesh.classifier.values if mesh.classifier else {}
    kinds = {attribute.name: attribute.kind for attribute in mesh.query.attributes}
    words = {}
    for name in (name for name in asked if kinds[name] == "word"):
        number: Column = numbers(some, [name])[name]
        column, _ = typed(some, name)
        rows = some.filter(number.isin(*asked[name])).select(number, column).distinct().collect()
        words[name] = {float(row[0]): str(row[1]) for row in rows}
    return mesh.worded(words)


def as_written(query: Query) -> Planned:
    """Without a look at the input."""
    return Planned(Mesh.single(query, query.written()))
