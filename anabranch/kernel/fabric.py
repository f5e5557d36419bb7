"""The self-routing fabric: rows carry their route, operators see only rows still alive.

The rows of a slice are classified, form rusters by route, and every ruster visits its operators.
An operator is called on the rows alive and, in the same call, on the profiled rows that were
dropped before (A-Greedy, Section 4.1), so that profiling adds rows to a call but never a call.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from anabranch.cost import promoted
from anabranch.kernel.attributes import Attributes
from anabranch.kernel.ledger import Ledger, Times
from anabranch.kernel.lexicon import Lexicon
from anabranch.kernel.predicate import Mask, Predicate
from anabranch.kernel.profile import Profile, Rows
from anabranch.kernel.ruster import NO_ROWS, Agenda, Ruster
from anabranch.kernel.token import Token
from anabranch.kernel.wheel import Wheels
from anabranch.model import Classified, InputError, Mesh, Operator, Query
from anabranch.policies import Call, Feedback, Policy, Sampling, Visit


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
class Memory:
    """What outlives a fabric, as the learner does: one task's goes on where another's ended."""

    wheels: Wheels = field(default_factory=Wheels)  # of uncertain routes
    learning: float = 0.0  # processor seconds that the last observe took


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
    attributes
        Attribute name -> which column of the batch has its values.
    memory
        Of an earlier fabric with the same learner.

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
    attributes: Mapping[str, int] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger.empty(len(self.query))
        self.random = np.random.default_rng(self.seed)
        self._lexicon = Lexicon()

    def process(self, columns: Sequence[pa.Array], rows: int) -> Mask:
        """Judge a batch: True where every operator passes the row."""
        keep = np.ones(rows, bool)
        begin = 0
        while begin < rows:
            sampling = self.learner.sampling()
            size = min(rows - begin, sampling.rows or rows)
            whole = size == rows
            part = columns if whole else [column.slice(begin, size) for column in columns]
            keep[begin : begin + size] = self._slice(part, size, sampling, rows)
            begin += size
        return keep

    def take_ledger(self) -> Ledger:
        """What happened since the last call of this."""
        ledger, self.ledger = self.ledger, Ledger.empty(len(self.query))
        if self.learner.uses_attributes and ledger.rows_in:
            ledger.plan = self.learner.learned().to_dict()
            ledger.evidence = self.learner.testimony()
        ledger.words = self._lexicon.take()
        return ledger

    def _slice(
        self, columns: Sequence[pa.Array], rows: int, sampling: Sampling, batch: int
    ) -> Mask:
        begin, idle = self.clock(), self.busy()
        mesh = self.learner.plan()
        named = {name: columns[i] for name, i in self.attributes.items()}
        values = Attributes(named, self._lexicon)
        classified = _gathered(self._classify(mesh, values, rows), sampling.least)
        profile = Profile.of(self._sample(rows, sampling.rate), len(self.query))
        rusters = _rusters(mesh, classified, profile, sampling.first, rows)
        routed, routing = self.clock(), self.busy() - idle
        trip = _Trip(self, columns, rows, profile, sampling, rusters)
        keep = trip.run()
        ran, idle = self.clock(), self.busy()
        feedback = Feedback(
            rows,
            tuple(trip.calls),
            profile.dropped,
            ran,
            profile.passed,
            profile.rows,
            tuple(trip.visits),
            values.get,
            classified.codes,
            routed - begin,
            ran - begin,
            self.memory.learning,
            batch,
            classified.cells,
            classified.routes,
            values.of,
        )
        events = self.learner.observe(feedback)
        end = self.clock()
        # Learning computes: what others took of the processor meanwhile is not its fault.
        self.memory.learning = self.busy() - idle
        times = Times(end - begin, trip.converting, routing, self.memory.learning)
        labels = {self.query.index(name): by for name, by in mesh.routed_by().items()}
        work = _work(mesh, classified, trip)
        self.ledger.update(
            rows, int(keep.sum()), trip.calls, trip.routes, events, times, labels, work
        )
        self.ledger.current = self.learner.main_order()
        return keep

    def _classify(self, mesh: Mesh, values: Attributes, rows: int) -> Classified:
        if mesh.classifier is None:
            return Classified(np.zeros(0, np.int64))
        return mesh.classifier.classify(values.get, rows, self.random)

    def _sample(self, rows: int, rate: float) -> Mask:
        if rate <= 0:
            return np.zeros(rows, bool)
        if rate >= 1:
            return np.ones(rows, bool)
        return self.random.random(rows) < rate


def _gathered(classified: Classified, least: int) -> Classified:
    """Rows of routes that few rows take join the most followed one (minimum size of a ruster)."""
    if not least or not len(classified.routes):
        return classified
    counts = np.bincount(classified.routes)
    few = (counts > 0) & (counts < least)
    few[counts.argmax()] = False
    if not few.any():
        return classified
    routes = np.where(few[classified.routes], counts.argmax(), classified.routes)
    return replace(classified, routes=routes)


def _rusters(
    mesh: Mesh, classified: Classified, profile: Profile, first: int | None, rows: int
) -> list[Ruster]:
    """The rows of each route; profiled ones apart if they have an operator to meet first."""
    if mesh.classifier is None:
        groups = [(mesh.routes[0], np.arange(rows))]
    else:
        # Small numbers are sorted by counting, in one pass.
        by_route = np.argsort(classified.routes.astype(np.int16), kind="stable")
        counts = np.bincount(classified.routes, minlength=len(mesh.routes))
        edges = [0, *np.cumsum(counts).tolist()]
        groups = [
            (route, by_route[begin:end])
            for route, begin, end in zip(mesh.routes, edges, edges[1:], strict=False)
            if end > begin
        ]
    if not len(profile):
        return [Ruster(r.indexes, r.token, members, NO_ROWS) for r, members in groups]
    rusters = []
    for route, members in groups:
        sampled = profile.slot[members] >= 0
        if first is None:
            rusters.append(Ruster(route.indexes, route.token, members, members[sampled]))
        else:
            chosen = members[sampled]
            rusters.append(Ruster(route.indexes, route.token, members[~sampled], NO_ROWS))
            order = promoted(route.indexes, first, mesh.query)
            token: Token = tuple((operator,) for operator in order)
            rusters.append(Ruster(order, token, chosen, chosen))
    return [ruster for ruster in rusters if len(ruster.alive)]


def _work(mesh: Mesh, classified: Classified, trip: "_Trip") -> dict[tuple[int, ...], list[int]]:
    """Evaluations by each operator of the rows on each route."""
    work = np.zeros((len(mesh.routes), len(mesh.query)), np.int64)
    if mesh.classifier is None:
        for call in trip.calls:
            work[0, call.operator] += call.rows
        return {mesh.routes[0].indexes: work[0].tolist()}
    for visit in trip.visits:
        rows = np.bincount(classified.routes[visit.rows], minlength=len(mesh.routes))
        work[:, visit.operator] += rows
    by_order: dict[tuple[int, ...], list[int]] = {}
    for route, row in zip(mesh.routes, work.tolist(), strict=True):
        before = by_order.get(route.indexes, [0] * len(row))
        by_order[route.indexes] = [a + b for a, b in zip(before, row, strict=True)]
    return by_order


class _Trip:
    """All rusters of a slice on their way."""

    def __init__(
        self,
        fabric: Fabric,
        columns: Sequence[pa.Array],
        rows: int,
        profile: Profile,
        sampling: Sampling,
        rusters: Sequence[Ruster],
    ) -> None:
        self._fabric = fabric
        self._columns = columns
        self._total = rows
        self._profile = profile
        self._first = sampling.first
        self._keep = np.ones(rows, bool)
        self.routes = [(ruster.route, len(ruster.alive)) for ruster in rusters]
        self._agenda = Agenda(
            fabric.query, profile, sampling.extra, rusters, fabric.memory.wheels, fabric.random
        )
        self.calls: list[Call] = []
        self.visits: list[Visit] = []
        self.converting = 0.0

    def run(self) -> Mask:
        """Visit operators until no ruster has any left; True where a row passed all."""
        while (step := self._agenda.next()) is not None:
            self._visit(*step)
        return self._keep

    def _visit(self, operator: int, rusters: list[Ruster]) -> None:
        alive = [r.alive for r in rusters]
        shadows = [r.shadows for r in rusters if len(r.shadows)]
        rows = np.concatenate([*alive, *shadows]) if len(rusters) > 1 or shadows else alive[0]
        if len(rows) == self._total:
            rows = np.arange(self._total)  # all rows: nothing to pick out
        with named(self._fabric.query.operators[operator]):
            verdict, call = self._call(operator, rows, sum(map(len, shadows)))
        self.calls.append(call)
        self.visits.append(Visit(operator, rows, verdict))
        passed = np.zeros(self._total, bool)
        passed[rows] = verdict
        for ruster in rusters:
            self._settle(ruster, operator, passed, call.seconds / len(rows))
        self._agenda.advance(rusters)

    def _settle(self, ruster: Ruster, operator: int, passed: Mask, seconds: float) -> None:
        if len(ruster.profiled):
            met = np.concatenate([ruster.alive, ruster.shadows])
            self._profile.record(met, passed[met], operator, ruster.position)
        fine = passed[ruster.alive]
        if ruster.drawn is not None and len(fine):
            count = len(fine)
            self._fabric.memory.wheels.update(
                ruster.drawn, operator, count, int(fine.sum()), count * seconds
            )
        self._keep[ruster.alive[~fine]] = False
        ruster.alive = ruster.alive[fine]

    def _call(self, operator: int, rows: Rows, shadows: int) -> tuple[Mask, Call]:
        predicate, inputs = self._fabric.predicates[operator]
        clock, busy = self._fabric.clock, self._fabric.busy
        begin, idle = clock(), busy()
        converted = predicate.convert(self._take(rows, inputs), len(rows))
        ready, judging = clock(), busy()
        verdict = predicate.judge(converted, len(rows))
        end, done = clock(), busy()
        if len(verdict) != len(rows):
            raise InputError(
                f"the predicate returned {len(verdict)} results for {len(rows)} rows; "
                "it must return one for each"
            )
        self.converting += ready - begin
        extra = shadows
        if operator == self._first:
            extra += int((self._profile.slot[rows] >= 0).sum())
        passed = int(verdict.sum())
        times = end - begin, done - idle, done - judging
        return verdict, Call(operator, len(rows), extra, passed, *times)

    def _take(self, rows: Rows, inputs: Sequence[int]) -> list[pa.Array]:
        columns = [self._columns[i] for i in inputs]
        if len(rows) == self._total:
            return columns
        indices = pa.array(rows)
        return [column.take(indices) for column in columns]
