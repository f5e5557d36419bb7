"""All trees of joins, and the best of them by dynamic programming.

Viglas and Naughton, SIGMOD 2002, Section 4.2: an optimiser that builds plans bottom-up can compare
parts by their rates.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from math import isinf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from anabranch.cost.flow import Floats, arrived, joined, points
from anabranch.cost.rate import JoinTree, Node, Source
from anabranch.cost.stream_join import Part, StreamJoin, splits
from anabranch.model import InputError

Shape = Literal["bushy", "left-deep"]
# Streams up to which all trees are looked at.
MOST_EXHAUSTIVE = 7
# Trees of a part that are kept where no one of them is the best throughout.
BEAM = 16
# Of the time that is planned for, the shares at which parts are compared.
MOMENTS = (0.1, 0.25, 0.5, 0.75, 1.0)


def all_trees(join: StreamJoin, shape: Shape = "bushy") -> list[JoinTree]:
    """Every tree without products of unlinked parts, mirror images left out.

    >>> from anabranch.cost.stream_join import Link
    >>> chain = [Link("a", "b", 0.1), Link("b", "c", 0.1), Link("c", "d", 0.1)]
    >>> chained = StreamJoin([Source(name, 1) for name in "abcd"], chain)
    >>> len(all_trees(chained)), len(all_trees(chained, "left-deep"))
    (5, 4)
    """
    if len(join.sources) > MOST_EXHAUSTIVE:
        raise InputError(
            f"all trees are looked at for up to {MOST_EXHAUSTIVE} streams, got {len(join.sources)}"
        )
    known: dict[Part, list[Node]] = {}

    def of(part: Part) -> list[Node]:
        if part not in known:
            known[part] = list(_made(join, part, shape, of))
        return known[part]

    return [tree for tree in of(frozenset(join.names)) if isinstance(tree, JoinTree)]


def _made(
    join: StreamJoin, part: Part, shape: Shape, of: Callable[[Part], Sequence[Node]]
) -> Iterator[Node]:
    """A part by all of its splits, from what is kept of the smaller ones."""
    if len(part) == 1:
        yield join.by_name[next(iter(part))]
        return
    for left, right in splits(join, part):
        if shape == "left-deep" and len(left) > 1 and len(right) > 1:
            continue
        if len(right) > len(left):
            left, right = right, left
        for pair in product(of(left), of(right)):
            yield join.joined(*pair)


# What is to be high, and a cost that decides where that is equal.
Worth = tuple[float, float]


def best_parts(
    join: StreamJoin,
    shape: Shape,
    of_source: Callable[[Source], float],
    of_join: Callable[[JoinTree, float, float], float],
) -> JoinTree:
    """Dynamic programming for a rate that rises with those of the parts.

    Joins that keep up give the same rate in any order: then the one with few rows between them.
    """
    best: dict[Part, tuple[Worth, Node]] = {
        frozenset([name]): ((of_source(source), 0.0), source)
        for name, source in join.by_name.items()
    }
    for part in _parts(join):
        made = []
        for left, right in _shaped(join, part, shape):
            (one, before), (other, beside) = best[left][0], best[right][0]
            tree = join.joined(best[left][1], best[right][1])
            rate = of_join(tree, one, other)
            made.append(((rate, before + beside + rate), tree))
        if made:
            best[part] = min(made, key=lambda pair: (-_rounded(pair[0][0]), *pair[0][1:]))
    whole = best[frozenset(join.names)][1]
    assert isinstance(whole, JoinTree)
    return whole


def _rounded(rate: float) -> float:
    """What differs by the order of the arithmetic only is the same."""
    return float(f"{rate:.9g}")


def _parts(join: StreamJoin) -> Iterator[Part]:
    """All parts of two streams and more, the small ones first."""
    for size in range(2, len(join.names) + 1):
        for chosen in combinations(join.names, size):
            yield frozenset(chosen)


def _shaped(join: StreamJoin, part: Part, shape: Shape) -> Iterator[tuple[Part, Part]]:
    for left, right in splits(join, part):
        if shape == "bushy" or min(len(left), len(right)) == 1:
            yield (left, right) if len(left) >= len(right) else (right, left)


def leaders(join: StreamJoin, shape: Shape, by: float) -> list[JoinTree]:
    """Trees by dynamic programming that keeps, of every part, those that lead at some moment."""
    if isinf(by):
        raise InputError("there will never be so many results")
    times = points(by, list(join.sources))
    at = np.searchsorted(times, np.array(MOMENTS) * by).clip(max=len(times) - 1)
    kept: dict[Part, list[tuple[Node, Floats]]] = {
        frozenset([name]): [(source, arrived(source, times))]
        for name, source in join.by_name.items()
    }
    for part in _parts(join):
        made = [
            (tree, joined(tree, left[1], right[1], times))
            for one, other in _shaped(join, part, shape)
            for left, right in product(kept[one], kept[other])
            for tree in [join.joined(left[0], right[0])]
        ]
        if made:
            kept[part] = _leading(made, at)
    return [tree for tree, _ in kept[frozenset(join.names)] if isinstance(tree, JoinTree)]


def _leading(
    made: Sequence[tuple[Node, Floats]], at: NDArray[np.int64]
) -> list[tuple[Node, Floats]]:
    """The first ones at each moment, in turn, as many as are kept.

    And the last ones: where the join above is busy, rows that come fast keep others waiting.
    """

    def ranked(moment: int, sign: int) -> list[int]:
        return sorted(range(len(made)), key=lambda i: (sign * made[i][1][moment], str(made[i][0])))

    ranks = [*(ranked(moment, -1) for moment in at.tolist()), ranked(int(at[-1]), 1)]
    chosen = dict.fromkeys(i for place in zip(*ranks, strict=True) for i in reversed(place))
    return [made[i] for i in list(chosen)[:BEAM]]
