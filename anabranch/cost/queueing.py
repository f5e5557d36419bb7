"""A simulation of joins with queues, to check predictions by.

Arrivals are Poisson, each join has a thread and a queue of its own, as in Section 5.1 of the
rate-based paper. As rows never flow back, every join is simulated by itself from the times at which
its inputs come: a row is done its service time after it came or after the row before it was done,
whichever is later.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anabranch.cost.rate import JoinTree, Node, Source
from anabranch.model import InputError

Floats = NDArray[np.float64]
# Results of a join that are followed at most.
MOST = 20_000_000


@dataclass(frozen=True)
class Simulated:
    """When each result came, and for how long results were followed."""

    times: Floats
    until: float

    def results(self, by: float) -> int:
        return int(np.searchsorted(self.times, by, side="right"))

    def time_to(self, results: int) -> float:
        """By when there were so many; infinite if there never were."""
        return float(self.times[results - 1]) if 0 < results <= len(self.times) else np.inf


def simulate(tree: JoinTree, until: float, seed: int = 0) -> Simulated:
    """Run a tree of joins for some seconds of its own time.

    >>> told = simulate(JoinTree(Source("a", 10), Source("b", 20), 0.01), until=50, seed=1)
    >>> 4_000 < told.results(50) < 6_000  # 5,000 on average
    True
    """
    if not 0 < until < np.inf:
        raise InputError(f"until is a number of seconds above 0, got {until!r}")
    return Simulated(_times(tree, until, np.random.default_rng(seed)), until)


def _times(node: Node, until: float, random: np.random.Generator) -> Floats:
    if isinstance(node, Source):
        return _arrivals(node, until, random)
    left = _times(node.left, until, random)
    right = _times(node.right, until, random)
    return _join(node, left, right, until, random)


def _arrivals(source: Source, until: float, random: np.random.Generator) -> Floats:
    expected = min(source.rate * until, source.rows)
    count = int(min(source.rows, expected + 10 * expected**0.5 + 10))
    times = np.cumsum(random.exponential(1 / source.rate, count))
    return times[times <= until]


def _join(
    join: JoinTree, left: Floats, right: Floats, until: float, random: np.random.Generator
) -> Floats:
    times = np.concatenate([left, right])
    order = np.argsort(times, kind="stable")
    times, is_left = times[order], (order < len(left))
    held = _held(join, times, is_left)
    matches = random.binomial(held, join.selectivity)
    handling = join.handling
    service = handling.per_row + handling.per_pair * held + handling.transmission * matches
    # Rows before this one keep the server busy: the recursion of Lindley, all rows at once.
    spent = np.cumsum(service)
    done = spent + np.maximum.accumulate(times - (spent - service)) if len(times) else times
    kept = done <= until
    found = np.repeat(done[kept], matches[kept])
    if len(found) > MOST:
        raise InputError(
            f"{join} gives over {MOST:,} results in {until:g} seconds: simulate a shorter time"
        )
    return found


def _held(join: JoinTree, times: Floats, is_left: NDArray[np.bool_]) -> NDArray[np.int64]:
    """For each row, how many rows of the other side came before it and are in their window."""
    counts = np.zeros(len(times), np.int64)
    for mine, window in ((is_left, join.right.window), (~is_left, join.left.window)):
        others = times[~mine]
        before = np.cumsum(~mine)[mine]
        gone = np.searchsorted(others, times[mine] - window, side="left")
        counts[mine] = before - gone
    return counts
