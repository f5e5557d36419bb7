"""Plans for native predicates: sampled, timed, compiled, and compared before the job."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame

from anabranch.kernel.rehearse import rehearse
from anabranch.model import Mesh, Query, Tree, microseconds
from anabranch.model.attribute import LONG_WORD
from anabranch.policies import Policy
from anabranch.policies.query_mesh import QueryMesh
from anabranch.policies.query_mesh.from_sample import (
    best_order,
    explained,
    fewer,
    mean_costs,
    mesh_from,
    same_ends,
    single_from,
)
from anabranch.policies.query_mesh.repair import expected
from anabranch.policies.query_mesh.treed import treed
from anabranch.spark.attributes import column_of, numbers
from anabranch.spark.bytecode import MOST_BYTES, TOO_LARGE, largest_method
from anabranch.spark.catalyst import Conditions, applied, conjunction
from anabranch.spark.look import COMPARING, Look
from anabranch.spark.stopwatch import Floats, timed
from anabranch.stats import Reservoir

# Standard errors, and the share of the cost, by which several routes must be better than one.
DOUBT, LEAST_GAIN = 2.0, 0.01
# How far off a guess of the size of code may be.
GUESSED = 1.4


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
    reason: str = ""  # why the input was not looked at further

    def told(self) -> list[str]:
        """What it was chosen by, in words; nothing if there was no look at the input."""
        if not self.rows:
            why = self.reason or "no row to look at"
            written = f"native predicates as written: {why} (looked for {self.seconds:.1f} s)"
            return [written] if self.seconds else []
        lines = [f"native predicates sampled: {self.rows:,} rows, planned in {self.seconds:.1f} s"]
        if self.alone is not None and self.together is not None:
            lines.append(
                f"measured on rows held back: {microseconds(self.together)} us per row by class, "
                f"{microseconds(self.alone)} us on the best route for all"
            )
        return lines


def planned(look: Look, query: Query, conditions: Conditions, policy: Policy) -> Planned:
    """The plan for some of the predicates that a look at the input gives."""
    found = _found(look, query, conditions, policy)
    return replace(found, seconds=look.elapsed())


def _found(look: Look, query: Query, conditions: Conditions, policy: Policy) -> Planned:
    if not look.rows:
        return replace(as_written(query), reason=look.reason)
    sample, some = look.reservoir(query), look.some
    if not isinstance(policy, QueryMesh):
        told = as_tree(rehearse(policy, query, sample, look.seed), sample, look.seed)
        fitting = small_enough(worded(told, some), sample, conditions, look.measurable)
        return Planned(fitting or single_from(query, sample), look.rows)
    single, mesh = single_from(query, sample), mesh_from(query, sample, look.seed)
    if mesh is not None:
        mesh = small_enough(worded(mesh, some), sample, conditions, look.measurable)
    if mesh is None:
        return Planned(single, look.rows)
    both = [conjunction(plan, conditions, some) for plan in (single, mesh)]
    compared = timed(some, both, COMPARING * look.budget)
    alone, together = compared.seconds[~look.learned].T
    best = mesh if _is_better(alone, together) else single
    return Planned(best, look.rows, 0.0, float(alone.mean()), float(together.mean()))


def small_enough(
    mesh: Mesh, sample: Reservoir, conditions: Conditions, df: DataFrame
) -> Mesh | None:
    """The mesh as the JVM compiles it: every route has the code of predicates once more.

    If it is too large, the cheapest of those whose routes share their ends, or that have fewer
    routes; None if none of them fits.
    """

    def code(plan: Mesh) -> int:
        size = largest_method(applied(df, plan, conditions))
        return TOO_LARGE if size is None else size

    if mesh.classifier is None or (whole := code(mesh)) <= MOST_BYTES:
        return mesh
    found = _ended(mesh, sample, code), _fewer(mesh, sample, code, whole)
    costs = mean_costs(sample)
    fitting = [plan for plan in found if plan is not None]
    best = min(fitting, key=lambda plan: expected(plan, sample, costs), default=None)
    return explained(best, sample) if best else None


def _ended(mesh: Mesh, sample: Reservoir, code: Callable[[Mesh], int]) -> Mesh | None:
    """With orders of their own for as many positions as fit, and one order for what is left."""
    shared, best = best_order(mesh.query, sample.bits, sample.times), None
    for own in range(1, len(mesh.query) - 1):
        plan = same_ends(mesh, own, shared)
        if code(plan) > MOST_BYTES:
            break
        best = plan
    return best


def _fewer(mesh: Mesh, sample: Reservoir, code: Callable[[Mesh], int], whole: int) -> Mesh | None:
    """With as many routes as fit; those that hardly can are not asked of Spark."""
    left = fewer(mesh, sample)
    while left is not None:
        guess = whole * len(left.routes) / len(mesh.routes)
        if guess <= GUESSED * MOST_BYTES and code(left) <= MOST_BYTES:
            break
        left = fewer(left, sample)
    return left


def as_tree(mesh: Mesh, sample: Reservoir, seed: int) -> Mesh:
    """What a policy arrived at; where no tree tells the classes apart, the best order for all."""
    mesh = treed(mesh, sample, seed)
    if mesh.classifier is not None and not isinstance(mesh.classifier, Tree):
        return single_from(mesh.query, sample)
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
        column = column_of(some, name)
        # One number stands for all long words: there is no word to tell.
        values = [value for value in asked[name] if value != LONG_WORD]
        rows = some.filter(number.isin(*values)).select(number, column).distinct().collect()
        words[name] = {float(row[0]): str(row[1]) for row in rows}
    return mesh.worded(words)


def as_written(query: Query) -> Planned:
    """Without a look at the input."""
    return Planned(Mesh.single(query, query.written()))
