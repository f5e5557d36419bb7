"""A mesh on trial: slices take turns under it and under the plan in force."""

from dataclasses import dataclass, field

import numpy as np

from anabranch.model import Mesh
from anabranch.policies.base import Event, Feedback, Floats
from anabranch.policies.keep_or_drop import KeepOrDrop
from anabranch.policies.query_mesh.refine import Refinement
from anabranch.policies.trial import DOUBT, MOST_ROWS, Trial

# The less a mesh is expected to save, the longer the trial: by the spread of a row's cost.
SPREAD, LONGEST_TRIAL = 1.5, 8_000

Order = tuple[str, ...]


@dataclass(frozen=True)
class Proposal:
    """A mesh on trial, how it was found, and the tallies of its cells."""

    mesh: Mesh
    repair: str
    refinement: Refinement


@dataclass(frozen=True)
class Verdict:
    """A trial is over: seconds per row measured without the mesh and with it."""

    proposal: Proposal
    kept: bool
    audit: bool  # of the mesh in use, against one route
    saved: float
    measured: tuple[float, float]

    def told(self, kind: str, row: int, before: Order, after: Order) -> Event:
        """As an event: the main order before and now, and what was measured."""
        mesh = self.proposal.mesh
        attributes = mesh.classifier.attributes if mesh.classifier else ()
        return Event(
            kind,
            row,
            before,
            after,
            *self.measured,
            attribute=", ".join(attributes),
            routes=len(mesh.routes),
            repair=self.proposal.repair,
        )


@dataclass
class Contest:
    """At most one trial at a time: of a new mesh, or now and then of the one in use."""

    _test: KeepOrDrop = field(default_factory=KeepOrDrop)
    _proposal: Proposal | None = None

    @property
    def trial(self) -> Trial | None:
        return self._test.trial

    @property
    def plan(self) -> Mesh | None:
        """The plan whose turn it is, if there is a trial."""
        return self._test.next_mesh(self._test.trial) if self._test.trial else None

    @property
    def in_force(self) -> bool:
        """Whether rows run under the plan in force, and not under one that is tried."""
        trial = self._test.trial
        return trial is None or (trial.turn == "with") == trial.audit

    def tallied(self, refinement: Refinement | None) -> Refinement | None:
        """The tallies of the plan whose turn it is; those of the plan in force are given."""
        if self._proposal is not None and self._test.trial and self._test.trial.turn == "with":
            return self._proposal.refinement
        return refinement

    def propose(
        self, proposal: Proposal, current: Mesh, gain: float = 1.0, doubt: float = DOUBT
    ) -> None:
        """Try a mesh that is expected to save the share `gain` of what the plan in force costs."""
        self._proposal = proposal
        self._test.begin(proposal.mesh, current)
        assert self._test.trial is not None
        self._test.trial.doubt = doubt
        self._test.trial.most_rows = int(np.clip((SPREAD / gain) ** 2, MOST_ROWS, LONGEST_TRIAL))

    def audit(self, proposal: Proposal, single: Mesh) -> None:
        """Does the mesh in use still pay?"""
        self._proposal = proposal
        self._test.begin(proposal.mesh, single, audit=True)
        assert self._test.trial is not None
        # Of plans that differ little, either is as good: it costs nothing to compare for long.
        self._test.trial.most_rows, self._test.trial.patient = LONGEST_TRIAL, True

    def is_audit_due(self, row: int) -> bool:
        return row >= self._test.audit_at

    def hurry(self, row: int) -> None:
        """Audit soon: something has changed."""
        self._test.hurry(row)

    def abandon(self, audit_from: int) -> None:
        """A trial under way has no meaning any more; no audit before that row."""
        self._test.abandon()
        self._proposal = None
        self._test.audit_at = max(self._test.audit_at, audit_from)

    def update(
        self,
        feedback: Feedback,
        work: Floats,
        costs: Floats,
        classifying: float,
        row: int,
        several: bool,
    ) -> Verdict | None:
        """A slice of the trial is over; the verdict, if there is one.

        `several` says whether the plan in force has several routes, so that both plans classify.
        """
        trial, proposal = self._test.trial, self._proposal
        assert trial is not None
        assert proposal is not None
        charge = 0.0 if several and not trial.audit else classifying
        trial.update(feedback.rows, work, costs, charge)
        if trial.kept is None:
            return None
        measured = trial.without.mean(costs), trial.with_it.mean(costs)
        # A mesh that takes the place of another was not compared with one route.
        self._test.close(trial, row, older=several)
        self._proposal = None
        return Verdict(proposal, trial.kept, trial.audit, trial.saved, measured)
