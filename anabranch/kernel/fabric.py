"""The self-routing fabric: rows carry their route, operators see only rows still alive.

Query Mesh, Section 5: a *ruster* is a group of rows with one r-token, the stack of operators they
have yet to visit. Each operator is evaluated once per ruster, on the rows alive and, in the same
call, on the profiled rows that were dropped before (A-Greedy, Section 4.1), so that profiling adds
rows to a call but never a call.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.kernel.ledger import Ledger
from anabranch.kernel.predicate import Mask, Predicate
from anabranch.model import InputError, Operator, Query
from anabranch.policies import Call, Feedback, Policy, Sampling

Rows = NDArray[np.int64]
Times = tuple[float, float]  # seconds passed, seconds busy


@contextmanager
def named(operator: Operator) -> Iterator[None]:
    """An exception in here tells which predicate it came from."""
    try:
        yield
    except Exception as error:
        columns = ", ".join(operator.columns) or "none"
        error.add_note(f'raised in predicate "{operator.name}" (columns: {columns})')
        raise


@dataclass
class _Profile:
    """The profiled rows of a slice: which operators they met, and which of these dropped them."""

    slot: Rows  # row -> its place here, -1 if not profiled
    rows: Rows  # place -> row
    dropped: Mask
    passed: Mask
    position: NDArray[np.int64]  # where on the route the row was dropped, len(route) if it was not

    @classmethod
    def of(cls, sampled: Mask, operators: int) -> "_Profile":
        rows = np.flatnonzero(sampled)
        slot = np.full(len(sampled), -1, np.int64)
        slot[rows] = np.arange(len(rows))
        blank = np.zeros((len(rows), operators), bool)
        return cls(slot, rows, blank, blank.copy(), np.full(len(rows), operators))

    def shadows(self, position: int, extra: Mask, guards: frozenset[int]) -> Rows:
        """Dropped rows to evaluate at `position` all the same, if their guards let them."""
        gone = self.position < position
        wanted = np.zeros(len(self.rows), bool)
        wanted[gone] = extra[self.position[gone], position]
        if guards:
            wanted &= self.passed[:, list(guards)].all(axis=1)
        return self.rows[wanted]

    def record(self, rows: Rows, verdict: Mask, operator: int, position: int) -> None:
        slots = self.slot[rows]
        met = slots >= 0
        slots, passed = slots[met], verdict[met]
        self.passed[slots, operator] = passed
        self.dropped[slots, operator] = ~passed
        fallen = slots[~passed]
        self.position[fallen] = np.minimum(self.position[fallen], position)


@dataclass
class Fabric:
    """Runs a query's predicates over record batches under a policy that learns.

    Parameters
    ----------
    query
        The operators.
    predicates
        One per operator: what to call, and which columns of the batch it takes.
    learner
        A policy bound to the query.
    seed
        For the choice of profiled rows.
    clock
        Seconds that pass; injected so that tests need not wait.
    busy
        Seconds for which this thread had the processor.

    Examples
    --------
    >>> from anabranch.kernel import RowPredicate
    >>> from anabranch.model import Operator
    >>> from anabranch.policies import Fixed
    >>> query = Query((Operator("even", ("x",)), Operator("big", ("x",))))
    >>> even, big = RowPredicate(lambda x: x % 2 == 0), RowPredicate(lambda x: x > 4)
    >>> fabric = Fabric(query, [(even, [0]), (big, [0])], Fixed().bind(query))
    >>> fabric.process([pa.array([1, 2, 6, 8])], 4).tolist()
    [False, False, True, True]
    >>> [tally.evaluated for tally in fabric.ledger.operators]  # "big" never saw the odd row
    [4, 3]
    """

    query: Query
    predicates: Sequence[tuple[Predicate, Sequence[int]]]
    learner: Policy
    seed: int = 0
    clock: Callable[[], float] = time.perf_counter
    busy: Callable[[], float] = time.thread_time
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger.empty(len(self.query))
        self._random = np.random.default_rng(self.seed)

    def process(self, columns: Sequence[pa.Array], rows: int) -> Mask:
        """Judge a batch: True where every operator passes the row."""
        keep = np.ones(rows, bool)
        begin = 0
        while begin < rows:
            sampling = self.learner.sampling()
            size = min(rows - begin, sampling.rows or rows)
            whole = size == rows
            part = columns if whole else [column.slice(begin, size) for column in columns]
            keep[begin : begin + size] = self._slice(part, size, sampling)
            begin += size
        return keep

    def take_ledger(self) -> Ledger:
        """What happened since the last call of this."""
        ledger, self.ledger = self.ledger, Ledger.empty(len(self.query))
        return ledger

    def _slice(self, columns: Sequence[pa.Array], rows: int, sampling: Sampling) -> Mask:
        begin = self.clock()
        route = self.learner.plan().routes[0]
        profile = _Profile.of(self._sample(rows, sampling.rate), len(self.query))
        ruster = _Ruster(columns, rows, self.clock, self.busy)
        calls = []
        for position, operator in enumerate(route.indexes):
            shadows = profile.rows[:0]
            if sampling.extra is not None and len(profile.rows):
                guards = self.query.guards[operator]
                shadows = profile.shadows(position, sampling.extra, guards)
            if not ruster.alive and not len(shadows):
                continue
            visited, verdict, times = self._visit(ruster, operator, shadows)
            if len(profile.rows):
                profile.record(visited, verdict, operator, position)
            calls.append(Call(operator, len(visited), len(shadows), int(verdict.sum()), *times))
        now = self.clock()
        events = self.learner.observe(Feedback(rows, tuple(calls), profile.dropped, now))
        keep = ruster.keep()
        passed = int(keep.sum())
        spent = self.clock() - begin
        self.ledger.update(rows, passed, calls, route.order, events, spent, ruster.converting)
        return keep

    def _visit(self, ruster: "_Ruster", operator: int, shadows: Rows) -> tuple[Rows, Mask, Times]:
        predicate, inputs = self.predicates[operator]
        with named(self.query.operators[operator]):
            return ruster.visit(predicate, inputs, shadows)

    def _sample(self, rows: int, rate: float) -> Mask:
        if rate <= 0:
            return np.zeros(rows, bool)
        if rate >= 1:
            return np.ones(rows, bool)
        return self._random.random(rows) < rate


class _Ruster:
    """Rows on one route, and which of them are still alive."""

    def __init__(
        self,
        columns: Sequence[pa.Array],
        rows: int,
        clock: Callable[[], float],
        busy: Callable[[], float],
    ) -> None:
        self._columns = columns
        self._total = rows
        self._rows = np.arange(rows)
        self._clock = clock
        self._busy = busy
        self.converting = 0.0

    @property
    def alive(self) -> int:
        return len(self._rows)

    def visit(
        self, predicate: Predicate, inputs: Sequence[int], shadows: Rows
    ) -> tuple[Rows, Mask, Times]:
        """Evaluate on the rows alive and the shadows and drop what fails; tell the seconds."""
        begin, idle = self._clock(), self._busy()
        rows = np.concatenate([self._rows, shadows]) if len(shadows) else self._rows
        converted = predicate.convert(self._take(rows, inputs), len(rows))
        ready = self._clock()
        verdict = predicate.judge(converted, len(rows))
        end, busy = self._clock(), self._busy()
        if len(verdict) != len(rows):
            raise InputError(
                f"the predicate returned {len(verdict)} results for {len(rows)} rows; "
                "it must return one for each"
            )
        self.converting += ready - begin
        self._rows = self._rows[verdict[: len(self._rows)]]
        return rows, verdict, (end - begin, busy - idle)

    def _take(self, rows: Rows, inputs: Sequence[int]) -> list[pa.Array]:
        columns = [self._columns[i] for i in inputs]
        if len(rows) == self._total and len(self._rows) == self._total:
            return columns
        indices = pa.array(rows)
        return [column.take(indices) for column in columns]

    def keep(self) -> Mask:
        keep = np.zeros(self._total, bool)
        keep[self._rows] = True
        return keep
