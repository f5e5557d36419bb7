"""Where plans cross, and which one is ahead when.

Viglas and Naughton, SIGMOD 2002, Sections 2 and 5.2: a plan that is best for the first results may
be overtaken; that is the point to replace it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from anabranch.cost.flow import Floats, arrived, points
from anabranch.cost.rate import JoinTree


@dataclass(frozen=True)
class Crossing:
    """From here on the other of two plans is ahead: when, and at how many results."""

    at: float
    results: float


def crossings(first: JoinTree, second: JoinTree, until: float) -> list[Crossing]:
    """Where two plans cross, from their first result on.

    >>> from anabranch.cost.rate import Handling, Source
    >>> a, b, c = Source("a", 50), Source("b", 500), Source("c", 100)
    >>> cheap, dear = Handling(move=0.004), Handling(move=0.009)
    >>> plans = (
    ...     JoinTree(JoinTree(a, b, 0.002, cheap), c, 0.005, dear),
    ...     JoinTree(JoinTree(a, c, 0.005, dear), b, 0.002, cheap),
    ... )
    >>> [round(crossing.results, -2) for crossing in crossings(*plans, until=60)]
    [3100.0]
    """
    times = points(until, [first, second])
    one, other = arrived(first, times), arrived(second, times)
    lead = np.sign(one - other)
    close = np.abs(one - other) <= 1e-6 * np.maximum(one, other)
    places = np.flatnonzero((np.maximum(one, other) >= 1) & ~close)
    turns = [(a, b) for a, b in pairwise(places.tolist()) if lead[a] != lead[b]]
    return [_crossing(times, one, other, a, b) for a, b in turns]


def _crossing(times: Floats, one: Floats, other: Floats, a: int, b: int) -> Crossing:
    before, behind = one[a] - other[a], one[b] - other[b]
    share = before / (before - behind)
    return Crossing(
        float(times[a] + share * (times[b] - times[a])), float(one[a] + share * (one[b] - one[a]))
    )


@dataclass(frozen=True)
class Stage:
    """The plan to have from a number of results on, and the time at which that is reached."""

    results: float
    at: float
    tree: JoinTree


def schedule(trees: Sequence[JoinTree], until: float) -> list[Stage]:
    """Which plan is ahead when: the first one is for the first results, others take over.

    Section 2: plans are best replaced where they cross.
    """
    times = points(until, trees)
    curves = np.array([arrived(tree, times) for tree in trees])
    begin = int(np.argmax(curves.max(axis=0) >= 1)) if curves.max() >= 1 else len(times) - 1
    stages: list[Stage] = []
    for t in range(begin, len(times)):
        ahead = int(np.argmax(curves[:, t]))
        here = stages[-1].tree if stages else None
        if here is not None and curves[ahead, t] <= curves[trees.index(here), t] * (1 + 1e-6):
            continue
        if here is not trees[ahead]:
            first = not stages
            found = 0.0 if first else float(curves[ahead, t])
            stages.append(Stage(found, 0.0 if first else float(times[t]), trees[ahead]))
    return stages
