"""A-Greedy: keep the Greedy Invariant true while the data drifts.

S. Babu, R. Motwani, K. Munagala, I. Nishizawa, J. Widom: Adaptive Ordering of Pipelined Stream
Filters, SIGMOD 2004, Section 4. The invariant: no operator later in the order drops more per unit
of cost, of the rows that reach a position, than the operator at that position.

>>> from anabranch.model import Operator, Query
>>> from anabranch.policies.base import Call, Feedback
>>> learner = AGreedy().bind(Query((Operator("a"), Operator("b"))))
>>> def slice_of(dropped):
...     calls = tuple(Call(i, len(dropped), 0, int((~dropped[:, i]).sum()), 1e-3) for i in (0, 1))
...     return Feedback(len(dropped), calls, dropped)
>>> only_b = np.tile(np.array([[False, True]]), (300, 1))
>>> for _ in range(2): events = learner.observe(slice_of(only_b))
>>> print(learner.plan())
1: b, a
>>> for _ in range(5): events = learner.observe(slice_of(~only_b))
>>> print(learner.plan())
1: a, b
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.model import InputError
from anabranch.policies.base import Bits, Sampling
from anabranch.policies.learner import Profiler
from anabranch.policies.measured import check_share
from anabranch.stats import MatrixView, ProfileWindow

# Bounds on a sampling rate that is chosen to a budget.
MIN_P, MAX_P = 0.0005, 0.05


@dataclass
class AGreedy(Profiler):
    """Order by conditional drop rate per cost, corrected as soon as the profile says so.

    Parameters
    ----------
    p
        Drop-profiling probability: this share of the rows is evaluated by every operator. `"auto"`
        chooses it so that the extra evaluations cost the share `budget` of the useful ones.
    window
        Profile rows remembered (rows that some operator dropped).
    alpha
        Thrash avoidance: a later operator must be better by 1 / alpha. The converged order costs at
        most 4 / alpha times the optimum (and `gain` more).
    seconds
        Also forget profile rows older than this.
    budget
        Share of the useful work that profiling may add; only used with `p="auto"`.
    gain
        Share of the expected cost that a new order must save. Far down the order few rows are left
        to judge by, and a change there saves next to nothing.
    first_rows
        Rows profiled in full for the first order.
    """

    name: ClassVar[str] = "agreedy"
    summary: ClassVar[str] = "A-Greedy: conditional drop rate per cost, corrected at once"
    seconds: float | None = None
    budget: float = 0.01
    gain: float = 0.005

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("budget", self.budget)
        if not 0 <= self.gain < 1:
            raise InputError(f"gain is a share of at least 0 and below 1, got {self.gain!r}")

    def check_rate(self) -> None:
        if self.p != "auto":
            check_share('p (or "auto")', self.p)

    def reset(self) -> None:
        self._window = ProfileWindow(len(self.query), self.window, self.seconds)
        self._view = MatrixView(self.query, self._order)
        self._everything = Sampling.everything(len(self.query), 0.0).extra

    def profile(self) -> Sampling:
        return Sampling(self.rate(), self._everything)

    def rate(self) -> float:
        if self.p != "auto":
            return super().rate()
        costs = self.costs()
        useful = float((costs * self._reach).sum())
        extra = float(costs.sum()) - useful
        return float(np.clip(self.budget * useful / max(extra, 1e-12), MIN_P, MAX_P))

    def evidence(self) -> Bits:
        return self._window.get()

    def first_order(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        self._view.correct(0, self._window.get(), costs)
        return self._view.order

    def collect(self, dropped: Bits, now: float) -> None:
        self._view.insert(dropped)
        self._view.delete(self._window.update(dropped, now))

    def decide(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        if not self.enough(len(self._window)):
            return self._order
        violated = self._view.violation(costs, self.alpha)
        if violated is None:
            return self._order
        corrected = MatrixView(self.query, self._order)
        corrected.correct(violated, self._window.get(), costs, self.alpha)
        if self.expected(corrected.order, costs) <= (1 - self.gain) * self.expected(
            self._order, costs
        ):
            self._view = corrected
        return self._view.order
