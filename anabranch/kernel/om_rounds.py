"""The brain of a stream under OM: every round a plan from the chart."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from anabranch.cost.utility import Told
from anabranch.kernel.rounds import Decision, RoundBrain
from anabranch.model import Mesh, Query
from anabranch.policies import OM, Policy
from anabranch.policies.om import OmPlanner
from anabranch.policies.query_mesh.agree import costs_of
from anabranch.stats import Reservoir


@dataclass
class OmBrain(RoundBrain):
    """Estimates rates and selectivities round by round, and looks the plan up.

    Examples
    --------
    >>> from anabranch.model import Operator
    >>> query = Query((Operator("slow"), Operator("fast")))
    >>> brain = OmBrain(query, OM(window=1.0, history=1, partitions=40))
    >>> sample = Reservoir(attributes=0, operators=2)
    >>> drops = np.arange(500)[:, None] % [5, 5] < [4, 3]
    >>> sample.update(np.zeros((500, 0)), drops, np.full((500, 2), [5e-3, 5e-4]))
    >>> for rows in (10, 900, 10):
    ...     brain.arrived(rows, seconds=1.0)
    ...     print(rows, brain.observe(sample).mesh.routes[0].order)
    10 ('slow', 'fast')
    900 ('fast', 'slow')
    10 ('slow', 'fast')
    """

    quick: ClassVar[bool] = True
    planner: OmPlanner = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.policy, OM)
        self.planner = self.policy.planner(self.query)
        self.planner.order = self.mesh.routes[0].indexes
        self._came, self._lasted, self._workers = 0, 1.0, 1
        self._shares: dict[str, float] = {}
        self._new = False

    def arrived(self, rows: int, seconds: float, workers: int = 1) -> None:
        assert isinstance(self.policy, OM)
        self._came, self._lasted = rows, self.policy.window or seconds
        self.planner.window = self._lasted
        self._workers = max(workers, 1)
        self._new = True

    @property
    def arrival_rate(self) -> float:
        return self._came / max(self._lasted, 1e-9)

    def take(self, sample: Reservoir) -> str:
        """Statistics of the round; a drift is a matter of course here."""
        if len(sample):
            self._remember(self._levelled(sample) if self.cold else sample)
            self._seen += len(sample)
            self._shares = _shares(self.query, sample)
        return ""

    def is_due(self) -> bool:
        return self.learns and self._new and len(self.window) > 0

    def thought(self) -> Callable[[], Mesh]:
        self._new = False
        costs = costs_of(self.window) / self._workers  # they work side by side
        return partial(
            self._looked_up, self._came, self._lasted, dict(self._shares), costs.tolist()
        )

    def _looked_up(
        self, rows: int, seconds: float, shares: Mapping[str, float], costs: list[float]
    ) -> Mesh:
        self.planner.observe(rows, seconds, shares, costs)
        names = tuple(self.query.names[i] for i in self.planner.order)
        return Mesh.single(self.query, names)

    def adopt(self, mesh: Mesh) -> Decision:
        """What the chart says is done: it has its own caution."""
        if mesh.routes[0].indexes == self.mesh.routes[0].indexes:
            return Decision(self.mesh)
        self.use(mesh)
        return Decision(self.mesh, True)

    def measured(self, number: int, rows_out: int, seconds: float, between: int) -> None:
        """What the round came to: rows that came while it ran wait, those between operators too."""
        order = self.mesh.routes[0].indexes
        expected = self.planner.expected(order)
        lasts = max(seconds, self._lasted)
        rate = rows_out / max(lasts, 1e-9)
        waiting = self.arrival_rate * seconds
        told = Told(rate, rate, waiting + between)
        shares = self._shares or dict.fromkeys(self.query.names, 0.5)
        self.planner.note(number, order, expected, told, self.arrival_rate, shares)

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "om": self.planner.to_dict()}

    def restore(self, data: Mapping[str, Any]) -> bool:
        if not super().restore(data):
            return False
        self.planner.restore(data["om"])
        self.planner.order = self.mesh.routes[0].indexes
        return True


def _shares(query: Query, sample: Reservoir) -> dict[str, float]:
    """What each operator passes; one that a guard hides tells of rows that reach it only."""
    found = {}
    for i, name in enumerate(query.names):
        guards = list(query.guards[i])
        reached = ~sample.bits[:, guards].any(axis=1) if guards else np.ones(len(sample), bool)
        if reached.any():
            found[name] = float(1 - sample.bits[reached, i].mean())
    return found


def brain_for(
    query: Query, policy: Policy, start: Mesh | None, seed: int, cold: bool = False
) -> RoundBrain:
    """The brain that a policy needs."""
    kind = OmBrain if isinstance(policy, OM) else RoundBrain
    return kind(query, policy, start, seed, cold)
