"""What a tree of joins is to be good at.

Viglas and Naughton, SIGMOD 2002, Section 4: most results by a time, or soonest so many, and the two
heuristics of Section 4.2; for endless streams with windows the rate once these are full.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isinf, sqrt

import scipy

from anabranch.cost.flow import Flow, full_rate, steadily
from anabranch.cost.rate import FOREVER, SOON, JoinTree, Node, Source
from anabranch.cost.stream_join import StreamJoin
from anabranch.cost.trees import Shape, best_parts, leaders
from anabranch.model import InputError


class Objective(ABC):
    """What a plan is to be good at."""

    @abstractmethod
    def loss(self, tree: JoinTree) -> float:
        """The less the better."""

    @abstractmethod
    def told(self, tree: JoinTree) -> str:
        """What a tree achieves, in words."""

    @abstractmethod
    def search(self, join: StreamJoin, shape: Shape) -> JoinTree:
        """The best tree by dynamic programming."""


@dataclass(frozen=True)
class LocalRate(Objective):
    """Local rate maximisation (Section 4.2.1): Equation 2 with half of the time throughout.

    The rate of a join rises with those of its inputs, so that the best of the whole is made of the
    best of the parts.
    """

    by: float

    def __post_init__(self) -> None:
        _check_above("by", self.by)

    def loss(self, tree: JoinTree) -> float:
        return -tree.rate(self.by / 2)

    def told(self, tree: JoinTree) -> str:
        return f"{tree.rate(self.by / 2):,.4g} results per second, by Equation 2"

    def search(self, join: StreamJoin, shape: Shape = "bushy") -> JoinTree:
        half = self.by / 2
        return best_parts(
            join,
            shape,
            lambda source: source.mean_rate(half),
            lambda tree, left, right: tree.joined(left, right, half),
        )


@dataclass(frozen=True)
class LocalTime(Objective):
    """Local time minimisation (Section 4.2.2): the longest time that a join needs for its share.

    A number of results is pushed down the tree; each part has to give as much as its rate suggests.
    The paper's own split leaves the selectivity out, and its `min` as printed keeps the larger.
    """

    results: float

    def __post_init__(self) -> None:
        _check_above("results", self.results)

    def loss(self, tree: JoinTree) -> float:
        return _local_time(tree, self.results)

    def told(self, tree: JoinTree) -> str:
        return f"{self.results:,.0f} results after {self.loss(tree):.4g} seconds, by n / r"

    def search(self, join: StreamJoin, shape: Shape = "bushy") -> JoinTree:
        horizon = _local_time(LocalRate(60.0).search(join, shape), self.results)
        by = min(horizon, FOREVER)
        return min(leaders(join, shape, by), key=lambda tree: (self.loss(tree), str(tree)))


def _local_time(tree: JoinTree, results: float) -> float:
    def missing(by: float) -> float:
        return results - tree.rate(by / 2) * by

    late = SOON
    while missing(late) > 0:
        late *= 2
        if late > FOREVER:
            return inf
    half = float(scipy.optimize.brentq(missing, 0.0, late)) / 2
    return max(number / rate if rate else inf for number, rate in _pushed(tree, results, half))


def _pushed(node: Node, number: float, at: float) -> list[tuple[float, float]]:
    """What every stream and join has to give, and its local rate."""
    rate = node.mean_rate(at)
    if isinstance(node, Source) or not node.selectivity:
        return [(number, rate)]
    left, right = node.left.mean_rate(at), node.right.mean_rate(at)
    of_left = min(sqrt(number * left / (node.selectivity * right)), node.left.total)
    of_right = number / (node.selectivity * of_left)
    return [(number, rate), *_pushed(node.left, of_left, at), *_pushed(node.right, of_right, at)]


@dataclass(frozen=True)
class MostResults(Objective):
    """The most results by a time."""

    by: float

    def __post_init__(self) -> None:
        _check_above("by", self.by)

    def loss(self, tree: JoinTree) -> float:
        return -Flow(tree).results(self.by)

    def told(self, tree: JoinTree) -> str:
        return f"{Flow(tree).results(self.by):,.0f} results by {self.by:g} seconds"

    def search(self, join: StreamJoin, shape: Shape = "bushy") -> JoinTree:
        return min(leaders(join, shape, self.by), key=lambda tree: (self.loss(tree), str(tree)))


@dataclass(frozen=True)
class Soonest(Objective):
    """So many results as soon as can be."""

    results: float

    def __post_init__(self) -> None:
        _check_above("results", self.results)

    def loss(self, tree: JoinTree) -> float:
        return Flow(tree).time_to(self.results)

    def told(self, tree: JoinTree) -> str:
        return f"{self.results:,.0f} results after {self.loss(tree):.4g} seconds"

    def search(self, join: StreamJoin, shape: Shape = "bushy") -> JoinTree:
        best, by = None, inf
        guess = self.loss(LocalRate(60.0).search(join, shape))
        while guess < by:  # the nearer the time that is planned for, the better the plan
            by = guess
            found = min(leaders(join, shape, by), key=lambda tree: (self.loss(tree), str(tree)))
            best, guess = found, self.loss(found) * (1 - 1e-3)
        if best is None:
            raise InputError(f"there will never be {self.results:,.0f} results")
        return best


@dataclass(frozen=True)
class SteadyRate(Objective):
    """The highest rate once all windows are full."""

    def loss(self, tree: JoinTree) -> float:
        _check_windows(tree)
        return -full_rate(tree)

    def told(self, tree: JoinTree) -> str:
        return f"{full_rate(tree):,.4g} results per second"

    def search(self, join: StreamJoin, shape: Shape = "bushy") -> JoinTree:
        for source in join.sources:
            _check_windows(source)
        return best_parts(join, shape, full_rate, steadily)


def most_results(by: float) -> MostResults:
    """Plan for the most results by a time, in seconds."""
    return MostResults(by)


def soonest(results: float) -> Soonest:
    """Plan for so many results as soon as can be."""
    return Soonest(results)


def steady_rate() -> SteadyRate:
    """Plan for the highest rate once all windows are full."""
    return SteadyRate()


def _check_above(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        raise InputError(f"{name} is a number above 0, got {value!r}")


def _check_windows(node: Node) -> None:
    if isinstance(node, JoinTree):
        _check_windows(node.left)
        _check_windows(node.right)
    elif isinf(node.window):
        raise InputError(
            f"{node.name}: a steady rate needs a window for each stream; without windows the rate "
            "grows with time: use most_results(by=...) or soonest(results=...)"
        )
