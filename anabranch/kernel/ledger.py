"""What a fabric did since it last reported."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from anabranch.model.telling import Words
from anabranch.policies import Call, Event

# Events that one ledger carries; the count of switches is exact beyond that.
MAX_EVENTS = 200
# Routes that one ledger tells apart; the rows on others are added up.
MAX_ROUTES = 100
# Words of an attribute that are remembered.
MAX_WORDS = 1000
Route = tuple[int, ...]  # operators by index
OTHER_ROUTES: Route = (-1,)
# How an evaluation was routed, besides by an attribute's name.
UNCLASSIFIED, PROFILING = "", "*"
NO_LABELS: Mapping[int, str] = {}
NO_WORK: Mapping[Route, Sequence[int]] = {}


@dataclass
class OperatorTally:
    """Counts of one operator; `extra` are evaluations that only profiling asked for."""

    evaluated: int = 0
    extra: int = 0
    passed: int = 0
    calls: int = 0
    seconds: float = 0.0
    computing: float = 0.0  # processor seconds for the verdicts alone

    def update(self, call: Call) -> None:
        self.evaluated += call.rows
        self.extra += call.extra
        self.passed += call.passed
        self.calls += 1
        self.seconds += call.seconds
        self.computing += call.computing

    def merge(self, other: "OperatorTally") -> "OperatorTally":
        return OperatorTally(
            self.evaluated + other.evaluated,
            self.extra + other.extra,
            self.passed + other.passed,
            self.calls + other.calls,
            self.seconds + other.seconds,
            self.computing + other.computing,
        )

    def get(self) -> tuple[int, int, int, int, float, float]:
        counts = self.evaluated, self.extra, self.passed, self.calls
        return (*counts, self.seconds, self.computing)


@dataclass(frozen=True)
class Times:
    """Seconds inside the fabric: in all, converting columns, classifying rows, learning.

    The last two compute and wait for nobody: they are processor seconds.
    """

    total: float = 0.0
    converting: float = 0.0
    routing: float = 0.0
    learning: float = 0.0

    def merge(self, other: "Times") -> "Times":
        return Times(*(a + b for a, b in zip(self.get(), other.get(), strict=True)))

    def get(self) -> tuple[float, float, float, float]:
        return (self.total, self.converting, self.routing, self.learning)


def both_words(first: Words, second: Words) -> dict[str, dict[float, str]]:
    """What numbers stand for by either; an attribute with very many is hardly a class.

    Examples
    --------
    >>> both_words({"city": {1.0: "Oslo"}}, {"city": {2.0: "Rome"}})
    {'city': {1.0: 'Oslo', 2.0: 'Rome'}}
    """
    return {
        name: dict(islice({**first.get(name, {}), **second.get(name, {})}.items(), MAX_WORDS))
        for name in {**first, **second}
    }


@dataclass
class Ledger:
    """Mergeable account of rows, evaluations, times, routes and decisions.

    `routing` counts evaluations by operator and by what they were routed by: an attribute, none
    (`UNCLASSIFIED`), or in order to profile (`PROFILING`). `work` has the evaluations of rows on a
    route, by operator. `plan` is the newest plan with a classifier, as
    data, `evidence` what it was learned from, if there is news of that, and `words` what the
    numbers of attributes stand for, as far as it was not told before.

    Examples
    --------
    >>> one, two = Ledger.empty(1), Ledger.empty(1)
    >>> one.update(10, 4, [Call(0, 10, 0, 4, 0.5)], [((0,), 10)], (), Times(0.6, 0.05))
    >>> two.update(5, 5, [Call(0, 5, 0, 5, 0.5)], [((0,), 5)], (), Times(0.6, 0.05))
    >>> both = one.merge(two)
    >>> both.rows_in, both.rows_out, both.operators[0].evaluated, dict(both.routes)
    (15, 9, 15, {(0,): 15})
    >>> Ledger.from_dict(both.to_dict()) == both
    True
    """

    operators: list[OperatorTally]
    rows_in: int = 0
    rows_out: int = 0
    times: Times = field(default_factory=Times)
    cpu: float = 0.0  # processor seconds of the worker, if its host tells
    switches: int = 0
    routes: Counter[Route] = field(default_factory=Counter)
    routing: Counter[tuple[int, str]] = field(default_factory=Counter)
    current: tuple[str, ...] = ()
    plan: dict[str, Any] | None = None
    events: list[Event] = field(default_factory=list)
    work: dict[Route, list[int]] = field(default_factory=dict)
    evidence: dict[str, Any] | None = None
    words: dict[str, dict[float, str]] = field(default_factory=dict)

    @classmethod
    def empty(cls, operators: int) -> "Ledger":
        return cls([OperatorTally() for _ in range(operators)])

    def update(
        self,
        rows_in: int,
        rows_out: int,
        calls: Sequence[Call],
        routes: Sequence[tuple[Route, int]],
        events: Sequence[Event],
        times: Times,
        labels: Mapping[int, str] = NO_LABELS,
        work: Mapping[Route, Sequence[int]] = NO_WORK,
    ) -> None:
        """Add a slice: routes with their rows and work, and what routes each operator."""
        self.rows_in += rows_in
        self.rows_out += rows_out
        self.times = self.times.merge(times)
        for route, rows in routes:
            self.routes[route if self._has_room(route) else OTHER_ROUTES] += rows
        for call in calls:
            self.operators[call.operator].update(call)
            self.routing[call.operator, PROFILING] += call.extra
            label = labels.get(call.operator, UNCLASSIFIED)
            self.routing[call.operator, label] += call.rows - call.extra
        for route, evaluated in work.items():
            self._add_work(route if self._has_room(route) else OTHER_ROUTES, evaluated)
        self.switches += sum(event.kind == "switch" for event in events)
        self.events = [*self.events, *events][:MAX_EVENTS]

    def _add_work(self, route: Route, evaluated: Sequence[int]) -> None:
        before = self.work.get(route, [0] * len(evaluated))
        self.work[route] = [a + b for a, b in zip(before, evaluated, strict=True)]

    def _has_room(self, route: Route) -> bool:
        return route in self.routes or len(self.routes) < MAX_ROUTES

    def merge(self, other: "Ledger") -> "Ledger":
        """One account of both; `current` and `plan` are the later one's."""
        merged = Ledger(
            [a.merge(b) for a, b in zip(self.operators, other.operators, strict=True)],
            self.rows_in + other.rows_in,
            self.rows_out + other.rows_out,
            self.times.merge(other.times),
            self.cpu + other.cpu,
            self.switches + other.switches,
            self.routes.copy(),
            self.routing + other.routing,
            other.current or self.current,
            other.plan or self.plan,
        )
        for route, rows in other.routes.items():
            merged.routes[route if merged._has_room(route) else OTHER_ROUTES] += rows
        merged.events = [*self.events, *other.events][:MAX_EVENTS]
        merged.work = dict(self.work)
        for route, evaluated in other.work.items():
            merged._add_work(route if merged._has_room(route) else OTHER_ROUTES, evaluated)
        merged.evidence = other.evidence or self.evidence
        merged.words = both_words(self.words, other.words)
        return merged

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "operators": [list(tally.get()) for tally in self.operators],
            "rows": [self.rows_in, self.rows_out],
            "times": list(self.times.get()),
            "cpu": self.cpu,
            "switches": self.switches,
            "routes": [[list(route), rows] for route, rows in self.routes.items()],
            "routing": [[*key, rows] for key, rows in self.routing.items() if rows],
            "current": list(self.current),
            "plan": self.plan,
            "events": [event.to_dict() for event in self.events],
            "work": [[list(route), evaluated] for route, evaluated in self.work.items()],
            "evidence": self.evidence,
            "words": {name: list(known.items()) for name, known in self.words.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Ledger":
        return cls(
            [OperatorTally(*values) for values in data["operators"]],
            rows_in=data["rows"][0],
            rows_out=data["rows"][1],
            times=Times(*data["times"]),
            cpu=data["cpu"],
            switches=data["switches"],
            routes=Counter({tuple(route): rows for route, rows in data["routes"]}),
            routing=Counter({(operator, by): rows for operator, by, rows in data["routing"]}),
            current=tuple(data["current"]),
            plan=data["plan"],
            events=[Event.from_dict(event) for event in data["events"]],
            work={tuple(route): list(evaluated) for route, evaluated in data["work"]},
            evidence=data["evidence"],
            words={name: dict(known) for name, known in data["words"].items()},
        )
