"""Watches the plan in force, with a brain's help."""

from dataclasses import dataclass, field

import numpy as np

from anabranch.model import Mesh
from anabranch.policies.base import Feedback, Floats
from anabranch.policies.query_mesh.brain import Alarm, Brain, Failed, Found, Inside, Nobody
from anabranch.policies.query_mesh.monitor import Monitor
from anabranch.policies.query_mesh.optimise import Solution, Task

# Rows after an alarm before the next one counts.
QUIET_ROWS = 10_000
# A single route is watched by a process of its own only in runs that last so many times longer.
PATIENT = 5


@dataclass
class Watcher:
    """Readings of the plan in force go to the brain, its alarms and meshes come back.

    Every plan is an epoch: what the brain says of an earlier one is not heard. A search outlives
    plans, but not an alarm.
    """

    brain: Brain = field(default_factory=Inside)
    _failure: str = ""  # why there is no help
    _epoch: int = 0
    _ticket: int = 0  # of the search that is wanted
    _seconds: float = 0.0
    _quiet_until: int = 0
    _monitor: Monitor | None = None
    _alarm: Alarm | None = None
    _solution: Solution | None = None

    def update(self, feedback: Feedback, plan: Mesh, costs: Floats, row: int) -> None:
        """A slice went by under a plan."""
        self._seconds += feedback.spent
        monitor = self._monitor
        if monitor is None or not _same(monitor.mesh, plan):
            self._epoch += 1
            self._monitor = Monitor(plan, np.array(costs))
            return
        readings = monitor.update(feedback) if self._worth_it(plan) else []
        if readings:
            self.brain.watch(self._epoch, readings)
        self._listen(row)

    def _worth_it(self, plan: Mesh) -> bool:
        single = len(plan.routes) == 1
        return self._seconds >= self.brain.patience * (PATIENT if single else 1)

    def _listen(self, row: int) -> None:
        for reply in self.brain.replies():
            match reply:
                case Failed():
                    self.brain.close()
                    self._failure, self.brain = reply.error, Nobody()
                case Alarm() if reply.epoch == self._epoch and row >= self._quiet_until:
                    self._alarm = reply
                case Found() if reply.ticket == self._ticket:
                    self._solution = reply.solution

    def alarm(self, row: int) -> Alarm | None:
        """An alarm that was not heard yet; after one it is quiet for a while."""
        alarm, self._alarm = self._alarm, None
        if alarm is not None:
            self._quiet_until = row + QUIET_ROWS
            self._monitor = None
            self._ticket += 1
        return alarm

    def failed(self) -> str:
        """Why there is no help any more, once."""
        failure, self._failure = self._failure, ""
        return failure

    @property
    def may_ask(self) -> bool:
        """Whether a thorough search would be made, and hold up no batch."""
        return self.brain.searches and self._seconds >= self.brain.patience

    def ask(self, task: Task) -> None:
        """Have a thorough search made."""
        self._ticket += 1
        self.brain.search(self._ticket, task)

    def solution(self) -> Solution | None:
        """What a thorough search found, once."""
        solution, self._solution = self._solution, None
        return solution


def _same(one: Mesh, other: Mesh) -> bool:
    return one.routes == other.routes and one.classifier == other.classifier
