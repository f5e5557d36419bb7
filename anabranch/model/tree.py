"""A decision tree over attributes: which row takes which route (Query Mesh, Section 4.4).

A test never holds for a NULL or a NaN, as in Spark's SQL: such rows go the other way.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.model.attribute import NULL, Codes, Floats, borders_passed
from anabranch.model.classifier import MOST_DENSE, Celled, Classified, Values
from anabranch.model.telling import PLAIN, Telling

# No tree that is learned here is deeper; one that is was not written by us.
DEEPEST = 30

Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class Leaf:
    """Rows that come here take this route."""

    route: int

    def to_dict(self) -> dict[str, Any]:
        return {"route": self.route}


@dataclass(frozen=True)
class Question(ABC):
    """A question about one attribute, and what follows if the answer is yes, or no."""

    attribute: str
    yes: "Node"
    no: "Node"

    @abstractmethod
    def asked(self) -> dict[str, Any]:
        """What is asked, as plain data."""

    def to_dict(self) -> dict[str, Any]:
        ways = {"yes": self.yes.to_dict(), "no": self.no.to_dict()}
        return {"attribute": self.attribute, **self.asked(), **ways}


@dataclass(frozen=True)
class AtMost(Question):
    """Is the value a number of at most this?"""

    border: float

    def __post_init__(self) -> None:
        if not isfinite(self.border):
            raise ValueError(f"a border must be finite, got {self.border}")

    def asked(self) -> dict[str, Any]:
        return {"at_most": self.border}


@dataclass(frozen=True)
class OneOf(Question):
    """Is the value one of these?"""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values or not all(map(isfinite, self.values)):
            raise ValueError(f"a test needs finite values, got {self.values}")

    def asked(self) -> dict[str, Any]:
        return {"one_of": list(self.values)}


Node = Leaf | AtMost | OneOf


def nodes(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    yield node
    if not isinstance(node, Leaf):
        yield from nodes(node.yes)
        yield from nodes(node.no)


@dataclass(frozen=True)
class Axis:
    """The values of one attribute, as far as the tests of a tree tell them apart."""

    borders: tuple[float, ...]
    values: tuple[float, ...]

    @property
    def size(self) -> int:
        return (len(self.borders) + 2) * (len(self.values) + 1)

    def code(self, column: Floats) -> Codes:
        """Where each value lies among the borders and values; a NULL or NaN lies apart."""
        passed = borders_passed(self.borders, column, np.greater)
        passed[np.isnan(column) | (column == NULL)] = len(self.borders) + 1
        if not self.values:
            return passed
        known = np.array(self.values)
        place = np.minimum(borders_passed(self.values, column, np.greater), len(known) - 1)
        place[known[place] != column] = len(known)
        return passed * (len(known) + 1) + place

    def answers(self, test: Question, codes: Codes) -> Bits:
        """Which of these codes pass a test."""
        width = len(self.values) + 1
        if isinstance(test, AtMost):
            return np.asarray(codes // width <= self.borders.index(test.border))
        assert isinstance(test, OneOf)
        return np.isin(codes % width, [self.values.index(value) for value in test.values])


@dataclass(frozen=True)
class Tree(Celled):
    """A route per leaf.

    Examples
    --------
    >>> tree = Tree(AtMost("size", OneOf("day", Leaf(1), Leaf(0), (6.0, 7.0)), Leaf(2), 512.0))
    >>> columns = {"size": np.array([9.0, 9.0, 600.0, NULL]), "day": np.array([7.0, 1.0, 7.0, 7.0])}
    >>> tree.classify(columns.__getitem__, 4, np.random.default_rng(0)).routes.tolist()
    [1, 0, 2, 2]
    >>> for rule in tree.rules(["a, b", "b, a", "a, b, c"]): print(rule)
    if size <= 512 and day in {6, 7}: b, a
    if size <= 512 and day not in {6, 7}: a, b
    if size > 512: a, b, c
    """

    kind: ClassVar[str] = "tree"
    root: Node

    @cached_property
    def axes(self) -> dict[str, Axis]:
        """By attribute, in the order in which a walk down the tree meets them."""
        tests = [node for node in nodes(self.root) if isinstance(node, Question)]
        found = {}
        for name in dict.fromkeys(test.attribute for test in tests):
            own = [test for test in tests if test.attribute == name]
            borders = {test.border for test in own if isinstance(test, AtMost)}
            values = {value for test in own if isinstance(test, OneOf) for value in test.values}
            found[name] = Axis(tuple(sorted(borders)), tuple(sorted(values)))
        return found

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(self.axes)

    @cached_property
    def _table(self) -> Codes | None:
        """The leaf of every combination of codes, if these are not too many."""
        sizes = [axis.size for axis in self.axes.values()]
        if prod(sizes) > MOST_DENSE:
            return None
        codes = np.unravel_index(np.arange(prod(sizes)), sizes) if sizes else ()
        return self._walk(dict(zip(self.axes, codes, strict=True)), prod(sizes))

    def _walk(self, codes: Mapping[str, Codes], rows: int) -> Codes:
        """The leaf of each row: down the tree with all rows at once."""
        leaves = np.zeros(rows, np.int64)
        numbers = iter(range(len(self.leaves)))

        def descend(node: Node, members: Codes) -> None:
            if isinstance(node, Leaf):
                leaves[members] = next(numbers)
            else:
                axis = self.axes[node.attribute]
                yes = axis.answers(node, codes[node.attribute][members])
                descend(node.yes, members[yes])
                descend(node.no, members[~yes])

        descend(self.root, np.arange(rows))
        return leaves

    @cached_property
    def leaves(self) -> list[Leaf]:
        return [node for node in nodes(self.root) if isinstance(node, Leaf)]

    @cached_property
    def _routes(self) -> Codes:
        return np.array([leaf.route for leaf in self.leaves])

    def _cells(self, values: Values, rows: int) -> Codes:
        """The leaf of each row."""
        codes = {name: axis.code(values(name)) for name, axis in self.axes.items()}
        if self._table is None:
            return self._walk(codes, rows)
        cells = np.zeros(rows, np.int64)
        for name, axis in self.axes.items():
            cells = cells * axis.size + codes[name]
        return np.asarray(self._table[cells])

    @property
    def known_cells(self) -> tuple[int, ...]:
        return tuple(range(len(self.leaves)))

    def routes_of(self, cells: Sequence[int]) -> Codes:
        return self._routes[list(cells)]

    def labelled(self, routes: Mapping[int, int]) -> "Tree":
        """Other routes at the leaves; what the tree asks stays."""
        numbers = iter(range(len(self.leaves)))

        def label(node: Node) -> Node:
            if isinstance(node, Leaf):
                return Leaf(routes.get(next(numbers), 0))
            return replace(node, yes=label(node.yes), no=label(node.no))

        return Tree(label(self.root))

    def classify(self, values: Values, rows: int, random: np.random.Generator) -> Classified:
        del random
        leaves = self._cells(values, rows)
        return Classified(self._routes[leaves], cells=leaves)

    def check_routes(self, count: int) -> None:
        if not all(0 <= leaf.route < count for leaf in self.leaves):
            raise ValueError(f"the tree names a route beyond the {count} that there are")

    def rules(self, routes: Sequence[str], tell: Telling = PLAIN) -> list[str]:
        """One line per leaf: the conditions on the way there, and its route."""
        lines = []
        for answers, route in paths(self.root):
            told = " and ".join(conditions(answers, tell))
            lines.append(f"if {told}: {routes[route]}" if told else routes[route])
        return lines

    @property
    def values(self) -> dict[str, frozenset[float]]:
        return {name: frozenset(axis.values) for name, axis in self.axes.items() if axis.values}

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "root": self.root.to_dict()}

    def mapped(self, change: Callable[[int], int]) -> "Tree":
        """The tree with other route numbers; tests whose answer no longer matters are gone."""
        return Tree(_mapped(self.root, change))


Answer = tuple[Question, bool]


def paths(node: Node, so_far: tuple[Answer, ...] = ()) -> Iterator[tuple[tuple[Answer, ...], int]]:
    """The answers on the way to each leaf, and its route."""
    if isinstance(node, Leaf):
        yield so_far, node.route
        return
    yield from paths(node.yes, (*so_far, (node, True)))
    yield from paths(node.no, (*so_far, (node, False)))


def conditions(answers: Sequence[Answer], tell: Telling = PLAIN) -> list[str]:
    """Answers as conditions, several about one attribute as few as can be.

    >>> questions = [AtMost("x", Leaf(0), Leaf(1), border) for border in (9.0, 5.0, 1.0)]
    >>> conditions([(questions[0], True), (questions[1], True), (questions[2], False)])
    ['1 < x <= 5']
    """
    told = []
    for name in dict.fromkeys(question.attribute for question, _ in answers):
        own = [(q, answer) for q, answer in answers if q.attribute == name]
        told += _range(name, own, tell) + _set(name, own, tell)
    return told


def _range(name: str, answers: Sequence[Answer], tell: Telling) -> list[str]:
    borders = [(q.border, answer) for q, answer in answers if isinstance(q, AtMost)]
    high = min((border for border, answer in borders if answer), default=None)
    low = max((border for border, answer in borders if not answer), default=None)
    if low is not None and high is not None:
        return [f"{tell(name, low)} < {name} <= {tell(name, high)}"]
    if high is not None:
        return [f"{name} <= {tell(name, high)}"]
    return [] if low is None else [f"{name} > {tell(name, low)}"]


def _set(name: str, answers: Sequence[Answer], tell: Telling) -> list[str]:
    sets = [(frozenset(q.values), answer) for q, answer in answers if isinstance(q, OneOf)]
    inside = [values for values, answer in sets if answer]
    outside = frozenset[float]().union(*(values for values, answer in sets if not answer))
    if inside:
        left = frozenset.intersection(*inside) - outside
        return [f"{name} in {_braced(name, left, tell)}"]
    return [f"{name} not in {_braced(name, outside, tell)}"] if outside else []


def _braced(name: str, values: frozenset[float], tell: Telling) -> str:
    known = tell.words.get(name, {})
    numbers = [tell(name, value) for value in sorted(values) if value not in known]
    words = sorted(known[value] for value in values if value in known)
    return "{" + ", ".join([*numbers, *words]) + "}"


def _mapped(node: Node, change: Callable[[int], int]) -> Node:
    if isinstance(node, Leaf):
        return Leaf(change(node.route))
    yes, no = _mapped(node.yes, change), _mapped(node.no, change)
    if yes == no:
        return yes
    return replace(node, yes=yes, no=no)


def tree_from(data: Mapping[str, Any]) -> Tree:
    """Read back what `to_dict` made."""
    return Tree(_node_from(data["root"], 0))


def _node_from(data: Mapping[str, Any], depth: int) -> Node:
    if depth > DEEPEST:
        raise ValueError(f"a tree deeper than {DEEPEST}")
    if "route" in data:
        return Leaf(int(data["route"]))
    name = str(data["attribute"])
    yes, no = _node_from(data["yes"], depth + 1), _node_from(data["no"], depth + 1)
    if "at_most" in data:
        return AtMost(name, yes, no, float(data["at_most"]))
    return OneOf(name, yes, no, tuple(map(float, data["one_of"])))
