"""Output rate and memory of a plan over streams, weighed against each other.

D. Kulkarni, C. Ravishankar: OM, a Tunable Framework for Optimizing Continuous Queries over Data
Streams, Sections 3.2 and 4.1. A plan is a tree of operators; it is told for given arrival rates and
selectivities, numbers or whole arrays of them.

The paper lets a selection pass `selectivity * rate` however slow it is, and then all orders give
the same rate. Here, as in the rate-based paper, an operator hands on no more than it can process;
what has come waits in memory all the same.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.cost.checks import check_not_negative, is_number
from anabranch.model import InputError

Floats = NDArray[np.float64]
Number = float | Floats
# Between the names of selections that are one operator.
GROUPED = " and "
# Rows per second (Section 5.1).
EQUALITY, RANGE, PROJECTION, EQUI_JOIN = 400e3, 200e3, 500e3, 3e3


@dataclass(frozen=True)
class Weights:
    """How much a util of each is worth.

    >>> first, second = Weights(0.1, 0.9), Weights(20000, 2)
    >>> [round(first.cost(*plan), 2) for plan in ((5.0, 775), (2.5, 575))]  # Section 3.2
    [697.52, 517.54]
    >>> [second.cost(*plan) for plan in ((5.0, 775), (2.5, 575))]
    [5550.0, 9150.0]
    """

    rate: float = 0.4
    memory: float = 0.6

    def __post_init__(self) -> None:
        check_not_negative("rate_weight", self.rate)
        check_not_negative("memory_weight", self.memory)
        if not self.rate and not self.memory:
            raise InputError("rate_weight and memory_weight are both 0: one of them must count")

    def cost(self, rate: Number, memory: Number) -> Number:
        """Cost(C_r, C_m) of Section 3.2; the less the better."""
        return self.rate / rate + self.memory * memory

    def normalised(self, told: "Told", ideal: "Told") -> Number:
        """The same with both terms in proportion to what cannot be done better.

        That is the rate if nothing were slow, and the memory that the rows of a window take.
        """
        return self.rate * _share(ideal.rate, told.rate) + self.memory * _share(
            told.memory, ideal.memory
        )


def _share(part: Number, whole: Number) -> Number:
    """A ratio; where nothing comes, nothing is slow or kept."""
    least = 1e-12
    shares: Number = np.maximum(part, least) / np.maximum(whole, least)
    return shares


@dataclass(frozen=True)
class Conditions:
    """What a plan runs under: rows per second of each stream, the share that operators pass."""

    rates: Mapping[str, Number]
    selectivities: Mapping[str, Number]
    window: float = 1.0

    def __post_init__(self) -> None:
        if not is_number(self.window) or not self.window > 0:
            raise InputError(f"window is a number of seconds above 0, got {self.window!r}")

    def share(self, name: str) -> Number:
        """What an operator passes; a group of selections as if each were by itself."""
        if name in self.selectivities:
            return self.selectivities[name]
        parts: Number = 1.0
        for part in name.split(GROUPED):
            parts = parts * self.selectivities[part]
        return parts


@dataclass(frozen=True)
class Told:
    """What comes out of an operator per second, at most and if it keeps up; memory below it."""

    rate: Number
    flow: Number
    memory: Number
    width: float = 1.0


class Step(ABC):
    """An operator of a plan, with what is below it."""

    name: str

    @abstractmethod
    def told(self, under: Conditions) -> Told:
        """Rate and memory."""

    @abstractmethod
    def __str__(self) -> str: ...


class Above(Step):
    """An operator with one input."""

    below: Step

    def __str__(self) -> str:
        return f"{self.below} -> {self.name}"


@dataclass(frozen=True)
class Arrive(Step):
    """A stream, and the bytes of a row of it."""

    name: str
    width: float = 1.0

    def told(self, under: Conditions) -> Told:
        rate = under.rates[self.name]
        return Told(rate, rate, 0.0, self.width)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Select(Above):
    """Passes a share of the rows; `speed` is the rows that it can process per second.

    >>> fast_first = Select(Select(Arrive("s"), "fast", 500), "slow", 50)
    >>> slow_first = Select(Select(Arrive("s"), "slow", 50), "fast", 500)
    >>> under = Conditions({"s": 500}, {"fast": 0.5, "slow": 0.1})
    >>> [float(plan.told(under).rate) for plan in (fast_first, slow_first)]  # Figure 2
    [5.0, 2.5]
    """

    below: Step
    name: str
    speed: float = RANGE

    def told(self, under: Conditions) -> Told:
        came = self.below.told(under)
        share = under.share(self.name)
        flow = share * came.flow
        memory = came.memory + came.width * _held(came.flow, flow, self.speed, under.window)
        return Told(share * np.minimum(came.rate, self.speed), flow, memory, came.width)


@dataclass(frozen=True)
class Project(Above):
    """Keeps some columns: rows of `width` bytes."""

    below: Step
    name: str
    width: float
    speed: float = PROJECTION

    def told(self, under: Conditions) -> Told:
        came = self.below.told(under)
        waiting = _waiting(came.flow, self.speed, under.window) * came.width
        memory = came.memory + waiting + came.flow * under.window * self.width
        return Told(np.minimum(came.rate, self.speed), came.flow, memory, self.width)


@dataclass(frozen=True)
class Aggregate(Above):
    """One row per window, after all of its rows were read."""

    below: Step
    name: str
    speed: float = RANGE

    def told(self, under: Conditions) -> Told:
        came = self.below.told(under)
        rate = self.speed / np.maximum(came.flow * under.window, 1e-12)
        rate = np.minimum(rate, 1 / under.window)  # a window has one result
        memory = came.memory + came.width * _held(came.flow, rate, self.speed, under.window)
        return Told(rate, rate, memory, came.width)


@dataclass(frozen=True)
class Joined(Step):
    """A join of windows of two inputs; `speed` is the rows that find their partners per second."""

    left: Step
    right: Step
    name: str
    speed: float = EQUI_JOIN

    def told(self, under: Conditions) -> Told:
        left, right = self.left.told(under), self.right.told(under)
        share, window = under.share(self.name), under.window
        busy = np.maximum((left.rate + right.rate) / self.speed, 1.0)
        flow = share * left.flow * right.flow * window
        waiting = sum(
            _waiting(side.flow, self.speed, window) * side.width for side in (left, right)
        )
        width = left.width + right.width
        memory = left.memory + right.memory + waiting + flow * window * width
        return Told(share * left.rate * right.rate * window / busy, flow, memory, width)

    def __str__(self) -> str:
        return f"({self.left}, {self.right})"


def _waiting(flow: Number, speed: float, window: float) -> Number:
    """Rows that come while those of a window are processed."""
    return flow * (flow * window / speed)


def _held(flow: Number, out: Number, speed: float, window: float) -> Number:
    return _waiting(flow, speed, window) + out * window


@dataclass(frozen=True)
class Utility:
    """What plans of one query cost; the ideal is measured by `streams` and all selectivities."""

    weights: Weights = field(default_factory=Weights)
    normalised: bool = True

    def __call__(self, plan: Step, under: Conditions) -> Number:
        told = plan.told(under)
        if not self.normalised:
            return self.weights.cost(told.rate, told.memory)
        return self.weights.normalised(told, ideal(plan, told, under))


def ideal(plan: Step, told: Told, under: Conditions) -> Told:
    """What a plan would tell if all operators kept up, and rows of a window were held once."""
    arrives = _streams(plan)
    rows: Any = sum(under.rates[stream.name] * stream.width for stream in arrives)
    return Told(told.flow, told.flow, rows * under.window, told.width)


def _streams(step: Step) -> Sequence[Arrive]:
    match step:
        case Arrive():
            return [step]
        case Joined(left, right):
            return [*_streams(left), *_streams(right)]
        case Above():
            return _streams(step.below)
    raise TypeError(step)
