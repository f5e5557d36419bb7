"""`auto` beside every policy that is not told the truth, on all workloads, by replay."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from anabranch.bench.content_lab import LAB_ATTRIBUTES, q2
from anabranch.bench.content_replay import moved_stream
from anabranch.bench.figure import Figure
from anabranch.bench.replay import EVALUATION, replay
from anabranch.bench.size import Size, spread
from anabranch.bench.workloads import WORKLOADS
from anabranch.data.lab import made_up_lab
from anabranch.data.mesh_streams import ClassStream, poisson, uniform, xor
from anabranch.data.stream_star import StreamStar, random_table, skewed
from anabranch.model import AnabranchError, Attribute
from anabranch.policies import (
    AGreedy,
    ContentLearns,
    Eddy,
    Independent,
    LocalSwaps,
    Policy,
    Sweep,
    resolve,
)

# Policies that a user might pick instead; `mesh` is what `auto` is made of.
OTHERS: dict[str, Callable[[], Policy]] = {
    "agreedy": AGreedy,
    "agreedy, to a budget": lambda: AGreedy(p="auto", window=250),
    "independent": Independent,
    "sweep": Sweep,
    "local_swaps": LocalSwaps,
    "eddy": Eddy,
    "content": ContentLearns,
}
# The readings of the Lab come so often, in seconds, that they are about a million.
LAB_EVERY = 14.0


@dataclass(frozen=True)
class Workload:
    """Rows with known outcomes, their attributes, and what operators cost."""

    drops: Any
    attributes: tuple[Attribute, ...] = ()
    columns: Mapping[str, Any] | None = None
    costs: Sequence[float] | None = None


def _filters(name: str, rows: int) -> Workload:
    [chosen] = [workload for workload in WORKLOADS if workload.name == name]
    costs = [1e-6 * cost for cost in chosen.microseconds]
    return Workload(chosen.make(rows, 2), costs=costs)


def _star(table: Any, rows: int) -> Workload:
    star = StreamStar(table, rows)
    return Workload(star.drops(), star.attributes, star.columns())


def _moved(joins: int, own: float, rows: int) -> Workload:
    drops, attributes, columns = moved_stream(joins, own, rows, 0)
    return Workload(drops, tuple(attributes), columns)


def _lab(seed: int, rows: int) -> Workload:
    lab = {name: values[:rows] for name, values in made_up_lab(every=LAB_EVERY).items()}
    return Workload(q2(lab, seed), LAB_ATTRIBUTES, lab)


def _classes(make: Callable[[int], ClassStream], rows: int) -> Workload:
    stream = make(rows)
    return Workload(stream.drops(), stream.attributes, stream.columns())


def _swapped(rows: int) -> Workload:
    first = xor(rows // 2)
    then = first.swapped()
    columns = {n: np.concatenate([first.columns()[n], then.columns()[n]]) for n in first.names}
    drops = np.concatenate([first.drops(), then.drops()])
    return Workload(drops, first.attributes, columns)


def _makers() -> dict[str, Callable[[int], Workload]]:
    makers: dict[str, Callable[[int], Workload]] = {}
    for workload in WORKLOADS:
        if workload.name != "wide":  # the same rows as groups-8
            makers[f"filters {workload.name}"] = partial(_filters, workload.name)
    for joins in (2, 4, 8):
        for own in (0.05, 0.2, 0.5, 0.8):
            makers[f"content {joins} joins, A = {own}"] = partial(_star, skewed(joins, own))
        makers[f"content {joins} joins, random"] = partial(_star, random_table(joins, seed=1))
    makers["content uniform"] = partial(_star, np.full((8, 8), 0.5))
    makers["content moved"] = partial(_moved, 8, 0.05)
    for seed in range(4):
        makers[f"content Q2 of the Lab, {seed}"] = partial(_lab, seed)
    makers["mesh poisson"] = partial(_classes, poisson)
    makers["mesh uniform"] = partial(_classes, uniform)
    makers["mesh xor"] = partial(_classes, xor)
    makers["mesh swapped"] = _swapped
    return makers


def _cost(policy: Policy, work: Workload) -> float:
    """Seconds in operators, all evaluations included."""
    columns = work.columns if work.attributes else None
    done = replay(policy, work.drops, work.attributes, columns, costs=work.costs)
    if not (done.keep == ~work.drops.any(axis=1)).all():
        raise AnabranchError(f"{policy.name} returned other rows than the filters pass")
    each = work.costs or [EVALUATION] * work.drops.shape[1]
    pairs = zip(done.ledger.operators, each, strict=True)
    return sum(tally.evaluated * cost for tally, cost in pairs)


def _contest(task: tuple[str, int]) -> tuple[str, float, str, float]:
    name, rows = task
    work = _makers()[name](rows)
    others = {other: _cost(make(), work) for other, make in OTHERS.items()}
    best = min(others, key=lambda other: others[other])
    return name, _cost(resolve("auto"), work), best, others[best]


def auto(size: Size) -> Figure:
    """On every workload: what `auto` costs beside the best of the others."""
    tasks = [(name, size.rows) for name in _makers()]
    results = spread(_contest, tasks, size)
    rows = [(name, best, mine / other) for name, mine, best, other in results]
    worst = max(rows, key=lambda row: row[2])
    return Figure(
        "auto",
        f"what `auto` costs in operators beside the best policy that is not told the truth, "
        f"{size.rows:,} rows, two workers, by replay",
        "not in the paper",
        f"{worst[2]:.3f}x the best one at worst ({worst[0]}), "
        f"{np.mean([row[2] for row in rows]):.3f}x on average over {len(rows)} workloads",
        ("workload", "best of the others", "auto / best"),
        rows,
    )
