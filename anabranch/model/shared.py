"""Several queries over one stream: operators that are the same are one."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from anabranch.model.errors import InputError
from anabranch.model.query import Query

# Queries are told apart by the bits of a whole number.
MOST_QUERIES = 62


@dataclass(frozen=True)
class SharedQuery:
    """The operators of all queries, each once, and which queries ask for which of them.

    Query Mesh, Section 5: one r-token can serve several queries.

    Examples
    --------
    >>> from anabranch.model.operator import Operator
    >>> union = Query((Operator("a"), Operator("b"), Operator("c")))
    >>> shared = SharedQuery(union, {"fraud": ("a", "b"), "spam": ("b", "c")})
    >>> shared.bits
    (1, 3, 2)
    """

    query: Query
    members: dict[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        if not 1 <= len(self.members) <= MOST_QUERIES:
            raise InputError(
                f"from 1 to {MOST_QUERIES} queries share a pass, got {len(self.members)}"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.members)

    @cached_property
    def bits(self) -> tuple[int, ...]:
        """Of each operator, the queries that ask for it, as bits."""
        asked = [
            sum(1 << q for q, own in enumerate(self.members.values()) if name in own)
            for name in self.query.names
        ]
        return tuple(asked)

    @cached_property
    def asks(self) -> NDArray[np.bool_]:
        """Entry (q, i): does query q ask for operator i?"""
        rows = [[name in own for name in self.query.names] for own in self.members.values()]
        return np.array(rows, bool).reshape(len(self.members), len(self.query))

    @property
    def everyone(self) -> int:
        """All queries."""
        return int((1 << len(self.members)) - 1)
