"""A first look at the data: every row of a bounded sample is evaluated by every operator."""

from dataclasses import dataclass
from typing import ClassVar

from anabranch.model import Mesh
from anabranch.policies.base import Event, Feedback, Sampling
from anabranch.policies.query_mesh.policy import QueryMesh

# Rows of a slice: the first one is not timed.
SLICE = 50


@dataclass
class Pilot(QueryMesh):
    """Samples all rows that it is given, and never routes."""

    name: ClassVar[str] = "pilot"
    summary: ClassVar[str] = "samples the rows that it is given"

    @classmethod
    def of(cls, policy: QueryMesh, rows: int) -> "Pilot":
        """The pilot for a policy."""
        return cls(
            sample=rows,
            first_rows=rows,
            seed=policy.seed,
            tolerance=policy.tolerance,
            window=policy.window,
        )

    def plan(self) -> Mesh:
        return Mesh.single(self.query, self.query.written())

    def learned(self) -> Mesh:
        return self._single.plan()

    def sampling(self) -> Sampling:
        return Sampling.everything(len(self.query), 1.0, SLICE)

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        self._single.observe(feedback)
        if len(feedback.profiled):
            self._take_in(feedback)
        return ()
