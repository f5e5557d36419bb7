"""What a policy is told, what it answers, and the contract between them."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.model import InputError, Mesh, Query, microseconds
from anabranch.model.join import JoinQuery

Bits = NDArray[np.bool_]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

NO_ROWS: Rows = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Sampling:
    """What to profile until the policy is asked again.

    `rate` of the rows are profiled. `extra[i, j]` says whether a profiled row that was dropped at
    position i of its route is still evaluated at the later position j. With `first`, profiled rows
    meet that operator first, as early as its guards allow, and go on as usual. The policy is asked
    again after `rows` rows, or after the batch. A ruster of fewer than `least` rows joins the
    largest one.
    """

    rate: float = 0.0
    extra: Bits | None = None
    rows: int | None = None
    first: int | None = None
    least: int = 0

    @staticmethod
    def everything(operators: int, rate: float, rows: int | None = None) -> "Sampling":
        """Profiled rows are evaluated by every operator."""
        return Sampling(rate, np.ones((operators, operators), bool), rows)


@dataclass(frozen=True)
class Call:
    """One timed call of an operator: rows evaluated, of these for profiling, and passed.

    `seconds` passed while it ran, for `busy` of these it had the processor; of these it spent
    `computing` on the verdicts, the others to bring the columns into the form that it takes.
    """

    operator: int
    rows: int
    extra: int
    passed: int
    seconds: float
    busy: float = 0.0
    computing: float = 0.0


@dataclass(frozen=True)
class Visit:
    """The rows of a slice that one call evaluated, and which of them passed."""

    operator: int
    rows: Rows
    passed: Bits


def _no_values(name: str) -> Floats:
    raise KeyError(name)


@dataclass(frozen=True)
class Feedback:
    """What happened to one slice of rows.

    `dropped` has one row per profiled row and one column per operator (in the query's order): did
    the operator drop it? `passed` likewise. Operators that were not evaluated on a row have False
    in both. `profiled` are the profiled rows' places in the slice, `visits` the rows of each call,
    `values` gives the slice's values of an attribute, `picked` those of some rows, `codes` the
    partitions that the rows were classified by, `cells` these taken together and `routes` the route
    of each row (empty where all rows take one). `routing` are the seconds that this took, `spent`
    those of the whole slice, and `learning` those that the last `observe` took. `batch` are the
    rows of the batch that the slice is part of.
    """

    rows: int
    calls: tuple[Call, ...]
    dropped: Bits
    now: float = 0.0
    passed: Bits = field(default_factory=lambda: np.zeros((0, 0), bool))
    profiled: Rows = field(default_factory=lambda: NO_ROWS)
    visits: tuple[Visit, ...] = ()
    values: Callable[[str], Floats] = _no_values
    codes: tuple[Rows, ...] = ()
    routing: float = 0.0
    spent: float = 0.0
    learning: float = 0.0
    batch: int = 0
    cells: Rows = field(default_factory=lambda: NO_ROWS)
    routes: Rows = field(default_factory=lambda: NO_ROWS)
    picked: Callable[[str, Rows], Floats] | None = None

    def profiled_values(self, names: Sequence[str]) -> Floats:
        """Values of the profiled rows, a column for each of these attributes."""
        rows = self.profiled
        columns = [
            self.picked(name, rows) if self.picked else self.values(name)[rows] for name in names
        ]
        return np.column_stack(columns) if columns else np.zeros((len(self.profiled), 0))


MESH_VERBS = {
    "upgrade": "now",
    "revert": "tried in vain:",
    "fallback": "one route again, no longer",
}


@dataclass(frozen=True)
class Event:
    """A decision: at which of the worker's rows, from which order to which.

    `cost_before` is the measured cost of the order left, `cost_after` what the profile expects of
    the new one, in seconds per row (None where the policy's profile cannot tell).

    The kinds: `switch`, a change of order (of the main one, where there are several); `profile`,
    the best attribute for an operator and its gain ratio; `keep` and `drop`, an operator is from
    now on routed by an attribute, or no longer; `drift`, the measured cost rose, or the cost or a
    selectivity of a route moved; `upgrade` and `revert`, a mesh was tried and found better than the
    plan before, or not (`repair` says how it was found); `fallback`, a mesh in use is no longer
    better than one route; `alone`, the process that watches and searches beside a worker has
    failed, and why.
    """

    kind: str
    row: int
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    cost_before: float = 0.0
    cost_after: float | None = None
    worker: str = ""
    operator: str = ""
    attribute: str = ""
    gain: float | None = None
    routes: int = 0
    repair: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Event":
        return cls(**{**data, "before": tuple(data["before"]), "after": tuple(data["after"])})

    def __str__(self) -> str:
        return f"row {self.row:,}: {self._told()}"

    def _told(self) -> str:
        match self.kind:
            case "profile":
                best = (
                    f"{self.attribute} (gain ratio {self.gain:.3f})" if self.attribute else "none"
                )
                return f"best attribute for {self.operator}: {best}"
            case "keep" | "drop":
                verb = "routed by" if self.kind == "keep" else "no longer routed by"
                return f"{self.operator} {verb} {self.attribute}{self._costs('without', 'with')}"
            case "upgrade" | "revert" | "fallback":
                verb = MESH_VERBS[self.kind]
                how = f" ({self.repair})" if self.repair else ""
                told = f"{verb} {self.routes} routes by {self.attribute}{how}"
                return told + self._costs("without", "with")
            case "alone":
                return f"no process beside to watch and search: {self.repair}"
            case "drift" if self.attribute:
                what = "cost" if self.attribute == "cost" else f"selectivity of {self.attribute}"
                where = f"route {self.routes}" if self.routes else "all rows"
                return f"the {what} of {where} changed"
            case "drift":
                return f"cost per row changed{self._costs('was', 'is')}"
            case _:
                change = f"{', '.join(self.before)} -> {', '.join(self.after)}"
                return f"{change}{self._costs('measured', 'expected')}"

    def _costs(self, before: str, after: str) -> str:
        if not self.cost_before:
            return ""
        told = "" if self.cost_after is None else f", {after} {microseconds(self.cost_after)}"
        return f" ({before} {microseconds(self.cost_before)}{told} us per row)"


@dataclass(frozen=True)
class Opinion:
    """What one worker learned: its rows, its plan, and what that was learned from."""

    rows: int
    plan: Mesh
    evidence: Mapping[str, Any] | None = None


@dataclass
class Policy(ABC):
    """Chooses the order in which operators see rows.

    A policy is made with its parameters only, then bound to a query by `bind`, which returns a
    fresh learner. It never reads a clock: times arrive in the feedback. What it draws at random
    comes from a generator of its own with a fixed seed.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    uses_attributes: ClassVar[bool] = False
    # Columns taken as attributes where none are named: each is eight bytes per row on the way to
    # Python, and is read from the source though no predicate asks for it.
    most_attributes: ClassVar[int] = 32
    # Whether lookups are joins inside Spark where they can, and not among what is ordered.
    lookups_inside: ClassVar[bool] = False
    query: Query = field(init=False, repr=False, compare=False)

    def bind(self, query: Query, start: Mesh | None = None) -> Self:
        """A fresh learner for `query` that begins with the plan `start`, if there is one."""
        if start is not None and not isinstance(start, Mesh):
            raise InputError(f"start is a plan, as from load(path) or run.plan(), got {start!r}")
        self.check(query)
        learner = copy.copy(self)
        learner.query = query
        learner.begin(start.check(query) if start else None)
        return learner

    def check(self, query: Query) -> None:  # noqa: B027  (most policies take any query)
        """Raise an `InputError` when the policy cannot serve the query."""

    def beside(self) -> None:  # noqa: B027  (most policies think fast)
        """Have slow thoughts in a process beside this one, so that no batch waits for them."""

    def effort(self) -> int:
        """Steps of thought in the last `observe`, for a clock that does not run by itself."""
        return 0

    def close(self) -> None:  # noqa: B027  (most policies start nothing)
        """End what was started beside."""

    def needs(self) -> tuple[str, ...]:
        """Attributes that it must have, besides those that it may be offered."""
        return ()

    def encoded(self, encode: Callable[[str, Sequence[Any]], Sequence[float]]) -> Self:
        """This policy with the attribute values that it names brought to the kernel's form."""
        return self

    def restricted(self, query: Query, whole: Query) -> Self:
        """This policy for the operators of one stage of a query; it may name those of others."""
        return self

    def for_join(self, join: JoinQuery, rates: Mapping[str, float] | None) -> Self:
        """This policy for a join of streams; it may plan for all of them together."""
        return self

    def of_stream(self, stream: str, probes: Query) -> "Policy":
        """This policy for the probes of one stream's rows."""
        return self

    @abstractmethod
    def begin(self, start: Mesh | None) -> None:
        """Set up the learner's state."""

    @abstractmethod
    def plan(self) -> Mesh:
        """The plan to follow now."""

    def learned(self) -> Mesh:
        """The plan to save; a plan to follow now may have parts that are only tried."""
        return self.plan()

    def testimony(self) -> dict[str, Any] | None:
        """What was learned from, as plain data, if there is news of that for the driver."""
        return None

    def agree(
        self, query: Query, opinions: Sequence["Opinion"], search: bool = True
    ) -> Mesh | None:
        """One plan from what several workers learned; None if the most followed order is it.

        Without a search it is the best of theirs.
        """
        return None

    def main_order(self) -> tuple[str, ...]:
        """The order in force, of the main route where there are several."""
        return self.plan().routes[0].order

    @abstractmethod
    def sampling(self) -> Sampling:
        """What to profile next."""

    @abstractmethod
    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        """Learn from a slice of rows; return the decisions that it led to."""
