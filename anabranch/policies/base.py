"""What a policy is told, what it answers, and the contract between them."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anabranch.model import InputError, Mesh, Query

Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Sampling:
    """What to profile until the policy is asked again.

    `rate` of the rows are profiled. `extra[i, j]` says whether a profiled row that was dropped at
    position i of the route is still evaluated at the later position j. The policy is asked again
    after `rows` rows, or after the batch.
    """

    rate: float = 0.0
    extra: Bits | None = None
    rows: int | None = None

    @staticmethod
    def everything(operators: int, rate: float, rows: int | None = None) -> "Sampling":
        """Profiled rows are evaluated by every operator."""
        return Sampling(rate, np.ones((operators, operators), bool), rows)


@dataclass(frozen=True)
class Call:
    """One timed call of an operator: rows evaluated, of these the profiling extra, and passed.

    `seconds` passed while it ran, for `busy` of these it had the processor.
    """

    operator: int
    rows: int
    extra: int
    passed: int
    seconds: float
    busy: float = 0.0

    @property
    def cost(self) -> float:
        """The seconds to order by.

        A predicate that computes is judged by its processor time, so that the time of competing
        processes is not put down to whichever operator runs then. One that mostly waits, for a
        remote call or for threads of its own, is judged by the time that passed.
        """
        return self.busy if self.busy > self.seconds / 2 else self.seconds


@dataclass(frozen=True)
class Feedback:
    """What happened to one slice of rows.

    `dropped` has one row per profiled row and one column per operator (in the query's order): did
    the operator drop it? Operators that were not evaluated on a row have False there.
    """

    rows: int
    calls: tuple[Call, ...]
    dropped: Bits
    now: float = 0.0


@dataclass(frozen=True)
class Event:
    """A decision: at which of the worker's rows, from which order to which.

    `cost_before` is the measured cost of the order left, `cost_after` what the profile expects of
    the new one, in seconds per row (None where the policy's profile cannot tell).
    """

    kind: str
    row: int
    before: tuple[str, ...]
    after: tuple[str, ...]
    cost_before: float
    cost_after: float | None = None
    worker: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Event":
        return cls(**{**data, "before": tuple(data["before"]), "after": tuple(data["after"])})

    def __str__(self) -> str:
        expected = "" if self.cost_after is None else f", expected {self.cost_after * 1e6:.3g}"
        return (
            f"row {self.row:,}: {', '.join(self.before)} -> {', '.join(self.after)} "
            f"(measured {self.cost_before * 1e6:.3g}{expected} us per row)"
        )


@dataclass
class Policy(ABC):
    """Chooses the order in which operators see rows.

    A policy is made with its parameters only, then bound to a query by `bind`, which returns a
    fresh learner. It never reads a clock nor draws a random number: times arrive in the feedback.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
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

    @abstractmethod
    def begin(self, start: Mesh | None) -> None:
        """Set up the learner's state."""

    @abstractmethod
    def plan(self) -> Mesh:
        """The plan to follow now."""

    @abstractmethod
    def sampling(self) -> Sampling:
        """What to profile next."""

    @abstractmethod
    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        """Learn from a slice of rows; return the decisions that it led to."""
