"""What a fabric did since it last reported."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anabranch.policies import Call, Event

# Events that one ledger carries; the count of switches is exact beyond that.
MAX_EVENTS = 200


@dataclass
class OperatorTally:
    """Counts of one operator; `extra` are evaluations that only profiling asked for."""

    evaluated: int = 0
    extra: int = 0
    passed: int = 0
    calls: int = 0
    seconds: float = 0.0

    def update(self, call: Call) -> None:
        self.evaluated += call.rows
        self.extra += call.extra
        self.passed += call.passed
        self.calls += 1
        self.seconds += call.seconds

    def merge(self, other: "OperatorTally") -> "OperatorTally":
        return OperatorTally(
            self.evaluated + other.evaluated,
            self.extra + other.extra,
            self.passed + other.passed,
            self.calls + other.calls,
            self.seconds + other.seconds,
        )

    def get(self) -> tuple[int, int, int, int, float]:
        return (self.evaluated, self.extra, self.passed, self.calls, self.seconds)


@dataclass
class Ledger:
    """Mergeable account of rows, evaluations, times, routes and decisions.

    `seconds` is the time inside the fabric, `converting` the part of it spent on bringing Arrow
    columns to the predicates, and the tallies' seconds the part inside predicates.

    Examples
    --------
    >>> one, two = Ledger.empty(1), Ledger.empty(1)
    >>> one.update(10, 4, [Call(0, 10, 0, 4, 0.5)], ("a",), (), 0.6, 0.05)
    >>> two.update(5, 5, [Call(0, 5, 0, 5, 0.5)], ("a",), (), 0.6, 0.05)
    >>> both = one.merge(two)
    >>> both.rows_in, both.rows_out, both.operators[0].evaluated, dict(both.routes)
    (15, 9, 15, {('a',): 15})
    >>> Ledger.from_dict(both.to_dict()) == both
    True
    """

    operators: list[OperatorTally]
    rows_in: int = 0
    rows_out: int = 0
    seconds: float = 0.0
    converting: float = 0.0
    switches: int = 0
    routes: Counter[tuple[str, ...]] = field(default_factory=Counter)
    current: tuple[str, ...] = ()
    events: list[Event] = field(default_factory=list)

    @classmethod
    def empty(cls, operators: int) -> "Ledger":
        return cls([OperatorTally() for _ in range(operators)])

    def update(
        self,
        rows_in: int,
        rows_out: int,
        calls: Sequence[Call],
        route: tuple[str, ...],
        events: Sequence[Event],
        seconds: float,
        converting: float,
    ) -> None:
        self.rows_in += rows_in
        self.rows_out += rows_out
        self.seconds += seconds
        self.converting += converting
        self.routes[route] += rows_in
        self.current = events[-1].after if events else route
        for call in calls:
            self.operators[call.operator].update(call)
        self._log(events)

    def _log(self, events: Sequence[Event]) -> None:
        self.switches += len(events)
        self.events = [*self.events, *events][:MAX_EVENTS]

    def merge(self, other: "Ledger") -> "Ledger":
        """One account of both; `current` is the later one's."""
        merged = Ledger(
            [a.merge(b) for a, b in zip(self.operators, other.operators, strict=True)],
            self.rows_in + other.rows_in,
            self.rows_out + other.rows_out,
            self.seconds + other.seconds,
            self.converting + other.converting,
            self.switches + other.switches,
            self.routes + other.routes,
            other.current or self.current,
        )
        merged.events = [*self.events, *other.events][:MAX_EVENTS]
        return merged

    def to_dict(self) -> dict[str, Any]:
        """As plain data; a route is written once."""
        return {
            "operators": [list(tally.get()) for tally in self.operators],
            "rows": [self.rows_in, self.rows_out],
            "seconds": [self.seconds, self.converting],
            "switches": self.switches,
            "routes": [[list(route), rows] for route, rows in self.routes.items()],
            "current": list(self.current),
            "events": [event.to_dict() for event in self.events],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Ledger":
        return cls(
            [OperatorTally(*values) for values in data["operators"]],
            rows_in=data["rows"][0],
            rows_out=data["rows"][1],
            seconds=data["seconds"][0],
            converting=data["seconds"][1],
            switches=data["switches"],
            routes=Counter({tuple(route): rows for route, rows in data["routes"]}),
            current=tuple(data["current"]),
            events=[Event.from_dict(event) for event in data["events"]],
        )
