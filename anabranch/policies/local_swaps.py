"""LocalSwaps: swap neighbours that stand the wrong way round.

A-Greedy paper, Section 7. A profiled row is evaluated by one operator more than it needs, so only
two diagonals of the matrix view are known (Figure 7); that is the cheapest profile of all, and it
can stay stuck in a local optimum (Example 7).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import greedy_order
from anabranch.policies.base import Bits, Sampling
from anabranch.policies.learner import Profiler
from anabranch.stats import MatrixView, ProfileWindow


@dataclass
class LocalSwaps(Profiler):
    """Keep d(i|i-1) / t_i at least d(i+1|i-1) / t_(i+1) for every two neighbours.

    Parameters
    ----------
    p
        Drop-profiling probability.
    window
        Profile rows remembered since the last swap.
    alpha
        Thrash avoidance, as for A-Greedy.
    """

    name: ClassVar[str] = "local_swaps"
    summary: ClassVar[str] = "swaps neighbours; cheapest profile, can get stuck"

    def reset(self) -> None:
        self._restart(self._order)
        self._neighbour = np.eye(len(self.query), k=1, dtype=bool)

    def _restart(self, order: tuple[int, ...]) -> None:
        # Rows profiled under another order lack the bits of the new neighbours.
        self._window = ProfileWindow(len(self.query), self.window)
        self._view = MatrixView(self.query, order)

    def profile(self) -> Sampling:
        return Sampling(self.rate(), self._neighbour)

    def collect(self, dropped: Bits, now: float) -> None:
        self._view.insert(dropped)
        self._view.delete(self._window.update(dropped, now))

    def first_order(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        order = greedy_order(self._window.get(), costs, self.query)
        self._restart(order)
        return order

    def decide(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        if not self.enough(len(self._window)):
            return self._order
        order = self._swapped(costs)
        if order != self._order:
            self._restart(order)
        return order

    def _swapped(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        """Swap every pair of neighbours that violates the invariant, no operator twice."""
        order = list(self._order)
        ratios = self._view.values / costs[order]
        i = 0
        while i < len(order) - 1:
            free = self.query.guards[order[i + 1]] <= set(order[:i])
            if free and ratios[i, i] < self.alpha * ratios[i, i + 1]:
                order[i], order[i + 1] = order[i + 1], order[i]
                i += 1
            i += 1
        return tuple(order)
