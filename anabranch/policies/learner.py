"""What all learning policies share: a first profile, measured costs, a log of switches."""

from abc import abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import order_cost
from anabranch.model import Mesh
from anabranch.policies.base import Bits, Event, Feedback, Sampling
from anabranch.policies.measured import COLD_ROWS, Measured, check_rows, check_share

# A policy decides once it has this share of its window: a handful of rows would make it thrash.
LEAST_EVIDENCE = 0.2
# How far the share of dropped rows moves toward that of the newest slice.
SHARE_GAIN = 0.1


@dataclass
class Learner(Measured):
    """A policy that starts from `first_rows` fully profiled rows and then adapts."""

    first_rows: int = field(default=250, kw_only=True)

    def begin(self, start: Mesh | None) -> None:
        super().begin(start)
        self._order = (start or Mesh.single(self.query, self.query.written())).routes[0].indexes
        self._reach = np.ones(len(self.query))
        self._drop_share: float | None = None  # of profiled rows, those that are dropped
        self._cold = COLD_ROWS
        # With a plan to start from there is no need for a first profile.
        self._to_profile = 0 if start else COLD_ROWS + self.first_rows
        self._mesh = Mesh.single(self.query, self.names(self._order))
        self.reset()

    @abstractmethod
    def reset(self) -> None:
        """Set up the state of the algorithm for the order now in force."""

    @abstractmethod
    def profile(self) -> Sampling:
        """What to profile once the first order is there."""

    @abstractmethod
    def collect(self, dropped: Bits, now: float) -> None:
        """Take in profile rows that some operator dropped."""

    @abstractmethod
    def first_order(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        """The order to begin with, from what was collected."""

    @abstractmethod
    def decide(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        """The order to follow from now on."""

    def evidence(self) -> Bits | None:
        """Dropped rows with every operator's bit, by which any order can be costed, if known."""
        return None

    @property
    def beginning(self) -> bool:
        """Whether the first order is yet to be found."""
        return self._to_profile > 0

    def plan(self) -> Mesh:
        return self._mesh

    def sampling(self) -> Sampling:
        if len(self.query) < 2:
            return Sampling()  # one order is all there is
        # Two timed slices at least: a single call that loses the processor must not decide.
        half = min(self._to_profile, max(1, self.first_rows // 2))
        rows = self._cold or half or None
        if self._to_profile:
            return Sampling.everything(len(self.query), 1.0, rows)
        return replace(self.profile(), rows=rows)

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        if not feedback.rows or len(self.query) < 2:
            return ()
        self.measure(feedback)
        self._watch(feedback)
        if not len(feedback.dropped) and not self._to_profile:
            self._cold = max(0, self._cold - feedback.rows)
            return ()  # nothing that a decision could be made by
        self.collect(feedback.dropped[feedback.dropped.any(axis=1)], feedback.now)
        self._cold = max(0, self._cold - feedback.rows)
        if not self._to_profile:
            return self._follow(self.decide(self.costs()))
        self._to_profile = max(0, self._to_profile - feedback.rows)
        return () if self._to_profile else self._follow(self.first_order(self.costs()))

    def _watch(self, feedback: Feedback) -> None:
        self._reach[:] = 0.0
        for call in feedback.calls:
            self._reach[call.operator] += (call.rows - call.extra) / feedback.rows
        if len(feedback.dropped):
            share = float(feedback.dropped.any(axis=1).mean())
            known = share if self._drop_share is None else self._drop_share
            self._drop_share = known + SHARE_GAIN * (share - known)

    def _follow(self, order: tuple[int, ...]) -> tuple[Event, ...]:
        if order == self._order:
            return ()
        before, self._order = self._order, order
        self._mesh = Mesh.single(self.query, self.names(order))
        costs = self.costs()
        measured = float((costs * self._reach).sum())
        names = self.names(before), self.names(order)
        expected = self.expected(order, costs)
        told = None if np.isnan(expected) else expected
        return (Event("switch", self._rows, *names, measured, told),)

    def expected(self, order: tuple[int, ...], costs: NDArray[np.float64]) -> float:
        """Seconds per row under an order: by the evidence for dropped rows, all of it for others.

        NaN if there is no evidence.
        """
        bits = self.evidence()
        if bits is None or self._drop_share is None:
            return float("nan")
        kept = (1 - self._drop_share) * float(costs.sum())
        return self._drop_share * order_cost(bits, costs, order) + kept


@dataclass
class Profiler(Learner):
    """A learner that goes on profiling the share `p` of the rows."""

    p: float | str = 0.01
    window: int = 1000
    alpha: float = 0.9

    def __post_init__(self) -> None:
        self.check_rate()
        check_share("alpha", self.alpha)
        check_rows("window", self.window)
        check_rows("first_rows", self.first_rows)

    def check_rate(self) -> None:
        check_share("p", self.p)

    def rate(self) -> float:
        """The share of rows to profile now."""
        return float(self.p)

    def enough(self, profile_rows: int) -> bool:
        """Whether there is evidence to decide by."""
        return profile_rows >= LEAST_EVIDENCE * self.window
