"""The decision tree that tells rows their routes (Query Mesh, Section 4.4), by scikit-learn.

A tree of scikit-learn cuts numbers. A discrete attribute becomes one by putting its values in an
order in which those with the same routes are neighbours; a cut is then a set of values. So the tree
stays small, and needs no encoding of its own to be read, saved or run elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anabranch.model import NULL, AtMost, Leaf, OneOf, Tree
from anabranch.model.tree import Node

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Values = Mapping[str, frozenset[float]]  # attribute -> some values of it

DEPTH = 8
# Sampled rows that a leaf must have.
LEAST_LEAF = 5
# Values of a discrete attribute that a tree may ask for, the most frequent ones.
MOST_VALUES = 64
# Trees grown from random cuts; routes that are compared two by two.
ATTEMPTS, MOST_PAIRED = 16, 4
# Values are alike, and never cut apart, if their scores differ by less than this share of all.
ALIKE = 0.15
# A smaller tree is taken if it agrees with this much less of the rows than the best.
SIMPLICITY = 0.005


@dataclass(frozen=True)
class Column:
    """Sampled values of an attribute; is their order of any meaning?"""

    name: str
    values: Floats
    discrete: bool


@dataclass(frozen=True)
class Feature:
    """A column of small whole numbers that the tree may cut, and what a cut asks.

    scikit-learn computes with 32 bits: numbers stand for values by their place among these.
    """

    name: str
    numbers: Floats
    levels: Floats  # place -> value of a continuous attribute
    values: tuple[float, ...] = ()  # of a discrete attribute
    places: tuple[float, ...] = ()  # and the place of each

    def question(self, cut: float, yes: Node, no: Node) -> Node:
        """Is a row's number at most this?"""
        if self.values:
            paired = zip(self.values, self.places, strict=True)
            return OneOf(self.name, yes, no, tuple(v for v, place in paired if place <= cut))
        return AtMost(self.name, yes, no, self._border(int(np.floor(cut))))

    def _border(self, place: int) -> float:
        """The roundest border behind the value at a place and before the next."""
        if place < 0:  # only minus infinity lies below
            return float(np.nextafter(self.levels[0], -np.inf))
        low = float(self.levels[place])
        if place + 1 >= len(self.levels):
            return low
        high = float(self.levels[place + 1])
        for digits in range(1, 17):
            border = float(f"{low / 2 + high / 2:.{digits}g}")
            if low <= border < high:
                return border
        return low


def induce(columns: Sequence[Column], routes: Rows, seed: int = 0) -> Tree:
    """The tree that tells sampled rows their routes, as well as these columns can.

    >>> random = np.random.default_rng(0)
    >>> size, day = random.integers(0, 1_000, 400) * 1.0, random.integers(1, 5, 400) * 1.0
    >>> routes = ((size > 500) & (day != 2)).astype(int)
    >>> tree = induce([Column("size", size, False), Column("day", day, True)], routes)
    >>> for rule in tree.rules(["a, b", "b, a"]): print(rule)
    if size <= 502: a, b
    if size > 502 and day in {1, 3, 4}: b, a
    if size > 502 and day not in {1, 3, 4}: a, b
    """
    most = int(np.bincount(routes).argmax()) if len(routes) else 0
    plain = [_numeric(column) for column in columns if not column.discrete]
    coarse, fine = _discrete(columns, routes)
    best: tuple[float, int, Tree] = (-1.0, 0, Tree(Leaf(most)))
    if len(np.unique(routes)) < 2:
        return best[2]
    # Where several attributes matter only together, no first cut is better than another, and a tree
    # may begin with a bad one: some random ones are grown, too.
    for features in ([*plain, *coarse], [*plain, *coarse, *fine]):
        for attempt in range(ATTEMPTS):
            if features:
                best = min(best, _grown(features, routes, seed, attempt), key=_badness)
    return best[2]


def _badness(grown: tuple[float, int, Tree]) -> tuple[float, int]:
    agreement, leaves, _ = grown
    return -round(agreement / SIMPLICITY), leaves


