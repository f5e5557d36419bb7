"""Content-Knows: routing by classes and orders that were told.

Content-based routing (Bizarro, Babu, DeWitt, Widom, VLDB 2005, Section 6.2): the bound for policies
that must find the classes and their orders themselves.

>>> from anabranch.model import Attribute, Operator, Query
>>> query = Query((Operator("a"), Operator("b")), (Attribute("sector"),))
>>> learner = ContentKnows("sector", {1: ["b", "a"]}).bind(query)
>>> print(learner.plan())
1: a, b
2: b, a
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from anabranch.model import Cells, InputError, Mesh, Query, Route, ValuePartition, closest
from anabranch.policies.steady import Steady


@dataclass
class ContentKnows(Steady):
    """Told which order is best for each value of an attribute.

    Parameters
    ----------
    attribute
        The column that rows are told apart by.
    orders
        Value of the attribute -> operators in their order. Rows with other values take `default`.
    default
        The order for all other rows; as written if not given.
    """

    name: ClassVar[str] = "content_knows"
    summary: ClassVar[str] = "Content-Knows: told classes and orders; never profiles"
    uses_attributes: ClassVar[bool] = True
    attribute: str
    orders: Mapping[Any, Sequence[str]]
    default: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if not self.orders:
            raise InputError("orders maps at least one value of the attribute to an order")

    def needs(self) -> tuple[str, ...]:
        return (self.attribute,)

    def encoded(self, encode: Callable[[str, Sequence[Any]], Sequence[float]]) -> Self:
        told = list(self.orders)
        numbers = encode(self.attribute, told)
        return replace(self, orders={n: self.orders[v] for n, v in zip(numbers, told, strict=True)})

    def restricted(self, query: Query, whole: Query) -> Self:
        def kept(order: Sequence[str]) -> list[str]:
            if set(order) != set(whole.names):
                return list(order)
            Route(whole, tuple(order))  # guards across stages
            return [name for name in order if name in query.names]

        orders = {value: kept(order) for value, order in self.orders.items()}
        return replace(self, orders=orders, default=kept(self.default) if self.default else None)

    def check(self, query: Query) -> None:
        known = [attribute.name for attribute in query.attributes]
        if self._named(known) is None:
            raise InputError(
                f'the rows carry no attribute "{self.attribute}"; {closest(self.attribute, known)}'
            )

    def _named(self, known: Sequence[str]) -> str | None:
        """The attribute as the query spells it; case does not matter, as in Spark."""
        alike = [name for name in known if name.lower() == self.attribute.lower()]
        return self.attribute if self.attribute in known else next(iter(alike), None)

    def begin(self, start: Mesh | None) -> None:
        attribute = self._named([a.name for a in self.query.attributes]) or self.attribute
        default = tuple(self.default or self.query.written())
        told = [(float(value), tuple(order)) for value, order in sorted(self.orders.items())]
        orders = list(dict.fromkeys([default, *(order for _, order in told)]))
        partition = ValuePartition(attribute, tuple(value for value, _ in told))
        table = tuple((cell, orders.index(order)) for cell, (_, order) in enumerate(told))
        routes = tuple(Route(self.query, order) for order in orders)
        self._mesh = Mesh(self.query, routes, classifier=Cells((partition,), table))
