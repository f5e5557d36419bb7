"""What is too slow for a worker's own process: drift detectors and thorough searches.

A worker of Spark asks a process beside it (`beside.py`); the driver, tests and simulations ask one
in their own process, which answers at once.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from anabranch.policies.query_mesh.detect import Detectors
from anabranch.policies.query_mesh.monitor import Reading
from anabranch.policies.query_mesh.optimise import Solution, Task
from anabranch.policies.query_mesh.treed import solve


@dataclass(frozen=True)
class Alarm:
    """A quantity of a route has moved, under the mesh of that epoch."""

    epoch: int
    reading: Reading


@dataclass(frozen=True)
class Found:
    """The thorough search of that ticket is over."""

    ticket: int
    solution: Solution


@dataclass(frozen=True)
class Failed:
    """There is no help to be had, and why."""

    error: str


Reply = Alarm | Found | Failed


class Brain(ABC):
    """Watches and searches; what it finds is fetched later."""

    # Seconds that a run must have lasted to be worth it.
    patience: ClassVar[float] = 0.0
    # Whether a search goes on while rows are processed.
    searches: ClassVar[bool] = False

    @abstractmethod
    def watch(self, epoch: int, readings: Sequence[Reading]) -> None:
        """Look at readings of the mesh of an epoch; a new epoch begins with new detectors."""

    @abstractmethod
    def search(self, ticket: int, task: Task) -> None:
        """Search for a better mesh."""

    @abstractmethod
    def replies(self) -> list[Reply]:
        """What was found since the last call of this."""

    def close(self) -> None:  # noqa: B027  (most have nothing to end)
        """End what was started."""


@dataclass
class Inside(Brain):
    """In this process: what is asked is answered when the answer is fetched."""

    _replies: deque[Reply] = field(default_factory=deque)
    _epoch: int = -1
    _detectors: Detectors = field(default_factory=Detectors)

    def watch(self, epoch: int, readings: Sequence[Reading]) -> None:
        if epoch != self._epoch:
            self._epoch, self._detectors = epoch, Detectors()
        self._replies += [Alarm(epoch, reading) for reading in self._detectors.update(readings)]

    def search(self, ticket: int, task: Task) -> None:
        self._replies.append(Found(ticket, solve(task)))

    def replies(self) -> list[Reply]:
        told = list(self._replies)
        self._replies.clear()
        return told


class Nobody(Brain):
    """No help: for runs that are over before help would have come."""

    def watch(self, epoch: int, readings: Sequence[Reading]) -> None:
        pass

    def search(self, ticket: int, task: Task) -> None:
        pass

    def replies(self) -> list[Reply]:
        return []
