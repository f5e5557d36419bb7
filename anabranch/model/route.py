"""A route: the order in which the operators see a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from anabranch.model.errors import InputError
from anabranch.model.query import Query


@dataclass(frozen=True)
class Route:
    """A validated order of a query's operators.

    Parts of it may be uncertain: the operators at positions from `begin` up to `end` may come in
    any order (Query Mesh, Section 5.4).

    Examples
    --------
    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b", after=("a",)), Operator("c")))
    >>> print(Route(query, ("a", "b", "c")))
    a, b, c
    >>> Route(query, ("a", "b", "c")).indexes
    (0, 1, 2)
    >>> print(Route(query, ("a", "b", "c"), uncertain=((1, 3),)))
    a, b|c
    """

    query: Query
    order: tuple[str, ...]
    uncertain: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if not self.query.allows(self.order):
            raise InputError(
                f"({', '.join(map(str, self.order))}) is not a valid order; it must hold each of "
                f"{', '.join(map(str, self.query.operators)) or 'no operators'} once, "
                "behind its guards"
            )
        past = 0
        for begin, end in self.uncertain:
            if not past <= begin < end - 1 < len(self.order):
                raise InputError(
                    f"uncertain parts must rise and have two operators, got {self.uncertain}"
                )
            past = end
            inside = set(self.indexes[begin:end])
            for operator in inside:
                if self.query.guards[operator] & inside:
                    name = self.query.names[operator]
                    raise InputError(f'"{name}" must not stand side by side with its guard')

    @classmethod
    def of(
        cls,
        query: Query,
        indexes: Sequence[int],
        uncertain: tuple[tuple[int, int], ...] = (),
    ) -> "Route":
        """The route over operator indexes."""
        return cls(query, tuple(query.names[i] for i in indexes), uncertain)

    @classmethod
    def from_list(cls, query: Query, steps: Sequence[str | Sequence[str]]) -> "Route":
        """From names, and lists of names where the order is uncertain."""
        order: list[str] = []
        uncertain = []
        for step in steps:
            names = [step] if isinstance(step, str) else list(map(str, step))
            if len(names) > 1:
                uncertain.append((len(order), len(order) + len(names)))
            order += names
        return cls(query, tuple(order), tuple(uncertain))

    def to_list(self) -> list[str | list[str]]:
        """As plain data."""
        return [side[0] if len(side) == 1 else list(side) for side in self._sides]

    @cached_property
    def _sides(self) -> tuple[tuple[str, ...], ...]:
        """The operators by position; several where any of them may be next."""
        sides, position, ends = [], 0, dict(self.uncertain)
        while position < len(self.order):
            end = ends.get(position, position + 1)
            sides.append(self.order[position:end])
            position = end
        return tuple(sides)

    @cached_property
    def token(self) -> tuple[tuple[int, ...], ...]:
        """The r-token of rows at the start of the route: operators by index, the top first."""
        return tuple(tuple(map(self.query.names.index, side)) for side in self._sides)

    @cached_property
    def indexes(self) -> tuple[int, ...]:
        return tuple(map(self.query.names.index, self.order))

    def __str__(self) -> str:
        return ", ".join("|".join(side) for side in self._sides)
