"""OM as a policy: a batch is a round.

>>> from anabranch.model import Operator, Query
>>> OM(rate_weight=0, memory_weight=0)
Traceback (most recent call last):
anabranch.model.errors.InputError: rate_weight and memory_weight are both 0: one of them must count
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.cost.chart import Chart
from anabranch.cost.checks import check_selectivity, is_number
from anabranch.cost.utility import Utility, Weights
from anabranch.model import InputError, Mesh, Query
from anabranch.policies.base import Bits, Event, Feedback, Sampling
from anabranch.policies.learner import Learner
from anabranch.policies.measured import check_rows, check_share
from anabranch.policies.om.planner import OmPlanner
from anabranch.stats.decayed import Decayed

# Profiled rows that a round has at least: a few would tell nothing of selectivities.
LEAST_ROWS = 200


@dataclass
class OM(Learner):
    """The order whose weighed output rate and memory are best for the statistics of the round.

    Parameters
    ----------
    rate_weight, memory_weight
        What output rate and memory count.
    partitions
        Of each axis of the chart (k); fewer where there are many operators.
    history, decay
        Rounds that are remembered, and how fast they fade (d and a of Section 4.3).
    hysteresis
        Share of a region that estimates must be beyond a border before the plan changes.
    window
        In rounds, the seconds of the stream that one stands for; by default those since the round
        before.
    p
        Share of the rows that all operators are asked of.
    """

    name: ClassVar[str] = "om"
    summary: ClassVar[str] = "OM: a chart of plans over rate and selectivities, for rate and memory"
    rate_weight: float = 0.4
    memory_weight: float = 0.6
    partitions: int = 10
    history: int = 10
    decay: float = 1.0
    hysteresis: float = 0.1
    window: float | None = None
    p: float = 0.01

    def __post_init__(self) -> None:
        Weights(self.rate_weight, self.memory_weight)
        Decayed(self.history, self.decay)
        check_rows("partitions", self.partitions, of=" of parts")
        check_selectivity("hysteresis", self.hysteresis)
        check_share("p", self.p)
        check_rows("first_rows", self.first_rows)
        if self.window is not None and not (is_number(self.window) and self.window > 0):
            raise InputError(f"window is a number of seconds above 0, got {self.window!r}")

    def planner(self, query: Query) -> OmPlanner:
        """A fresh one."""
        return OmPlanner(
            query,
            Utility(Weights(self.rate_weight, self.memory_weight)),
            self.partitions,
            self.history,
            self.decay,
            self.hysteresis,
            self.window or 1.0,
        )

    @property
    def chart(self) -> Chart | None:
        """The chart in use, once there is one."""
        return self._planner.chart

    def begin(self, start: Mesh | None) -> None:
        self._planner = self.planner(self.query)
        super().begin(start)

    def reset(self) -> None:
        self._dropped = np.zeros(len(self.query), np.int64)
        self._passed = np.zeros(len(self.query), np.int64)
        self._profiled = self._came = 0
        self._since: float | None = None

    def profile(self) -> Sampling:
        return Sampling.everything(len(self.query), self.p)

    def collect(self, dropped: Bits, now: float) -> None:
        """All that counts is taken from the feedback: also rows that nobody dropped."""

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        if feedback.rows and len(self.query) > 1:
            self._count(feedback)
        return super().observe(feedback)

    def _count(self, feedback: Feedback) -> None:
        if self._since is None:
            self._since = feedback.now - feedback.spent
        self._came += feedback.rows
        self._profiled += len(feedback.profiled)
        if len(feedback.dropped):
            self._dropped += feedback.dropped.sum(axis=0)
            self._passed += feedback.passed.sum(axis=0)
        self._now = feedback.now

    def first_order(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return self._round(costs)

    def decide(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return self._round(costs) if self._profiled >= LEAST_ROWS else self._order

    def _round(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        asked = self._dropped + self._passed
        shares = {
            name: float(self._passed[i] / asked[i])
            for i, name in enumerate(self.query.names)
            if asked[i]
        }
        seconds = self._now - (self._since or 0.0)
        self._planner.order = self._order
        self._planner.observe(self._came, seconds, shares, costs.tolist())
        self.reset()
        self._since = self._now
        return self._planner.order
