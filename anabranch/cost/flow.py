"""How many results a tree of joins has given by when, with rows that wait where joins are busy.

A join is a server with one queue, as an operator with a thread of its own is. Of the rows that have
come it has handled the first ones, as many as it had time for; so what it has found by a time is
what it would have found of these at once. Rows flow, they are not counted: the mean of what a
simulation with Poisson arrivals gives, in some microseconds per join.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, isinf

import numpy as np
from numpy.typing import NDArray

from anabranch.cost.rate import FOREVER, SOON, JoinTree, Node, Source

Floats = NDArray[np.float64]
# Points in time at which a flow is followed: evenly, and closer to the start.
EVEN, EARLY = 512, 128


def points(until: float, nodes: Sequence[Node]) -> Floats:
    """Times to follow flows at; also where finite streams end."""
    ends = [end for node in nodes for end in _ends(node) if end < until]
    even = np.linspace(0.0, until, EVEN)
    early = np.geomspace(until / 1e6, until, EARLY)
    return np.unique(np.concatenate([even, early, ends]))


def _ends(node: Node) -> list[float]:
    if isinstance(node, Source):
        return [] if isinf(node.rows) else [node.rows / node.rate]
    return _ends(node.left) + _ends(node.right)


def arrived(node: Node, times: Floats) -> Floats:
    """How many rows a stream has sent, or a join has found, by each of these times.

    >>> tree = JoinTree(Source("a", 10), Source("b", 20), 0.01)
    >>> arrived(tree, np.array([0.0, 1.0, 5.0])).round(6).tolist()
    [0.0, 2.0, 50.0]
    """
    if isinstance(node, Source):
        return np.minimum(node.rate * times, node.rows)
    return joined(node, arrived(node.left, times), arrived(node.right, times), times)


def joined(join: JoinTree, left: Floats, right: Floats, times: Floats) -> Floats:
    """What a join has found by these times, if its inputs have come so."""
    found = _matches(join, left, right, times)
    handling = join.handling
    work = handling.per_row * (left + right) + handling.transmission * found
    if handling.per_pair:
        work = work + handling.per_pair * left * right
    if not work[-1] > 0:
        return found
    # A queue: work done by t is the least, over s, of all work by s and the time since.
    done = times + np.minimum.accumulate(work - times)
    return np.interp(done, work, found)


def _matches(join: JoinTree, left: Floats, right: Floats, times: Floats) -> Floats:
    """What the rows that have come would give if they were handled at once."""
    if isinf(join.window) and isinf(max(join.left.window, join.right.window)):
        return join.selectivity * left * right
    sides = ((left, right, join.right.window), (right, left, join.left.window))
    found = np.zeros(len(times))
    for mine, other, window in sides:
        held = other - np.interp(times - window, times, other, left=0.0)
        between = (held[1:] + held[:-1]) / 2
        found[1:] += np.cumsum(np.diff(mine) * between)
    return join.selectivity * found


@dataclass(frozen=True)
class Flow:
    """The results of a tree of joins over time.

    Examples
    --------
    >>> from anabranch.cost.rate import Handling
    >>> pair = Source("a", 10), Source("b", 20)
    >>> Flow(JoinTree(*pair, 0.01)).results(5.0)
    50.0
    >>> slow = Flow(JoinTree(*pair, 0.01, Handling(move=0.1)))  # handles 10 rows of 30 a second
    >>> round(slow.results(15.0), 2), round(slow.time_to(50), 3)
    (50.0, 15.0)
    """

    tree: JoinTree
    _curves: dict[float, tuple[Floats, Floats]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def curve(self, until: float) -> tuple[Floats, Floats]:
        """Times, and results by each of them."""
        if until not in self._curves:
            times = points(until, [self.tree])
            self._curves[until] = times, arrived(self.tree, times)
        return self._curves[until]

    def results(self, by: float) -> float:
        """How many there are by a time."""
        return float(self.curve(by)[1][-1]) if by > 0 else 0.0

    def time_to(self, results: float) -> float:
        """By when there are so many; infinite if there never are."""
        if results > self.tree.total * (1 + 1e-9):
            return inf
        late = SOON
        while self.results(late) < results * (1 - 1e-12):
            late *= 4
            if late > FOREVER:
                return inf
        times, found = self.curve(late)
        return float(times[0]) if results <= 0 else float(_first(times, found, results))

    @cached_property
    def end(self) -> float:
        """When the last result comes; infinite for endless streams, 0 if there is none."""
        if not self.tree.total:
            return 0.0
        return self.time_to(self.tree.total) if not isinf(self.tree.total) else inf


def _first(times: Floats, found: Floats, results: float) -> float:
    """When a curve that only rises first reaches a number."""
    place = int(np.searchsorted(found, results * (1 - 1e-12)))
    if place == 0:
        return float(times[0])
    low, high = found[place - 1], found[place]
    share = (results - low) / (high - low) if high > low else 1.0
    return float(times[place - 1] + min(share, 1.0) * (times[place] - times[place - 1]))


def full_rate(node: Node) -> float:
    """Results per second once all windows are full.

    A row of one side meets what the window of the other holds; as in Equation 2, what a join cannot
    keep up with comes slower.

    >>> full_rate(JoinTree(Source("a", 10, window=5), Source("b", 20, window=5), 0.01))
    20.0
    """
    if isinstance(node, Source):
        return node.rate
    left, right = full_rate(node.left), full_rate(node.right)
    return steadily(node, left, right)


def steadily(join: JoinTree, left: float, right: float) -> float:
    """The same, for given rates of the inputs."""
    held = join.left.window + join.right.window
    found = join.selectivity * left * right * held
    handling = join.handling
    pairs = left * right * held * handling.per_pair
    busy = handling.per_row * (left + right) + pairs + handling.transmission * found
    return found / max(busy, 1.0)


def rows_between(tree: JoinTree, by: float) -> float:
    """Results of joins that are inputs of others, by a time: what is to be few, all else equal.

    >>> a, b, c = Source("a", 10), Source("b", 20), Source("c", 1)
    >>> rows_between(JoinTree(JoinTree(a, b, 0.01), c, 0.5), by=10)
    200.0
    """
    times = points(by, [tree])
    return sum(float(arrived(join, times)[-1]) for join in tree.joins()[:-1])
