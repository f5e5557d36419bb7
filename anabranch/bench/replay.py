"""Runs a policy over known outcomes, on the kernel, by a clock that only work moves.

What is counted here is exact and the same every time. Several workers take shares of the rows, each
with a fabric and a learner of its own, as in Spark.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.kernel import Fabric, Ledger
from anabranch.kernel.rehearse import Clock, Known
from anabranch.model import Attribute, Mesh, Operator, Query
from anabranch.policies import Event, Feedback, Policy

Bits = NDArray[np.bool_]

EVALUATION = 5e-6  # seconds per row
CALL = 30e-6  # seconds per call
# Seconds that a policy takes to learn from a slice, more if rows were profiled, to judge attributes
# by them, and for a step of a search.
LEARNING, COLLECTING, JUDGING, STEP = 0.5e-3, 0.5e-3, 1.2e-3, 0.08e-3


@dataclass
class Replayed:
    """What the workers did."""

    keep: Bits
    ledger: Ledger
    seconds: float
    per_batch: list[int] = field(default_factory=list)  # evaluations, in order of the rows
    plans: list[Any] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # when each batch was done, by its worker

    @property
    def evaluations(self) -> int:
        return sum(tally.evaluated for tally in self.ledger.operators)

    def shares(self) -> Counter[str]:
        """Evaluations by what they were routed by."""
        by: Counter[str] = Counter()
        for (_, label), rows in self.ledger.routing.items():
            by[label] += rows
        return by


def _charge(learner: Policy, clock: Clock) -> None:
    """Learning is not free: a policy that weighs its own time must meet that here, too."""
    observe = learner.observe

    def charged(feedback: Feedback) -> tuple[Event, ...]:
        events = observe(feedback)
        judged = any(event.kind == "profile" for event in events)
        clock.now += LEARNING + COLLECTING * bool(len(feedback.profiled)) + JUDGING * judged
        clock.now += STEP * learner.effort()
        return events

    learner.observe = charged  # type: ignore[method-assign]


def replay(
    policy: Policy,
    drops: Bits,
    attributes: Sequence[Attribute] = (),
    values: Mapping[str, Any] | None = None,
    workers: int = 2,
    batch: int = 10_000,
    costs: Sequence[float] | None = None,
    seed: int = 0,
    start: Mesh | None = None,
    query: Query | None = None,
) -> Replayed:
    """Process rows with known outcomes; the workers take consecutive shares of them."""
    count = drops.shape[1]
    operators = query.operators if query else tuple(Operator(f"d{j + 1}") for j in range(count))
    query = Query(operators, tuple(attributes))
    columns = [pa.array(drops[:, j]) for j in range(count)]
    columns += [pa.array(np.asarray((values or {})[a.name], float)) for a in attributes]
    places = {a.name: count + i for i, a in enumerate(attributes)}
    each = [EVALUATION] * count if costs is None else list(costs)
    keep, seconds = np.zeros(len(drops), bool), 0.0
    ledger, per_batch, plans, times = Ledger.empty(count), [], [], []
    edges = np.linspace(0, len(drops), workers + 1).astype(int)
    for worker in range(workers):
        clock = Clock()
        predicates = [(Known(clock, each[j], CALL), [j]) for j in range(count)]
        learner = policy.bind(query, start)
        _charge(learner, clock)
        fabric = Fabric(query, predicates, learner, seed + worker, clock, clock, places)
        for begin in range(edges[worker], edges[worker + 1], batch):
            size = min(batch, edges[worker + 1] - begin)
            part = [column.slice(begin, size) for column in columns]
            keep[begin : begin + size] = fabric.process(part, size)
            told = fabric.take_ledger()
            per_batch.append(sum(tally.evaluated for tally in told.operators))
            times.append(clock.now)
            ledger = ledger.merge(told)
        seconds += clock.now
        plans.append(fabric.learner.plan())
    return Replayed(keep, ledger, seconds, per_batch, plans, times)
