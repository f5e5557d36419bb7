"""The measured test of pairs: new ones before they come into use, those in use now and then."""

from dataclasses import dataclass, field

from anabranch.model import Mesh
from anabranch.policies.trial import DOUBT, Trial

# Rows after which pairs in use are tried again, and the standard errors by which they must be
# better in the end: fewer than for new ones, or pairs that save little would come and go.
AUDIT_ROWS, AUDIT_DOUBT = 50_000, 0.5
# Sooner, after so many rows, when rows cost more than expected or the last trial was not clear;
# twice as many each time that it is not.
SOON_ROWS = 15_000
# Share by which rows must cost more than expected.
BROKEN_PROMISE = 0.03


@dataclass
class KeepOrDrop:
    """At most one trial at a time, the two plans of it, and when the next audit is due."""

    trial: Trial | None = None
    audit_at: int = AUDIT_ROWS
    _audited_at: int = 0
    _wait: int = SOON_ROWS // 2
    _meshes: dict[str, Mesh] = field(default_factory=dict)

    def begin(self, with_them: Mesh, without: Mesh, audit: bool = False) -> Mesh:
        """Begin a trial; the plan of its first slice."""
        self.trial = Trial(doubt=AUDIT_DOUBT if audit else DOUBT, audit=audit)
        self._meshes = {"with": with_them, "without": without}
        return with_them

    def next_mesh(self, trial: Trial) -> Mesh:
        """The plan whose turn it is."""
        return self._meshes[trial.turn]

    def close(self, trial: Trial, row: int, older: bool = False) -> None:
        """The trial is over; `older` pairs that it did not measure keep their time for an audit."""
        self.trial, self._meshes = None, {}
        self._wait = AUDIT_ROWS if trial.clear else min(2 * self._wait, AUDIT_ROWS)
        due = row + self._wait
        self.audit_at = min(self.audit_at, due) if older and not trial.audit else due
        if trial.clear or not trial.kept:
            self._wait = SOON_ROWS // 2
        self._audited_at = row

    def abandon(self) -> None:
        """The trial has no meaning any more."""
        self.trial, self._meshes = None, {}

    def hurry(self, row: int) -> None:
        """Try what is in use soon, unless that was done lately."""
        self.audit_at = min(self.audit_at, max(row, self._audited_at + self._wait))

    def compare(self, measured: float, expected: float) -> None:
        """Try pairs in use soon if rows cost more than the selectivities promise.

        An operator that a class meets last is seldom seen there: its selectivity can be long out of
        date.
        """
        if measured > (1 + BROKEN_PROMISE) * expected:
            self.audit_at = min(self.audit_at, self._audited_at + SOON_ROWS)
