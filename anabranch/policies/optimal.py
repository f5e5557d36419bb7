"""Optimal: the cheapest order of all for a first profile."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import optimal_order
from anabranch.model import InputError, Query
from anabranch.policies.base import Bits
from anabranch.policies.static import Static

MAX_OPERATORS = 8


@dataclass
class Optimal(Static):
    """Exhaustive search over the first `profile_rows` rows, for up to 8 operators.

    Parameters
    ----------
    profile_rows
        Rows profiled in full before the order is settled.
    """

    name: ClassVar[str] = "optimal"
    summary: ClassVar[str] = "exhaustive: the best order for a first profile (up to 8 operators)"

    def check(self, query: Query) -> None:
        if len(query) > MAX_OPERATORS:
            raise InputError(
                f"optimal takes at most {MAX_OPERATORS} operators, this query has {len(query)}; "
                "use greedy or agreedy"
            )

    def settle(self, bits: Bits, costs: NDArray[np.float64]) -> tuple[int, ...]:
        return optimal_order(bits, costs, self.query)
