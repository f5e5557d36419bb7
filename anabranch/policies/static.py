"""Policies that profile once and then keep their order."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anabranch.policies.base import Bits, Sampling
from anabranch.policies.learner import Learner
from anabranch.policies.measured import check_rows


@dataclass
class Static(Learner):
    """Profile `profile_rows` rows in full, settle on an order, never profile again."""

    profile_rows: int = 1000

    def __post_init__(self) -> None:
        check_rows("profile_rows", self.profile_rows)
        self.first_rows = self.profile_rows

    @abstractmethod
    def settle(self, bits: Bits, costs: NDArray[np.float64]) -> tuple[int, ...]:
        """The order for good."""

    def reset(self) -> None:
        self._bits = np.zeros((0, len(self.query)), bool)

    def profile(self) -> Sampling:
        return Sampling()

    def evidence(self) -> Bits:
        return self._bits

    def collect(self, dropped: Bits, now: float) -> None:
        self._bits = np.concatenate([self._bits, dropped])

    def first_order(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return self.settle(self._bits, costs)

    def decide(self, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return self._order
