"""Streams with their rates and the predicates between them: what join trees are planned for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from anabranch.cost.checks import check_not_negative, check_selectivity
from anabranch.cost.rate import Handling, JoinTree, Node, Source
from anabranch.model import InputError, closest

Part = frozenset[str]


@dataclass(frozen=True)
class Link:
    """A predicate between two streams: the share of pairs that pass, what it adds per row.

    Of predicates on one `key`, equal to each other anyway, one counts where two parts are joined.
    """

    left: str
    right: str
    selectivity: float
    cost: float = 0.0
    key: str = ""

    def __post_init__(self) -> None:
        check_selectivity(f"selectivity of {self}", self.selectivity)
        check_not_negative(f"cost of {self}", self.cost)
        if self.left == self.right:
            raise InputError(f"{self}: a predicate links two streams")

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


@dataclass(frozen=True)
class StreamJoin:
    """A join of several streams, to be planned.

    Examples
    --------
    >>> streams = [Source("a", 50), Source("b", 500), Source("c", 100)]
    >>> join = StreamJoin(streams, [Link("a", "b", 0.002), Link("a", "c", 0.005)])
    >>> print(join.tree("((a, c), b)"), join.tree("((a, c), b)").selectivity)
    ((a, c), b) 0.002
    """

    sources: Sequence[Source]
    links: Sequence[Link]
    handling: Handling = field(default=Handling())

    def __post_init__(self) -> None:
        names = [source.name for source in self.sources]
        if len(names) < 2:
            raise InputError(f"a join needs two streams or more, got {len(names)}")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise InputError(f"{', '.join(twice)}: a stream that is named twice")
        for link in self.links:
            for name in (link.left, link.right):
                if name not in names:
                    raise InputError(f'{link}: there is no stream "{name}"; {closest(name, names)}')
        self._check_linked()

    def _check_linked(self) -> None:
        reached = {self.sources[0].name}
        while grown := self.neighbours(frozenset(reached)):
            reached |= grown
        if missing := [source.name for source in self.sources if source.name not in reached]:
            raise InputError(
                f"nothing links {', '.join(missing)} with {', '.join(sorted(reached))}; add a "
                "predicate, with selectivity 1 if all pairs are wanted"
            )

    @cached_property
    def by_name(self) -> Mapping[str, Source]:
        return {source.name: source for source in self.sources}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.by_name)

    def neighbours(self, part: Part) -> Part:
        """The streams outside of a part that a predicate links with it."""
        ends = ({link.left, link.right} for link in self.links)
        return frozenset().union(*(pair for pair in ends if pair & part)) - part

    def between(self, left: Part, right: Part) -> list[Link]:
        return [
            link
            for link in self.links
            if (link.left in left and link.right in right)
            or (link.left in right and link.right in left)
        ]

    def joined(self, left: Node, right: Node) -> JoinTree:
        """The join of two parts, by all predicates between them."""
        links = _apart(self.between(frozenset(left.names), frozenset(right.names)))
        extra = self.handling.extra + sum(link.cost for link in links)
        selectivity = prod(link.selectivity for link in links)
        return JoinTree(left, right, selectivity, replace(self.handling, extra=extra))

    def tree(self, text: str) -> JoinTree:
        """A tree from its text, as `((a, b), c)`; it has every stream once."""
        node = self._read(_Tokens(text))
        if not isinstance(node, JoinTree):
            raise InputError(f"{text}: a tree joins two parts, as in ((a, b), c)")
        if missing := [name for name in self.names if name not in node.names]:
            raise InputError(
                f"{text}: a tree spans all streams, {', '.join(missing)} missing; as in "
                f"{left_deep(self, self.names)}"
            )
        return node

    def _read(self, tokens: "_Tokens") -> Node:
        node = self._part(tokens)
        tokens.end()
        return node

    def _part(self, tokens: "_Tokens") -> Node:
        if not tokens.take("("):
            name = tokens.name()
            if name not in self.by_name:
                raise InputError(
                    f'{tokens.text}: there is no stream "{name}"; {closest(name, self.names)}'
                )
            return self.by_name[name]
        left = self._part(tokens)
        tokens.must(",")
        right = self._part(tokens)
        tokens.must(")")
        return self.joined(left, right)


def _apart(links: Sequence[Link]) -> list[Link]:
    """Of links on one key the most selective one; those without a key all count."""
    by_key = {link.key: link for link in sorted(links, key=lambda one: -one.selectivity)}
    return [link for link in links if not link.key or by_key[link.key] is link]


def left_deep(join: StreamJoin, order: Sequence[str]) -> JoinTree:
    """The tree that joins streams one by one."""
    node: Node = join.by_name[order[0]]
    for name in order[1:]:
        node = join.joined(node, join.by_name[name])
    assert isinstance(node, JoinTree)
    return node


class _Tokens:
    """Names, brackets and commas of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        spaced = "".join(f" {c} " if c in "()," else c for c in text)
        self._left = spaced.split()[::-1]

    def take(self, token: str) -> bool:
        if self._left and self._left[-1] == token:
            self._left.pop()
            return True
        return False

    def must(self, token: str) -> None:
        if not self.take(token):
            found = self._left[-1] if self._left else "the end"
            raise InputError(
                f'{self.text}: "{token}" is expected before {found}; as in ((a, b), c)'
            )

    def name(self) -> str:
        if not self._left or self._left[-1] in "(),":
            raise InputError(f"{self.text}: a stream is missing; as in ((a, b), c)")
        return self._left.pop()

    def end(self) -> None:
        if self._left:
            raise InputError(f"{self.text}: nothing is expected after the tree")


def splits(join: StreamJoin, part: Part) -> Iterator[tuple[Part, Part]]:
    """All ways to make a part of two that are linked, each once; both hang together themselves."""
    first, *others = sorted(part)
    for bits in range(2 ** len(others) - 1):
        left = frozenset([first, *(o for i, o in enumerate(others) if bits >> i & 1)])
        right = part - left
        if _hangs(join, left) and _hangs(join, right):
            yield left, right


def _hangs(join: StreamJoin, part: Part) -> bool:
    """Whether predicates link all streams of a part."""
    reached = frozenset(sorted(part)[:1])
    while grown := join.neighbours(reached) & part:
        reached |= grown
    return reached == part
