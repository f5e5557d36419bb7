"""The brain of a stream that runs in rounds: what rows were like lately, and the plan for the next.

Statistics come from the workers, or from Spark itself, once a round; the plan changes between
rounds only.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from anabranch.kernel.ledger import both_words
from anabranch.kernel.rehearse import rehearse
from anabranch.model import Mesh, Query
from anabranch.model.attribute import LONG_WORD
from anabranch.model.telling import Words
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
# Rounds whose times are remembered, and the share by which a time must fall for a new plan.
LEVELS, WARMED = 8, 0.2
# What reading the clock alone may vary by: less is not told apart.
LEAST_SECONDS = 5e-8


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

    quick: ClassVar[bool] = False  # whether a plan is there before the next round
    query: Query
    policy: Policy
    start: Mesh | None = None
    seed: int = 0
    cold: bool = False  # whether times are of code that gets faster as it is compiled
    mesh: Mesh = field(init=False)
    window: Reservoir = field(init=False)

    def __post_init__(self) -> None:
        self.mesh = self.policy.bind(self.query, self.start).plan()
        self.window = self._empty()
        self._due = LEAST_ROWS  # rows that must have been sampled for the next plan
        self._seen = 0
        self._levels: deque[list[float]] = deque(maxlen=LEVELS)
        self._thought_at = np.full(len(self.query), np.inf)  # levels of the last plan
        self.words: Words = {}

    def _empty(self) -> Reservoir:
        return Reservoir(len(self.query.attributes), len(self.query), WINDOW, self.seed)

    @property
    def curious(self) -> bool:
        """Whether more rows would soon give a new plan."""
        return self._seen < LEAST_ROWS

    def observe(self, sample: Reservoir) -> Decision:
        """Take in the rows sampled in a round, and decide on the plan for the next, at once."""
        drift = self.take(sample)
        if not self.is_due():
            return Decision(self.mesh, drift=drift)
        return replace(self.adopt(self.thought()()), drift=drift)

    def arrived(self, rows: int, seconds: float, workers: int = 1) -> None:
        """Rows that came in a round, in so many seconds since the one before; who judged them."""

    def measured(self, number: int, rows_out: int, seconds: float, between: int) -> None:
        """What a round came to, with so many rows between operators."""

    def take(self, sample: Reservoir) -> str:
        """Take in the rows sampled in a round; what has drifted, if anything."""
        if not len(sample):
            return ""
        drift = self._drift(sample)
        if drift:
            self.window = self._empty()
            self._seen, self._due = 0, LEAST_ROWS
        self._remember(self._levelled(sample) if self.cold else sample)
        self._seen += len(sample)
        if self.cold and (self._level() < (1 - WARMED) * self._thought_at).any():
            self._due = min(self._due, max(self._seen, LEAST_ROWS))
        return drift

    def spell(self, words: Words) -> None:
        """Take in what numbers stand for, so that plans are told in words."""
        self.words = both_words(words, self.words)  # the newest first: there is a limit
        self.use(self.mesh)

    def unspelled(self) -> list[str]:
        """Attributes of the plan that are words, of which not all are known."""
        asked = self.mesh.classifier.values if self.mesh.classifier else {}
        kinds = {attribute.name: attribute.kind for attribute in self.query.attributes}
        return [
            name
            for name, values in asked.items()
            if kinds[name] == "word"
            and set(values) - {LONG_WORD} - set(self.mesh.words.get(name, {}))
        ]

    def use(self, mesh: Mesh) -> None:
        """Make this the plan of the next round."""
        worded = mesh.worded(both_words(mesh.words, self.words))
        # The same object as long as nothing is new: hosts compile a plan once.
        self.mesh = mesh if worded.words == mesh.words else worded

    def _level(self) -> Floats:
        """The seconds that each operator usually took in the round where it was fastest."""
        return np.min(np.array(self._levels), axis=0) if self._levels else self._thought_at

    def _levelled(self, sample: Reservoir) -> Reservoir:
        """The sample, and the rows known before, at the level of the fastest round.

        Code that runs for few rows is slow, and slow by different factors, until it is compiled.
        """
        sample = _retimed(sample, np.maximum(sample.times, LEAST_SECONDS))
        before, usual = self._level(), np.median(sample.times, axis=0)
        self._levels.append(usual.tolist())
        now = self._level()
        if len(self.window):
            self.window = _retimed(self.window, self.window.times * now / before)
        return _retimed(sample, sample.times * now / usual)

    @property
    def learns(self) -> bool:
        """Whether there is anything to learn."""
        return not isinstance(self.policy, Fixed) and len(self.query) > 1

    def is_due(self) -> bool:
        """Whether there is enough new evidence to look for a plan."""
        return self.learns and self._seen >= self._due

    def thought(self) -> Callable[[], Mesh]:
        """The search for a plan by what is known now; it may run while rounds go on."""
        self._due = max(self._due, int(GROWN * self._seen))
        self._thought_at = self._level()
        return partial(found, self.query, self.policy, self.window, self.seed)

    def adopt(self, mesh: Mesh) -> Decision:
        """A plan was found: it takes the place of the one in use if it is better by what is known.

        The data may have changed while it was looked for.
        """
        costs = costs_of(self.window)
        now, then = (row_costs(plan, self.window, costs) for plan in (self.mesh, mesh))
        saved = now - then
        doubt = DOUBT * float(saved.std()) / max(len(saved), 1) ** 0.5
        before, after = float(now.mean()), float(then.mean())
        if before - after <= max(doubt, LEAST_GAIN * before):
            return Decision(self.mesh)
        self.use(mesh)
        return Decision(self.mesh, True, "", before, after)

    def _remember(self, sample: Reservoir) -> None:
        """The newest rows are kept."""
        merged = self._empty()
        parts = (self.window, sample)
        values, bits, times = (
            np.concatenate([getattr(part, name) for part in parts])[-WINDOW:]
            for name in ("values", "bits", "times")
        )
        merged.update(values, bits, _timed(times))
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

    def told(self) -> Mesh:
        """The plan, with what is known of operators and routes."""
        return explained(self.mesh, self.window) if len(self.window) else self.mesh

    def to_dict(self) -> dict[str, Any]:
        """All that it knows, as plain data."""
        return {
            "policy": self.policy.name,
            "attributes": [[a.name, a.kind] for a in self.query.attributes],
            "plan": self.mesh.to_dict(),
            "window": sample_to_dict(self.window),
            "levels": list(self._levels),
            "seen": self._seen,
            "due": self._due,
        }

    def restore(self, data: Mapping[str, Any]) -> bool:
        """Go on with what `to_dict` told; not if it was learned in another way.

        Lookups may be operators in one run and Spark's business in the next, as a plan says that it
        begins with.
        """
        mine = [[a.name, a.kind] for a in self.query.attributes]
        if data["policy"] != self.policy.name or data["attributes"] != mine:
            return False
        if isinstance(self.policy, Fixed):
            return True  # the order is the one that is given now
        plan = Mesh.from_dict(data["plan"])
        if set(plan.query.names) != set(self.query.names):
            return False
        self.mesh = plan.check(self.query)
        self.words = self.mesh.words
        window = self._empty()
        told = sample_from_dict(data["window"])
        window.update(told.values, told.bits, told.times)
        self.window = window
        self._levels.extend(data["levels"])
        self._thought_at = self._level()
        self._seen, self._due = int(data["seen"]), int(data["due"])
        return True


def found(query: Query, policy: Policy, window: Reservoir, seed: int) -> Mesh:
    """The plan that a policy makes of a sample."""
    if not isinstance(policy, QueryMesh):
        return explained(rehearse(policy, query, window, seed), window)
    single, mesh = single_from(query, window), mesh_from(query, window, seed)
    if mesh is None:
        return single
    costs = costs_of(window)
    alone, together = (float(row_costs(plan, window, costs).mean()) for plan in (single, mesh))
    return mesh if together < (1 - LEAST_GAIN) * alone else single


def _retimed(sample: Reservoir, times: Floats) -> Reservoir:
    """The same rows, with other times."""
    retimed = Reservoir(sample.attributes, sample.operators, sample.size, 0)
    retimed.update(sample.values, sample.bits, times)
    return retimed


def _timed(times: Floats) -> Floats:
    """What was not timed yet, as what is usual for the operator, or as nothing."""
    known = ~np.isnan(times)
    usual = [
        float(np.median(t[k])) if k.any() else 0.0 for t, k in zip(times.T, known.T, strict=True)
    ]
    return np.where(known, times, usual)


def _differ(old: Bits | Floats, new: Bits | Floats) -> bool:
    """Whether two samples are hardly of one kind."""
    spread = float(np.var(np.concatenate([old, new])))
    error = (spread * (1 / len(old) + 1 / len(new))) ** 0.5
    return bool(abs(float(np.mean(new)) - float(np.mean(old))) > SURPRISE * max(error, 1e-12))
