"""Runs a fabric over made-up bits, with a clock that only predicates move."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from anabranch.data.correlated import codes
from anabranch.kernel import Fabric
from anabranch.model import Mesh, Operator, Query
from anabranch.policies import Event, Policy


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class BitPredicate:
    """Passes a row whose bit is not set; tells the clock what it cost and remembers its rows."""

    bit: int
    cost: float
    clock: Clock
    fixed: float = 0.0
    seen: Counter = field(default_factory=Counter)
    calls: int = 0

    def convert(self, columns: Sequence[pa.Array], rows: int) -> Sequence[pa.Array]:
        assert [len(column) for column in columns] == [rows, rows]
        return columns

    def judge(self, converted: Sequence[pa.Array], rows: int) -> np.ndarray:
        code, ids = (column.to_numpy() for column in converted)
        self.calls += 1
        self.clock.now += self.fixed + self.cost * rows
        self.seen.update(ids.tolist())
        return (code >> self.bit & 1) == 0


@dataclass
class Outcome:
    keep: np.ndarray
    fabric: Fabric
    predicates: list[BitPredicate]
    per_batch: list[int]  # evaluations
    needed: list[int]  # of these, without those that only profiling asked for
    events: list[Event]

    @property
    def order(self) -> tuple[int, ...]:
        return self.fabric.learner.plan().routes[0].indexes

    @property
    def evaluations(self) -> int:
        return sum(self.per_batch)


def plain_query(count: int) -> Query:
    return Query(tuple(Operator(f"f{i}", ("code",)) for i in range(count)))


def simulate(
    policy: Policy,
    bits: np.ndarray,
    costs: Sequence[float] | None = None,
    query: Query | None = None,
    batch: int = 1000,
    start: Sequence[int] | None = None,
    fixed: float = 0.0,
    seed: int = 0,
) -> Outcome:
    """Process the bits batch by batch."""
    count = bits.shape[1]
    query = query or plain_query(count)
    clock = Clock()
    each = [1.0] * count if costs is None else costs
    predicates = [BitPredicate(i, float(each[i]), clock, fixed) for i in range(count)]
    mesh = None if start is None else Mesh.single(query, tuple(query.names[i] for i in start))
    learner = policy.bind(query, mesh)
    fabric = Fabric(query, [(p, [0, 1]) for p in predicates], learner, seed, clock, clock)
    numbers = codes(bits) if count else np.zeros(len(bits), np.int64)
    keep, per_batch, needed, events = [], [], [], []
    for begin in range(0, len(bits), batch):
        part = numbers[begin : begin + batch]
        ids = np.arange(begin, begin + len(part))
        keep.append(fabric.process([pa.array(part), pa.array(ids)], len(part)))
        ledger = fabric.take_ledger()
        per_batch.append(sum(tally.evaluated for tally in ledger.operators))
        needed.append(per_batch[-1] - sum(tally.extra for tally in ledger.operators))
        events += ledger.events
    joined = np.concatenate(keep) if keep else np.zeros(0, bool)
    return Outcome(joined, fabric, predicates, per_batch, needed, events)
