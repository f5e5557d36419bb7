"""A route: the order in which the operators see a row."""

from dataclasses import dataclass
from functools import cached_property

from anabranch.model.errors import InputError
from anabranch.model.query import Query


@dataclass(frozen=True)
class Route:
    """A validated order of a query's operators.

    Examples
    --------
    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b", after=("a",))))
    >>> print(Route(query, ("a", "b")))
    a, b
    >>> Route(query, ("a", "b")).indexes
    (0, 1)
    """

    query: Query
    order: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.query.allows(self.order):
            raise InputError(
                f"({', '.join(map(str, self.order))}) is not a valid order; it must hold each of "
                f"{', '.join(map(str, self.query.operators)) or 'no operators'} once, "
                "behind its guards"
            )

    @classmethod
    def of(cls, query: Query, indexes: tuple[int, ...]) -> "Route":
        """The route over operator indexes."""
        return cls(query, tuple(query.names[i] for i in indexes))

    @cached_property
    def indexes(self) -> tuple[int, ...]:
        return tuple(map(self.query.names.index, self.order))

    def __str__(self) -> str:
        return ", ".join(self.order)
