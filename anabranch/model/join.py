"""Windowed joins of streams: what is joined on what, and in which shape rows can be probed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from anabranch.model.errors import InputError
from anabranch.model.operator import Operator
from anabranch.model.query import Query

Field = tuple[str, str]  # a stream and one of its columns


@dataclass(frozen=True)
class Stream:
    """An input of a join: its name, its window and the delay of its rows, in microseconds."""

    name: str
    window: int
    delay: int = 0


@dataclass(frozen=True)
class JoinQuery:
    """Streams, and the keys that they are joined on.

    A key is a set of columns, of several streams, that predicates say are equal; equality by way of
    other columns is included (A-Greedy, Section 8: a natural join is a star join from any stream).

    Examples
    --------
    >>> streams = Stream("a", 10), Stream("b", 20), Stream("c", 30)
    >>> query = JoinQuery.on(streams, [(("a", "x"), ("b", "x")), (("b", "x"), ("c", "y"))])
    >>> query.keys
    ((('a', 'x'), ('b', 'x'), ('c', 'y')),)
    >>> query.tree("a").parents
    {'b': 'a', 'c': 'a'}
    """

    streams: tuple[Stream, ...]
    keys: tuple[tuple[Field, ...], ...]

    @classmethod
    def on(
        cls, streams: Sequence[Stream], equalities: Iterable[tuple[Field, Field]]
    ) -> "JoinQuery":
        """From predicates `left = right`; streams that nothing links are refused."""
        groups: list[list[Field]] = []
        for pair in equalities:
            hit = [group for group in groups if set(pair) & set(group)]
            merged = list(dict.fromkeys([*(field for group in hit for field in group), *pair]))
            groups = [*(group for group in groups if group not in hit), merged]
        query = cls(tuple(streams), tuple(tuple(sorted(group)) for group in sorted(groups)))
        query.check()
        return query

    def check(self) -> None:
        """All streams hang together."""
        reached = set(self._breadth_first(self.names[0]))
        missing = [name for name in self.names if name not in reached]
        if missing:
            there = [name for name in self.names if name in reached]
            raise InputError(
                f"nothing links {', '.join(missing)} with {', '.join(there)}; add a predicate such "
                f'as "{there[0]}.column = {missing[0]}.column" to on(...)'
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(stream.name for stream in self.streams)

    @cached_property
    def keys_of(self) -> dict[str, tuple[int, ...]]:
        """Stream -> its keys, by number."""
        return {
            name: tuple(
                i for i, key in enumerate(self.keys) if any(field[0] == name for field in key)
            )
            for name in self.names
        }

    def shared(self, stream: str, others: Iterable[str]) -> tuple[int, ...]:
        """The keys of a stream that some of the others have, too."""
        theirs = {key for other in others for key in self.keys_of[other]}
        return tuple(key for key in self.keys_of[stream] if key in theirs)

    def _breadth_first(self, source: str) -> dict[str, str]:
        """Stream -> the one that it is reached from, nearest first."""
        parents, queue = {source: ""}, [source]
        while queue:
            here = queue.pop(0)
            for name in self.names:
                if name not in parents and self.shared(name, [here]):
                    parents[name] = here
                    queue.append(name)
        return parents

    def tree(self, source: str) -> "ProbeTree":
        """How the rows of a stream reach the others: by as few streams in between as can be."""
        parents = self._breadth_first(source)
        del parents[source]
        return ProbeTree(self, source, parents)


@dataclass(frozen=True)
class ProbeTree:
    """The spanning tree by which rows of one stream, the source, probe the windows of the others.

    A-Greedy, Section 8: rows of a stream that is no root join the root first, then every match is
    drop-probed. So the source is joined at once with those that all paths lead over (`bound`); the
    others are operators on the matches, each behind the one that it is reached from.

    Examples
    --------
    >>> star = [(("hub", "x"), ("a", "x")), (("hub", "y"), ("b", "y")), (("hub", "z"), ("c", "z"))]
    >>> query = JoinQuery.on([Stream(name, 10) for name in ("hub", "a", "b", "c")], star)
    >>> query.tree("hub").bound, query.tree("a").bound
    (('hub',), ('a', 'hub'))
    >>> query.tree("a").operators().names
    ('b', 'c')
    """

    query: JoinQuery
    source: str
    parents: dict[str, str]

    def children(self, stream: str) -> list[str]:
        return [name for name, parent in self.parents.items() if parent == stream]

    @cached_property
    def bound(self) -> tuple[str, ...]:
        """The source, and the streams that it must be joined with before there is a choice."""
        path = [self.source]
        while len(below := self.children(path[-1])) == 1 and self.children(below[0]):
            path.append(below[0])
        return tuple(path)

    def known(self, stream: str) -> tuple[str, ...]:
        """The streams whose rows are at hand when this one is probed."""
        path, parent = [], self.parents[stream]
        while parent not in self.bound:
            path.append(parent)
            parent = self.parents[parent]
        place = self.bound.index(stream) if stream in self.bound else len(self.bound)
        return (*self.bound[:place], *reversed(path))

    def keys(self, stream: str) -> tuple[int, ...]:
        """The keys that a stream is probed by."""
        return self.query.shared(stream, self.known(stream))

    def operators(self) -> Query:
        """The streams left to probe, as operators of a query."""
        left = [name for name in self.parents if name not in self.bound]
        return Query(
            tuple(
                Operator(name, after=() if (p := self.parents[name]) in self.bound else (p,))
                for name in left
            )
        )
