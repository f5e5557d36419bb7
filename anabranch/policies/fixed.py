"""One order for good: the null object among the policies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from anabranch.model import Mesh, Query, Route
from anabranch.policies.steady import Steady


@dataclass
class Fixed(Steady):
    """Follow `order`, or the order written, and never profile.

    Examples
    --------
    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b")))
    >>> print(Fixed().bind(query).plan())
    1: a, b
    >>> print(Fixed(order=["b", "a"]).bind(query).plan())
    1: b, a
    """

    name: ClassVar[str] = "fixed"
    summary: ClassVar[str] = "the order written, or the one given; never profiles"
    order: Sequence[str] | None = None

    def check(self, query: Query) -> None:
        if self.order is not None:
            Route(query, tuple(self.order))

    def restricted(self, query: Query, whole: Query) -> Self:
        if self.order is None or set(self.order) != set(whole.names):
            return self
        Route(whole, tuple(self.order))  # guards across stages
        return replace(self, order=[name for name in self.order if name in query.names])

    def begin(self, start: Mesh | None) -> None:
        if self.order is not None:
            self._mesh = Mesh.single(self.query, tuple(self.order))
        else:
            self._mesh = start or Mesh.single(self.query, self.query.written())