def _grown(
    features: Sequence[Feature], routes: Rows, seed: int, attempt: int
) -> tuple[float, int, Tree]:
    from sklearn.tree import DecisionTreeClassifier  # slow to import: only where it is used

    table = np.column_stack([feature.numbers for feature in features])
    model = DecisionTreeClassifier(
        criterion="entropy",
        max_depth=DEPTH,
        min_samples_leaf=min(LEAST_LEAF, max(1, len(routes) // 20)),
        max_features=1 if attempt else None,
        random_state=seed + attempt,
    ).fit(table, routes)
    tree = Tree(_narrowed(_node(model, features, 0), {}, {})).mapped(lambda route: route)
    agreement = float((model.predict(table) == routes).mean())
    return agreement, len(tree.leaves), tree


def _node(model: "DecisionTreeClassifier", features: Sequence[Feature], at: int) -> Node:
    grown: Any = model.tree_
    if grown.children_left[at] < 0:
        return Leaf(int(model.classes_[grown.value[at][0].argmax()]))
    yes = _node(model, features, grown.children_left[at])
    no = _node(model, features, grown.children_right[at])
    feature = features[int(grown.feature[at])]
    return feature.question(float(grown.threshold[at]), yes, no)


def _narrowed(node: Node, gone: Values, only: Values) -> Node:
    """The same tree without values that the answers before a question leave out.

    >>> inner = OneOf("a", Leaf(0), Leaf(1), (1.0, 2.0))
    >>> _narrowed(OneOf("a", inner, inner, (1.0,)), {}, {}).to_dict()["no"]["one_of"]
    [2.0]
    """
    if not isinstance(node, OneOf):
        return _both(node, (gone, only), (gone, only))
    name = node.attribute
    left, known = gone.get(name, frozenset()), only.get(name)
    values = frozenset(node.values) - left
    values = values if known is None else values & known
    if not values:
        return _narrowed(node.no, gone, only)
    if values == known:
        return _narrowed(node.yes, gone, only)
    rest = only if known is None else {**only, name: known - values}
    told = replace(node, values=tuple(sorted(values)))
    return _both(told, (gone, {**only, name: values}), ({**gone, name: left | values}, rest))


def _both(node: Node, yes: tuple[Values, Values], no: tuple[Values, Values]) -> Node:
    if isinstance(node, Leaf):
        return node
    return replace(node, yes=_narrowed(node.yes, *yes), no=_narrowed(node.no, *no))


def _numeric(column: Column) -> Feature:
    """Values by their place; NULL and NaN, for which no test holds, lie above all others."""
    regular = np.isfinite(column.values) & (column.values != NULL)
    levels, places = np.unique(column.values[regular], return_inverse=True)
    numbers = np.full(len(column.values), float(len(levels)))
    numbers[regular] = places
    numbers[column.values == -np.inf] = -1.0
    return Feature(column.name, numbers, levels if len(levels) else np.zeros(1))


def _discrete(columns: Sequence[Column], routes: Rows) -> tuple[list[Feature], list[Feature]]:
    """Discrete attributes in orders of their values: alike ones as one, and each for itself."""
    codes = [_codes(column) for column in columns]
    coarse, fine = [], []
    for place, column in enumerate(columns):
        values, own = codes[place]
        if not column.discrete or not len(values):
            continue
        others = [code for i, (_, code) in enumerate(codes) if i != place]
        ranks: dict[tuple[float, ...], None] = {}
        for rows in _worlds(routes):
            for scores in _scores(own[rows], len(values), [o[rows] for o in others], routes[rows]):
                ranks[tuple(_merged(scores).tolist())] = None
                fine.append(_feature(column.name, own, values, np.argsort(np.argsort(scores))))
        coarse += [_feature(column.name, own, values, np.array(places)) for places in ranks]
    return coarse, fine


def _feature(name: str, own: Rows, values: Floats, places: Rows) -> Feature:
    # Other values are not one of any set: they lie above all.
    numbers = np.append(places, len(values)).astype(float)[own]
    return Feature(name, numbers, np.zeros(0), tuple(values.tolist()), tuple(places.tolist()))


def _worlds(routes: Rows) -> list[Rows]:
    """All rows, and those of two routes only: what tells these apart may be lost among others."""
    rows = np.bincount(routes)
    frequent = np.argsort(-rows, kind="stable")[:MOST_PAIRED]
    pairs = [np.flatnonzero(np.isin(routes, pair)) for pair in combinations(frequent.tolist(), 2)]
    return [np.arange(len(routes)), *(pair for pair in pairs if len(pair) > LEAST_LEAF)]


def _codes(column: Column) -> tuple[Floats, Rows]:
    """The values to ask for, and the place of each row's value among them; few ranges of others."""
    if not column.discrete:
        edges = np.unique(np.quantile(column.values, [0.25, 0.5, 0.75], method="nearest"))
        return edges, np.searchsorted(edges, column.values, side="right")
    regular = column.values[np.isfinite(column.values) & (column.values != NULL)]
    values, rows = np.unique(regular, return_counts=True)
    kept = np.sort(values[np.argsort(-rows, kind="stable")[:MOST_VALUES]])
    if not len(kept):
        return kept, np.zeros(len(column.values), np.int64)
    place = np.minimum(np.searchsorted(kept, column.values), len(kept) - 1)
    return kept, np.where(kept[place] == column.values, place, len(kept))


def _scores(own: Rows, values: int, others: Sequence[Rows], routes: Rows) -> list[Floats]:
    """Numbers for an attribute's values, close together where they go with the same routes.

    A value is described by how often each route goes with it, for each value of each other
    attribute and for all rows; the first principal components of that are its scores.
    """
    kinds = int(routes.max()) + 1
    known = own < values
    blocks = [_shares(own[known], routes[known], values)]
    blocks += [_shares(own[known], (o * kinds + routes)[known], values) for o in others]
    shares = np.column_stack(blocks)
    rows = np.bincount(own[known], minlength=values).astype(float)
    weights = np.sqrt(np.maximum(rows, 1e-9))[:, None]
    centred = (shares - np.average(shares, axis=0, weights=np.maximum(rows, 1e-9))) * weights
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    count = 1 if len(sizes) < 2 or sizes[1] < 0.2 * sizes[0] else 2
    return [left[:, i] / weights[:, 0] for i in range(count)]


def _merged(scores: Floats) -> Rows:
    """The place of each score, those with hardly a gap between them at the same place."""
    order = np.argsort(scores, kind="stable")
    gaps = np.diff(scores[order])
    span = float(scores.max() - scores.min())
    places = np.zeros(len(scores), np.int64)
    places[order] = np.concatenate([[0], np.cumsum(gaps > ALIKE * span)])
    return places


def _shares(own: Rows, labels: Rows, values: int) -> Floats:
    """Value, label -> the share of the value's rows that have the label."""
    width = int(labels.max(initial=0)) + 1
    counts = np.bincount(own * width + labels, minlength=values * width).reshape(values, width)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
