"""The plans that OM chooses among, by its four heuristics.

OM, Section 4.2: (1) selections on one column of a stream are one; conjunctions only, as the paper's
example with OR is a slip; (2) selections and projections go to the bottom, in either order; (3)
joins are left-deep; (4) an aggregate comes last.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, permutations, product

from anabranch.cost.utility import (
    EQUI_JOIN,
    GROUPED,
    PROJECTION,
    RANGE,
    Aggregate,
    Arrive,
    Joined,
    Project,
    Select,
    Step,
)
from anabranch.model import InputError

MOST_PLANS = 1_000


@dataclass(frozen=True)
class Selection:
    """A predicate on a column of a stream; `speed` is in rows per second."""

    name: str
    stream: str
    column: str
    speed: float = RANGE


@dataclass(frozen=True)
class Projection:
    """The columns of a stream that are kept, as bytes of a row."""

    stream: str
    width: float
    speed: float = PROJECTION


@dataclass(frozen=True)
class Equality:
    """An equi-join of two streams."""

    name: str
    left: str
    right: str
    speed: float = EQUI_JOIN


@dataclass(frozen=True)
class ContinuousQuery:
    """Selections, projections, joins and an aggregate over streams.

    Examples
    --------
    >>> query = ContinuousQuery(
    ...     [Arrive("tcp", width=40)],
    ...     [Selection("from 2", "tcp", "src"), Selection("to 2", "tcp", "dest")],
    ...     [Projection("tcp", width=8)],
    ... )
    >>> for plan in candidates(query):
    ...     print(plan)
    tcp -> columns of tcp -> to 2 -> from 2
    tcp -> to 2 -> from 2 -> columns of tcp
    tcp -> columns of tcp -> from 2 -> to 2
    tcp -> from 2 -> to 2 -> columns of tcp
    """

    streams: Sequence[Arrive]
    selections: Sequence[Selection] = ()
    projections: Sequence[Projection] = ()
    joins: Sequence[Equality] = ()
    aggregate: str | None = None

    def __post_init__(self) -> None:
        names = [stream.name for stream in self.streams]
        used = [one.stream for one in self.selections]
        used += [one.stream for one in self.projections]
        used += [end for one in self.joins for end in (one.left, one.right)]
        for name in used:
            if name not in names:
                raise InputError(f'there is no stream "{name}"; valid: {", ".join(names)}')


def candidates(query: ContinuousQuery) -> list[Step]:
    """All plans that the heuristics leave."""
    found = []
    for order in _left_deep(query):
        for bottoms in product(*(_bottoms(query, stream) for stream in order)):
            plan = bottoms[0]
            for place, below in enumerate(bottoms[1:], start=1):
                link = _link(query, order[:place], order[place])
                assert link is not None
                plan = Joined(plan, below, link.name, link.speed)
            found.append(Aggregate(plan, query.aggregate) if query.aggregate else plan)
            if len(found) > MOST_PLANS:
                raise InputError(f"over {MOST_PLANS:,} plans to choose among")
    return found


def grouped(selections: Sequence[Selection]) -> list[tuple[str, float]]:
    """Name and speed of those on one column as one: a row is read once, as fast as the slowest."""
    by_column = groupby(sorted(selections, key=lambda one: one.column), key=lambda one: one.column)
    groups = [list(same) for _, same in by_column]
    return [(GROUPED.join(o.name for o in same), min(o.speed for o in same)) for same in groups]


def _bottoms(query: ContinuousQuery, stream: Arrive) -> Iterator[Step]:
    """A stream with all that is pushed down to it."""
    own = grouped([one for one in query.selections if one.stream == stream.name])
    kept = [one for one in query.projections if one.stream == stream.name]
    for order in permutations(own):
        for first in (True, False) if kept and own else (True,):
            plan: Step = stream
            if first and kept:
                plan = Project(plan, _columns(stream), kept[0].width, kept[0].speed)
            for name, speed in order:
                plan = Select(plan, name, speed)
            if kept and not first:
                plan = Project(plan, _columns(stream), kept[0].width, kept[0].speed)
            yield plan


def _columns(stream: Arrive) -> str:
    return f"columns of {stream.name}"


def _left_deep(query: ContinuousQuery) -> Iterator[tuple[Arrive, ...]]:
    """Orders in which every stream is linked with those before it; the first two either way."""
    for order in permutations(query.streams):
        linked = all(_link(query, order[:i], order[i]) for i in range(1, len(order)))
        if linked and (len(order) == 1 or order[0].name < order[1].name):
            yield order


def _link(query: ContinuousQuery, there: Sequence[Arrive], stream: Arrive) -> Equality | None:
    names = [one.name for one in there]
    for one in query.joins:
        if {one.left, one.right} in [{name, stream.name} for name in names]:
            return one
    return None
