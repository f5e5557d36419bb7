"""Inducing the classifier: a small decision tree from cells and their routes.

Query Mesh, Section 4.4, by scikit-learn's trees on entropy. Numbers are cut where their partition
has borders. Values of a discrete attribute have no order of their own: they are put in one by what
routes go with them, alone and together with the other attributes, so that a single cut can separate
values that are alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anabranch.model import (
    AtMost,
    HashPartition,
    Leaf,
    OneOf,
    PairPartition,
    Partition,
    RangePartition,
    SinglePartition,
    Tree,
    ValuePartition,
)
from anabranch.model.tree import Node

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

DEPTH = 8
# Orders of the values of one discrete attribute that a tree may cut.
ORDERS = 2
# Sampled rows that a leaf must have.
LEAST_LEAF = 5


@dataclass(frozen=True)
class Feature:
    """An attribute's partitions in an order that the tree can cut."""

    partition: SinglePartition
    rank: Rows  # code -> its place in the order

    def question(self, cut: int, yes: Node, no: Node) -> Node:
        """Is the value's place in the order at most this?"""
        name = self.partition.attribute
        if isinstance(self.partition, RangePartition):
            # A code counts the borders that a value has reached.
            below = float(np.nextafter(self.partition.borders[cut], -np.inf))
            return AtMost(name, yes, no, below)
        assert isinstance(self.partition, ValuePartition)
        chosen = [v for c, v in enumerate(self.partition.values) if self.rank[c] <= cut]
        return OneOf(name, yes, no, tuple(chosen))


def singles(partitions: Sequence[Partition]) -> list[SinglePartition]:
    """The partitions of single attributes that are in these, each attribute once.

    Hashed attributes are left out: no question about their values can be put.
    """
    found: dict[str, SinglePartition] = {}
    for partition in partitions:
        pair = isinstance(partition, PairPartition)
        for part in (partition.first, partition.second) if pair else (partition,):
            assert isinstance(part, SinglePartition)
            if not isinstance(part, HashPartition):
                found.setdefault(part.attribute, part)
    return list(found.values())


def induce(parts: Sequence[SinglePartition], codes: Rows, routes: Rows, seed: int = 0) -> Tree:
    """The tree that tells rows with these codes (a column per attribute) their routes.

    >>> parts = [RangePartition("size", (10.0,)), ValuePartition("day", (1.0, 2.0, 3.0))]
    >>> random = np.random.default_rng(0)
    >>> codes = np.column_stack([random.integers(0, 2, 200), random.integers(0, 3, 200)])
    >>> routes = ((codes[:, 0] == 1) & (codes[:, 1] != 1)).astype(int)
    >>> for rule in induce(parts, codes, routes).rules(["a, b", "b, a"]): print(rule)
    if day in {2}: a, b
    if day not in {2} and size <= 10: a, b
    if day not in {2} and size > 10: b, a
    """
    from sklearn.tree import DecisionTreeClassifier  # slow to import: only where it is used

    features = [f for i, part in enumerate(parts) for f in _features(part, i, codes, routes)]
    if not features or len(np.unique(routes)) < 2:
        return Tree(Leaf(int(np.bincount(routes).argmax()) if len(routes) else 0))
    places = {part.attribute: i for i, part in enumerate(parts)}
    table = np.column_stack([f.rank[codes[:, places[f.partition.attribute]]] for f in features])
    model = DecisionTreeClassifier(
        criterion="entropy", max_depth=DEPTH, min_samples_leaf=LEAST_LEAF, random_state=seed
    ).fit(table, routes)
    grown = model.tree_

    def node(at: int) -> Node:
        if grown.children_left[at] < 0:
            return Leaf(int(model.classes_[grown.value[at][0].argmax()]))
        yes, no = node(grown.children_left[at]), node(grown.children_right[at])
        return features[grown.feature[at]].question(int(grown.threshold[at]), yes, no)

    return Tree(node(0)).mapped(lambda route: route)


def _features(part: SinglePartition, place: int, codes: Rows, routes: Rows) -> list[Feature]:
    if isinstance(part, RangePartition):
        return [Feature(part, np.arange(part.size))]
    regular = part.regular - 1  # the last one is for values that are not known
    orders = _orders(codes, place, routes, regular)
    features = []
    for order in orders:
        rank = np.arange(part.size)
        rank[order] = np.arange(regular)
        features.append(Feature(part, rank))
    return features


def _orders(codes: Rows, place: int, routes: Rows, values: int) -> list[Rows]:
    """Orders of a discrete attribute's values by the routes that go with them.

    A value is described by how often each route goes with it, for each code of each other attribute
    (and for all rows). The first principal components put those together that are alike.
    """
    own = codes[:, place]
    known = own < values
    blocks = [_shares(own[known], routes[known], values)]
    for other in range(codes.shape[1]):
        if other != place:
            kinds = int(routes.max()) + 1
            both = codes[known, other] * kinds + routes[known]
            blocks.append(_shares(own[known], both, values))
    shares = np.column_stack(blocks)
    rows = np.bincount(own[known], minlength=values).astype(float)
    centred = (shares - np.average(shares, axis=0, weights=np.maximum(rows, 1e-9))) * np.sqrt(rows)[
        :, None
    ]
    left, _, _ = np.linalg.svd(centred, full_matrices=False)
    scores = left[:, :ORDERS] / np.sqrt(np.maximum(rows, 1e-9))[:, None]
    return [np.argsort(scores[:, i], kind="stable") for i in range(scores.shape[1])]


def _shares(own: Rows, labels: Rows, values: int) -> Floats:
    """Value, label -> the share of the value's rows that have the label."""
    width = int(labels.max(initial=0)) + 1
    counts = np.bincount(own * width + labels, minlength=values * width).reshape(values, width)
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
