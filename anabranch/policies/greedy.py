"""Greedy: order once, from a first profile, by conditional drop rate per cost.

The static algorithm of the A-Greedy paper, Section 4; at most four times the optimal cost.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import greedy_order
from anabranch.policies.base import Bits
from anabranch.policies.static import Static


@dataclass
class Greedy(Static):
    """Static Greedy over the first `profile_rows` rows.

    Parameters
    ----------
    profile_rows
        Rows profiled in full before the order is settled.
    """

    name: ClassVar[str] = "greedy"
    summary: ClassVar[str] = "static greedy: one order from a first profile"

    def settle(self, bits: Bits, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return greedy_order(bits, costs, self.query)
