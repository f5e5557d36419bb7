"""The profiled rows of a slice: which operators they met, and which of these dropped them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anabranch.kernel.predicate import Mask

Rows = NDArray[np.int64]


@dataclass
class Profile:
    """One place per profiled row, by rising row number."""

    slot: Rows  # row -> its place here, -1 if not profiled
    rows: Rows  # place -> row
    dropped: Mask
    passed: Mask
    position: NDArray[np.int64]  # where on its route the row was dropped, len(route) if it was not

    @classmethod
    def of(cls, sampled: Mask, operators: int) -> "Profile":
        rows = np.flatnonzero(sampled)
        slot = np.full(len(sampled), -1, np.int64)
        slot[rows] = np.arange(len(rows))
        blank = np.zeros((len(rows), operators), bool)
        return cls(slot, rows, blank, blank.copy(), np.full(len(rows), operators))

    def __len__(self) -> int:
        return len(self.rows)

    def shadows(self, members: Rows, position: int, extra: Mask, guards: frozenset[int]) -> Rows:
        """Of these profiled rows, those dropped before to evaluate at `position` all the same.

        Their guards must have let them pass.
        """
        slots = self.slot[members]
        gone = self.position[slots] < position
        slots = slots[gone]
        wanted = extra[self.position[slots], position]
        if guards:
            wanted = wanted & self.passed[slots][:, list(guards)].all(axis=1)
        return np.asarray(self.rows[slots[wanted]])

    def record(self, rows: Rows, verdict: Mask, operator: int, position: int) -> None:
        """Note what an operator made of rows, some of which may be profiled."""
        slots = self.slot[rows]
        met = slots >= 0
        slots, passed = slots[met], verdict[met]
        self.passed[slots, operator] = passed
        self.dropped[slots, operator] = ~passed
        fallen = slots[~passed]
        self.position[fallen] = np.minimum(self.position[fallen], position)
