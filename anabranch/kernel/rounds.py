"""The brain of a stream that runs in rounds: what rows were like lately, and the plan for the next.

Statistics come from the workers, or from Spark itself, once a round; the plan changes between
rounds only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from anabranch.kernel.rehearse import rehearse
from anabranch.model import Mesh, Query
from anabranch.policies import Fixed, Policy
from anabranch.policies.base import Bits, Floats
from anabranch.policies.query_mesh import QueryMesh
from anabranch.policies.query_mesh.agree import costs_of
from anabranch.policies.query_mesh.from_sample import explained, mesh_from, single_from
from anabranch.policies.query_mesh.repair import row_costs
from anabranch.policies.query_mesh.wire import sample_from_dict, sample_to_dict
from anabranch.stats import Reservoir

# Rows that are remembered, and from how many on a plan is made.
WINDOW, LEAST_ROWS = 4_000, 200
# A plan is looked for again when so many times the rows have been sampled since.
GROWN = 2.0
# A plan must be better by this share, and by so many standard errors, to take the place of another.
LEAST_GAIN, DOUBT = 0.02, 2.0
# Standard errors by which newer rows must differ from older ones to be a drift.
SURPRISE = 5.0


@dataclass(frozen=True)
class Decision:
    """What a round led to: the plan for the next, whether that is new, and what has drifted.

    `before` and `after` are the expected seconds per row of the plan left and the new one.
    """

    mesh: Mesh
    switched: bool = False
    drift: str = ""
    before: float | None = None
    after: float | None = None


@dataclass
class RoundBrain:
    """Learns from one sample per round.

    Examples
    --------
    >>> from anabranch.model import Operator
    >>> from anabranch.policies import AGreedy
    >>> brain = RoundBrain(Query((Operator("a"), Operator("b"))), AGreedy())
    >>> def sampled(drops):
    ...     sample = Reservoir(attributes=0, operators=2)
    ...     sample.update(np.zeros((500, 0)), drops, np.full((500, 2), 1e-6))
    ...     return sample
    >>> b_drops = np.arange(500)[:, None] % [10, 2] == 0
    >>> brain.observe(sampled(b_drops)).mesh.routes[0].order
    ('b', 'a')
    >>> later = brain.observe(sampled(b_drops[:, ::-1]))
    >>> later.drift, later.mesh.routes[0].order
    ('selectivity of a, b', ('a', 'b'))
    """

    query: Query
    policy: Policy
    start: Mesh | None = None
    seed: int = 0
    mesh: Mesh = field(init=False)
    window: Reservoir = field(init=False)

    def __post_init__(self) -> None:
        self.mesh = self.policy.bind(self.query, self.start).plan()
        self.window = self._empty()
        self._due = LEAST_ROWS  # rows that must have been sampled for the next plan
        self._seen = 0

    def _empty(self) -> Reservoir:
        return Reservoir(len(self.query.attributes), len(self.query), WINDOW, self.seed)

    @property
    def curious(self) -> bool:
        """Whether more rows would soon give a new plan."""
        return self._seen < LEAST_ROWS

    def observe(self, sample: Reservoir) -> Decision:
        """Take in the rows sampled in a round, and decide on the plan for the next."""
        if not len(sample):
            return Decision(self.mesh)
        drift = self._drift(sample)
        if drift:
            self.window = self._empty()
            self._seen, self._due = 0, LEAST_ROWS
        self._remember(sample)
        self._seen += len(sample)
        if isinstance(self.policy, Fixed) or self._seen < self._due or len(self.query) < 2:
            return Decision(self.mesh, drift=drift)
        self._due = max(self._due, int(GROWN * self._seen))
        return self._decided(drift)

    def _remember(self, sample: Reservoir) -> None:
        """The newest rows are kept."""
        merged = self._empty()
        parts = (self.window, sample)
        values, bits, times = (
            np.concatenate([getattr(part, name) for part in parts])[-WINDOW:]
            for name in ("values", "bits", "times")
        )
        merged.update(values, bits, times)
        self.window = merged

    def _drift(self, sample: Reservoir) -> str:
        """What newer rows differ in from those that are remembered."""
        if len(self.window) < LEAST_ROWS:
            return ""
        moved = [
            name
            for i, name in enumerate(self.query.names)
            if _differ(self.window.bits[:, i], sample.bits[:, i])
        ]
        if moved:
            return f"selectivity of {', '.join(moved)}"
        # The classes may change their places though all rows together are as they were.
        costs = costs_of(self.window)
        old, new = (row_costs(self.mesh, rows, costs) for rows in (self.window, sample))
        return "cost of the plan" if _differ(old, new) else ""

    def _decided(self, drift: str) -> Decision:
        found = self._found()
        costs = costs_of(self.window)
        now, then = (row_costs(plan, self.window, costs) for plan in (self.mesh, found))
        saved = now - then
        doubt = DOUBT * float(saved.std()) / len(saved) ** 0.5
        before, after = float(now.mean()), float(then.mean())
        if before - after <= max(doubt, LEAST_GAIN * before):
            return Decision(self.mesh, False, drift)
        self.mesh = found
        return Decision(found, True, drift, before, after)

    def _found(self) -> Mesh:
        if isinstance(self.policy, QueryMesh):
            single = single_from(self.query, self.window)
            mesh = mesh_from(self.query, self.window, self.seed)
            if mesh is None:
                return single
            costs = costs_of(self.window)
            cost = [float(row_costs(plan, self.window, costs).mean()) for plan in (single, mesh)]
            return mesh if cost[1] < (1 - LEAST_GAIN) * cost[0] else single
        return explained(rehearse(self.policy, self.query, self.window, self.seed), self.window)

    def to_dict(self) -> dict[str, Any]:
        """All that it knows, as plain data."""
        return {
            "plan": self.mesh.to_dict(),
            "window": sample_to_dict(self.window),
            "seen": self._seen,
            "due": self._due,
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Go on with what `to_dict` told."""
        self.mesh = Mesh.from_dict(data["plan"]).check(self.query)
        window = self._empty()
        told = sample_from_dict(data["window"])
        window.update(told.values, told.bits, told.times)
        self.window = window
        self._seen, self._due = int(data["seen"]), int(data["due"])


def _differ(old: Bits | Floats, new: Bits | Floats) -> bool:
    """Whether two samples are hardly of one kind."""
    spread = float(np.var(np.concatenate([old, new])))
    error = (spread * (1 / len(old) + 1 / len(new))) ** 0.5
    return bool(abs(float(np.mean(new)) - float(np.mean(old))) > SURPRISE * max(error, 1e-12))
