"""What policies share that never learn."""

from dataclasses import dataclass, field

from anabranch.model import Mesh
from anabranch.policies.base import Event, Feedback, Policy, Sampling


@dataclass
class Steady(Policy):
    """Follows the plan that `begin` puts into `_mesh`, and never profiles."""

    _mesh: Mesh = field(init=False, repr=False, compare=False)

    def plan(self) -> Mesh:
        return self._mesh

    def sampling(self) -> Sampling:
        return Sampling()

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        return ()
