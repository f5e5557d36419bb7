"""Independent: order by each operator's own drop rate per cost.

A-Greedy paper, Section 6. Only the first row of the matrix view is kept, as if filters were
independent; on correlated filters its order can cost O(n) times the greedy one (Example 6).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import merit_order
from anabranch.policies.base import Bits, Sampling
from anabranch.policies.learner import Profiler
from anabranch.stats import ProfileWindow


@dataclass
class Independent(Profiler):
    """Keep d(i|0) / t_i in descending order.

    Parameters
    ----------
    p
        Drop-profiling probability.
    window
        Profile rows remembered.
    alpha
        Thrash avoidance, as for A-Greedy.
    """

    name: ClassVar[str] = "independent"
    summary: ClassVar[str] = "unconditional drop rate per cost, blind to correlation"
    p: float | str = 0.005

    def reset(self) -> None:
        self._window = ProfileWindow(len(self.query), self.window)
        self._drops = np.zeros(len(self.query), np.int64)  # the first row of V
        self._everything = Sampling.everything(len(self.query), 0.0).extra

    def profile(self) -> Sampling:
        return Sampling(self.rate(), self._everything)

    def evidence(self) -> Bits:
        return self._window.get()

    def first_order(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return merit_order(self.query, self._drops / costs)

    def collect(self, dropped: Bits, now: float) -> None:
        self._drops += dropped.sum(axis=0) - self._window.update(dropped, now).sum(axis=0)

    def decide(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        ratios = self._drops / costs
        if not self.enough(len(self._window)) or not self._violated(ratios):
            return self._order
        return merit_order(self.query, ratios)

    def _violated(self, ratios: NDArray[np.float64]) -> bool:
        for position, here in enumerate(self._order):
            rivals = [
                i
                for i in self.query.eligible(self._order[:position])
                if ratios[here] < self.alpha * ratios[i]
            ]
            if rivals:
                return True
        return False
