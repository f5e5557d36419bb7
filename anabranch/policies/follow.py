"""Follows the plan of a driver, and samples rows for it."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from anabranch.model import InputError, Mesh, Query
from anabranch.policies.base import Event, Feedback, Sampling
from anabranch.policies.query_mesh.wire import sample_to_dict
from anabranch.policies.steady import Steady
from anabranch.stats import OperatorCost, Reservoir

# Rows of a slice: costs are measured per slice.
SLICE = 1_000


@dataclass
class Follow(Steady):
    """One plan until the driver sends another; `rate` of the rows meet all operators.

    Parameters
    ----------
    rate
        Share of the rows that are sampled.
    rows
        Rows of the sample that is told.
    eager
        So many rows are sampled first, whatever the rate.
    """

    name: ClassVar[str] = "follow"
    summary: ClassVar[str] = "the plan of the driver; samples rows for it"
    uses_attributes: ClassVar[bool] = True
    rate: float = 0.01
    rows: int = 500
    eager: int = 0
    seed: int = 0
    _sample: Reservoir = field(init=False, repr=False, compare=False)

    def check(self, query: Query) -> None:
        if not 0 <= self.rate <= 1:
            raise InputError(f"rate is a share from 0 to 1, got {self.rate!r}")

    def begin(self, start: Mesh | None) -> None:
        self._mesh = start or Mesh.single(self.query, self.query.written())
        self._sample = Reservoir(len(self.query.attributes), len(self.query), self.rows, self.seed)
        self._costs = [OperatorCost() for _ in self.query.operators]

    def sampling(self) -> Sampling:
        if self._sample.seen < self.eager:
            return Sampling.everything(len(self.query), 1.0, self.eager)
        return Sampling.everything(len(self.query), self.rate, SLICE)

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        for call in feedback.calls:
            self._costs[call.operator].update(call.rows, call.seconds, call.busy)
        if len(feedback.profiled):
            values = feedback.profiled_values([a.name for a in self.query.attributes])
            costs = [cost.get(SLICE) for cost in self._costs]
            seconds = np.array([np.nan if cost is None else cost for cost in costs])
            self._sample.update(values, feedback.dropped, np.tile(seconds, (len(values), 1)))
        return ()

    def testimony(self) -> dict[str, Any] | None:
        if not len(self._sample):
            return None
        return {"sample": sample_to_dict(self._sample), "classifying": 0.0, "overhead": 0.0}
