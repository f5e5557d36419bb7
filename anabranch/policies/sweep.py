"""Sweep: profile one operator at a time.

A-Greedy paper, Section 5. In a stage only the operator at one position is profiled and compared
with all before it; the stage ends at a violation or after `window` profile rows. Less profiling
than A-Greedy, the same converged order, slower to adapt.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import greedy_order
from anabranch.policies.base import Bits, Sampling
from anabranch.policies.learner import Profiler
from anabranch.stats import MatrixView


@dataclass
class Sweep(Profiler):
    """Rotate over the positions; move the profiled operator forward where it does better.

    Parameters
    ----------
    p
        Drop-profiling probability.
    window
        Profile rows per stage.
    alpha
        Thrash avoidance, as for A-Greedy.
    """

    name: ClassVar[str] = "sweep"
    summary: ClassVar[str] = "one profiled operator per stage; cheap, slower to adapt"
    window: int = 500

    def reset(self) -> None:
        self._position = 1
        self._begin_stage(self._order)

    def _begin_stage(self, order: tuple[int, ...]) -> None:
        self._bits = np.zeros((0, len(self.query)), bool)
        self._view = MatrixView(self.query, order)

    def profile(self) -> Sampling:
        extra = np.zeros((len(self.query), len(self.query)), bool)
        extra[:, self._position] = True
        return Sampling(self.rate(), extra)

    def collect(self, dropped: Bits, now: float) -> None:
        self._bits = np.concatenate([self._bits, dropped])
        self._view.insert(dropped)

    def first_order(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        order = greedy_order(self._bits, costs, self.query)
        self._begin_stage(order)
        return order

    def decide(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        if not self.enough(len(self._bits)):
            return self._order
        target = self._violated(costs)
        if target is not None:
            return self._moved(target)
        if len(self._bits) >= self.window:
            self._position = self._position % (len(self.query) - 1) + 1
            self._begin_stage(self._order)
        return self._order

    def _moved(self, target: int) -> tuple[int, ...]:
        """The profiled operator goes to `target`, the others keep their order."""
        order = list(self._order)
        order.insert(target, order.pop(self._position))
        self._begin_stage(tuple(order))
        return tuple(order)

    def _violated(self, costs: NDArray[np.float64]) -> int | None:
        """The first position before the profiled one where the Sweep Invariant fails."""
        j = self._position
        ratios = self._view.values / costs[list(self._order)]
        for i in range(j):
            allowed = self.query.guards[self._order[j]] <= set(self._order[:i])
            if allowed and ratios[i, i] < self.alpha * ratios[i, j]:
                return i
        return None
