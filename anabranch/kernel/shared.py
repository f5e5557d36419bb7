"""One pass for several queries: a row goes on as long as some query wants it.

The r-token of a row serves all queries that have not dropped it (Query Mesh, Section 5). An
operator is called once per batch, on the rows that a query which asks for it still wants.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.kernel.fabric import named
from anabranch.kernel.predicate import Mask, Predicate
from anabranch.model import InputError
from anabranch.model.shared import SharedQuery
from anabranch.policies.shared import SharedOrder

Wanted = NDArray[np.int64]  # per row, the queries that want it, as bits


@dataclass
class SharedTally:
    """What happened, by operator and by query; mergeable.

    `alone` are the evaluations that the queries would have made one by one in the same order.
    """

    operators: int
    queries: int
    rows_in: int = 0
    switches: int = 0
    order: tuple[int, ...] = ()
    counts: NDArray[np.int64] = field(init=False)  # evaluated, extra, passed, alone
    seconds: NDArray[np.float64] = field(init=False)
    out: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = np.zeros((4, self.operators), np.int64)
        self.seconds = np.zeros(self.operators)
        self.out = np.zeros(self.queries, np.int64)

    def merge(self, other: "SharedTally") -> "SharedTally":
        merged = SharedTally(
            self.operators,
            self.queries,
            self.rows_in + other.rows_in,
            self.switches + other.switches,
            other.order or self.order,
        )
        merged.counts = self.counts + other.counts
        merged.seconds = self.seconds + other.seconds
        merged.out = self.out + other.out
        return merged

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows_in": self.rows_in,
            "switches": self.switches,
            "order": list(self.order),
            "counts": self.counts.tolist(),
            "seconds": self.seconds.tolist(),
            "out": self.out.tolist(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SharedTally":
        told = cls(
            len(data["seconds"]),
            len(data["out"]),
            int(data["rows_in"]),
            int(data["switches"]),
            tuple(data["order"]),
        )
        told.counts = np.array(data["counts"], np.int64).reshape(4, -1)
        told.seconds = np.array(data["seconds"], float)
        told.out = np.array(data["out"], np.int64)
        return told


@dataclass
class SharedFabric:
    """Runs the predicates of several queries over batches.

    Examples
    --------
    >>> from anabranch.kernel import RowPredicate
    >>> from anabranch.model import Operator, Query
    >>> union = Query((Operator("even", ("x",)), Operator("big", ("x",)), Operator("odd", ("x",))))
    >>> shared = SharedQuery(union, {"one": ("even", "big"), "two": ("big", "odd")})
    >>> tests = [lambda x: x % 2 == 0, lambda x: x > 4, lambda x: x % 2 == 1]
    >>> predicates = [(RowPredicate(test), [0]) for test in tests]
    >>> fabric = SharedFabric(shared, predicates, SharedOrder(shared, learns=False))
    >>> fabric.process([pa.array([1, 6, 7, 2])], np.full(4, 3)).tolist()  # bits of the queries
    [0, 1, 2, 0]
    >>> fabric.tally.counts[0].tolist()  # "big" judged each row once for both
    [4, 4, 2]
    """

    shared: SharedQuery
    predicates: Sequence[tuple[Predicate, Sequence[int]]]
    learner: SharedOrder
    seed: int = 0
    clock: Callable[[], float] = time.perf_counter
    busy: Callable[[], float] = time.thread_time
    tally: SharedTally = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.tally = self._empty()

    def _empty(self) -> SharedTally:
        return SharedTally(len(self.shared.query), len(self.shared.members))

    def take_tally(self) -> SharedTally:
        """What happened since the last call of this."""
        tally, self.tally = self.tally, self._empty()
        return tally

    def process(self, columns: Sequence[pa.Array], wanted: Wanted) -> Wanted:
        """Judge a batch: of the queries that want a row, those that keep it."""
        kept, begin, rows = np.asarray(wanted, np.int64).copy(), 0, len(wanted)
        while begin < rows:
            size = min(rows - begin, self.learner.slice_rows or rows)
            part = [column.slice(begin, size) for column in columns]
            self._slice(part, kept[begin : begin + size])
            begin += size
        return kept

    def _slice(self, columns: Sequence[pa.Array], wanted: Wanted) -> None:
        rows, before = len(wanted), self.learner.switches
        rate = self.learner.rate
        sampled = self.random.random(rows) < rate if 0 < rate < 1 else np.full(rows, rate >= 1)
        sampled &= wanted != 0
        dropped = np.zeros((rows, len(self.shared.query)), bool) if sampled.any() else None
        begun = wanted.copy()
        for operator in self.learner.order:
            # A row that nobody who asks for it wanted may be one that a guard in Spark has dropped.
            known = sampled & ((begun & self.shared.bits[operator]) != 0)
            self._visit(operator, columns, wanted, known, dropped)
        self._count(rows, wanted)
        if dropped is not None:
            places = np.arange(len(self.shared.members))
            alive = (begun[sampled, None] >> places) & 1 == 1
            self.learner.observe(dropped[sampled], alive, self.clock(), rows)
        self.tally.switches += self.learner.switches - before

    def _visit(
        self,
        operator: int,
        columns: Sequence[pa.Array],
        wanted: Wanted,
        sampled: Mask,
        dropped: NDArray[np.bool_] | None,
    ) -> None:
        bits = self.shared.bits[operator]
        needed = (wanted & bits) != 0
        asked = needed
        if dropped is not None:
            guards = list(self.shared.query.guards[operator])
            asked = needed | (sampled & ~dropped[:, guards].any(axis=1))
        places = np.flatnonzero(asked)
        if not len(places):
            return
        with named(self.shared.query.operators[operator]):
            verdict, seconds = self._call(operator, columns, places, len(wanted))
        failed = places[~verdict]
        self._charge(operator, wanted, needed, len(places), int(verdict.sum()), seconds)
        wanted[failed] &= ~bits
        if dropped is not None:
            dropped[failed, operator] = True

    def _charge(
        self, operator: int, wanted: Wanted, needed: Mask, asked: int, passed: int, seconds: float
    ) -> None:
        alive = wanted[needed] & self.shared.bits[operator]
        alone = int(np.bitwise_count(alive).sum())
        extra = asked - int(needed.sum())
        self.tally.counts[:, operator] += (asked, extra, passed, alone)
        self.tally.seconds[operator] += seconds

    def _call(
        self, operator: int, columns: Sequence[pa.Array], places: Wanted, rows: int
    ) -> tuple[Mask, float]:
        predicate, inputs = self.predicates[operator]
        taken = [columns[i] for i in inputs]
        if len(places) < rows:
            taken = [column.take(pa.array(places)) for column in taken]
        begin, idle = self.clock(), self.busy()
        verdict = predicate.judge(predicate.convert(taken, len(places)), len(places))
        seconds = self.clock() - begin
        if len(verdict) != len(places):
            raise InputError(
                f"the predicate returned {len(verdict)} results for {len(places)} rows; "
                "it must return one for each"
            )
        self.learner.timed(operator, len(places), seconds, self.busy() - idle)
        return verdict, seconds

    def _count(self, rows: int, wanted: Wanted) -> None:
        self.tally.rows_in += rows
        self.tally.order = self.learner.order
        for query in range(len(self.shared.members)):
            self.tally.out[query] += int(((wanted >> query) & 1).sum())
