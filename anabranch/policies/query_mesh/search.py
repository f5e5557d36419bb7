"""Searches for a cheap configuration: exhaustive, iterative improvement, simulated annealing.

Query Mesh, Sections 4.6 and 4.7 (Figures 5 to 7). A search goes in single moves, so that it can be
spread over batches, and stopped at any time with the best that it has seen.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp
from typing import ClassVar

import numpy as np

from anabranch.model import InputError
from anabranch.policies.query_mesh.costing import Costing
from anabranch.policies.query_mesh.lattice import (
    Configuration,
    bell,
    everything,
    random_configuration,
    random_neighbour,
)
from anabranch.policies.query_mesh.starts import STARTS

# Training tuples up to which all configurations are looked at.
MOST_EXHAUSTIVE = 9
# Neighbours that iterative improvement costs at once: most moves are in vain.
AT_ONCE = 8
# Moves at one temperature: per training tuple, and at least. The factor to the next temperature.
CHAIN, LEAST_CHAIN, COOLING = 0.4, 20, 0.9
# Chance of accepting a usual worsening at the first temperature, and when nothing moves any more.
FIRST_CHANCE, FROZEN = 0.3, 0.01


@dataclass(frozen=True)
class Stop:
    """When a search ends, at the latest; the first condition that holds counts.

    Parameters
    ----------
    iterations
        Local optimisations (iterative improvement) or temperatures (simulated annealing).
    plateau
        Iterations in a row that brought nothing better.
    seconds
        Time.
    subsets
        Memory: subsets of training tuples whose cost is kept.
    patience
        Moves in vain, per tuple and subset, after which iterative improvement takes a solution for
        a local minimum.
    """

    iterations: int | None = None
    plateau: int | None = None
    seconds: float | None = None
    subsets: int | None = None
    patience: int = 6


@dataclass
class Search(ABC):
    """A search under way."""

    name: ClassVar[str]
    costing: Costing
    start: str = "route_driven"
    stop: Stop = field(default_factory=Stop)
    seed: int = 0
    clock: Callable[[], float] = time.perf_counter
    warm: Configuration | None = None  # a solution to begin with, instead of a start solution

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise InputError(f"no start solution {self.start!r}; valid: {', '.join(STARTS)}")
        self.random = np.random.default_rng(self.seed)
        self.done = False
        self.moves = self.iterations = 0
        self.trace: list[tuple[int, float]] = []  # move -> the best cost from there on
        self._since = self._spent = 0.0
        self._improved_at = 0
        self.best = self.warm or STARTS[self.start](self.costing, self.random)
        self.best_cost = float("inf")
        self.note(self.best)
        self.current, self.current_cost = self.best, self.best_cost

    def run(self) -> Configuration:
        """Go on to the end; the best configuration."""
        while not self.done:
            self.step()
        return self.best

    def step(self) -> None:
        """One move."""
        begin = self.clock()
        self.move()
        self.moves += 1
        self._spent += self.clock() - begin
        limit = self.stop
        late = limit.seconds is not None and self._spent >= limit.seconds
        full = limit.subsets is not None and self.costing.subsets >= limit.subsets
        self.done = self.done or late or full

    @abstractmethod
    def move(self) -> None:
        """Look at one configuration."""

    def note(self, config: Configuration) -> float:
        """The cost of a configuration, which is kept if there was no better one."""
        cost = self.costing.total(config)
        if cost < self.best_cost:
            self.best, self.best_cost = config, cost
            self.trace.append((self.moves, cost))
            self._improved_at = self.iterations
        return cost

    def iterated(self) -> None:
        """An iteration is over."""
        self.iterations += 1
        limit = self.stop
        enough = limit.iterations is not None and self.iterations >= limit.iterations
        in_vain = self.iterations - self._improved_at
        self.done = enough or (limit.plateau is not None and in_vain >= limit.plateau)


@dataclass
class Exhaustive(Search):
    """Opt-QM: all configurations (Figure 5)."""

    name: ClassVar[str] = "opt"

    def __post_init__(self) -> None:
        size = len(self.costing.training)
        self.check(size)
        super().__post_init__()
        self._rest = everything(size)

    @staticmethod
    def check(tuples: int) -> None:
        """Refuse so many training tuples that the search would not end."""
        if tuples > MOST_EXHAUSTIVE:
            raise InputError(
                f"opt looks at all configurations: {tuples} training tuples have {bell(tuples):,} "
                f"(the Bell number B_{tuples}); at most {MOST_EXHAUSTIVE} tuples "
                f"({bell(MOST_EXHAUSTIVE):,}) are allowed, use sa or ii"
            )

    def move(self) -> None:
        config = next(self._rest, None)
        if config is None:
            self.done = True
        else:
            self.note(config)


@dataclass
class IterativeImprovement(Search):
    """II-QM: random downhill moves to a local minimum, again from other starts (Figure 6)."""

    name: ClassVar[str] = "ii"
    stop: Stop = field(default_factory=lambda: Stop(iterations=3))

    def __post_init__(self) -> None:
        super().__post_init__()
        self._vain = 0
        self._drawn: list[Configuration] = []  # neighbours of the current solution

    def _draw(self) -> Configuration | None:
        """A neighbour; the more were in vain, the more others are drawn and costed with it."""
        count = min(1 + self._vain, AT_ONCE)
        drawn = [random_neighbour(self.current, self.random) for _ in range(count)]
        self._drawn = [neighbour for neighbour in drawn if neighbour is not None]
        self.costing.prepare(members for config in self._drawn for members in config)
        return self._drawn.pop() if self._drawn else None

    def move(self) -> None:
        neighbour = self._drawn.pop() if self._drawn else self._draw()
        if neighbour is None:  # a single tuple
            self.done = True
            return
        cost = self.note(neighbour)
        if cost < self.current_cost:
            self.current, self.current_cost, self._vain = neighbour, cost, 0
            self._drawn.clear()
            return
        self._vain += 1
        if self._vain > self.stop.patience * (len(self.costing.training) + len(self.current)):
            self._vain = 0
            self.current = random_configuration(len(self.costing.training), self.random)
            self._drawn.clear()
            self.iterated()
            self.current_cost = self.note(self.current)


@dataclass
class SimulatedAnnealing(Search):
    """SA-QM: worse neighbours are taken, too, less and less often (Figure 7)."""

    name: ClassVar[str] = "sa"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._steps = 0
        self._temperature = self._floor = 0.0

    def _heat(self) -> None:
        """The first temperature: a usual worsening is accepted at a certain chance."""
        deltas = []
        for _ in range(20):
            neighbour = random_neighbour(self.current, self.random)
            if neighbour is not None:
                deltas.append(abs(self.note(neighbour) - self.current_cost))
        usual = float(np.mean(deltas)) if deltas else 0.0
        self._temperature = -usual / np.log(FIRST_CHANCE)
        self._floor = FROZEN * self._temperature

    def move(self) -> None:
        if not self.moves:
            self._heat()
        neighbour = random_neighbour(self.current, self.random)
        if neighbour is None or self._temperature <= 0:
            self.done = True
            return
        cost = self.note(neighbour)
        worse = cost - self.current_cost
        if worse <= 0 or self.random.random() < exp(-worse / self._temperature):
            self.current, self.current_cost = neighbour, cost
        self._steps += 1
        if self._steps >= max(LEAST_CHAIN, CHAIN * len(self.costing.training)):
            self._steps = 0
            self._temperature *= COOLING
            self.iterated()
            self.done = self.done or self._temperature < self._floor


SEARCHES: dict[str, type[Search]] = {
    search.name: search for search in (Exhaustive, IterativeImprovement, SimulatedAnnealing)
}
