"""A query: a conjunction of operators under precedence constraints."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray

from anabranch.model.attribute import Attribute
from anabranch.model.errors import InputError, closest
from anabranch.model.operator import Operator


@dataclass(frozen=True)
class Query:
    """Operators that commute, except where one was declared `after` another.

    Examples
    --------
    >>> query = Query((Operator("b", after=("a",)), Operator("a"), Operator("c")))
    >>> query.written()
    ('a', 'b', 'c')
    >>> query.allows(("c", "a", "b")), query.allows(("b", "a", "c"))
    (True, False)
    """

    operators: tuple[Operator, ...]
    # Columns that rows may be told apart by. A plan belongs to a query by its operators.
    attributes: tuple[Attribute, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        _check_unique(self.names)
        for operator in self.operators:
            for guard in operator.after:
                if guard not in self.names:
                    raise InputError(
                        f'"{operator.name}" is declared after "{guard}", which is not an '
                        f"operator of this query; {closest(guard, self.names)}"
                    )
        self._check_acyclic()

    def _check_acyclic(self) -> None:
        try:
            TopologicalSorter({o.name: o.after for o in self.operators}).prepare()
        except CycleError as error:
            cycle = " -> ".join(reversed(error.args[1]))
            raise InputError(
                f"the guards form a cycle: {cycle}; remove one `after` of these"
            ) from None

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(operator.name for operator in self.operators)

    @cached_property
    def guards(self) -> tuple[frozenset[int], ...]:
        """For each operator, by index, all that must pass a row before it (transitive)."""
        position = {name: i for i, name in enumerate(self.names)}
        closed: dict[str, frozenset[int]] = {}
        for name in TopologicalSorter({o.name: o.after for o in self.operators}).static_order():
            direct = self.operators[position[name]].after
            closed[name] = frozenset(index for g in direct for index in (position[g], *closed[g]))
        return tuple(closed[name] for name in self.names)

    @cached_property
    def needs(self) -> NDArray[np.bool_]:
        """Entry (i, j): must operator j pass a row before operator i?"""
        matrix = np.zeros((len(self), len(self)), bool)
        for operator, guards in enumerate(self.guards):
            matrix[operator, list(guards)] = True
        return matrix

    def __len__(self) -> int:
        return len(self.operators)

    def index(self, name: str) -> int:
        """Position of a name among the operators."""
        if name not in self.names:
            raise InputError(f'no operator "{name}"; {closest(name, self.names)}')
        return self.names.index(name)

    def eligible(self, placed: Collection[int]) -> list[int]:
        """Operators, by index, that may come next when `placed` have run."""
        done = set(placed)
        return [i for i in range(len(self)) if i not in done and self.guards[i] <= done]

    def allows(self, order: Iterable[str]) -> bool:
        """Whether the order has every operator once, each behind its guards."""
        names = list(order)
        if sorted(names) != sorted(self.names):
            return False
        seen: set[int] = set()
        for i in map(self.names.index, names):
            if not self.guards[i] <= seen:
                return False
            seen.add(i)
        return True

    def written(self) -> tuple[str, ...]:
        """The declared order, with an operator held back until its guards have run."""
        order: list[int] = []
        while len(order) < len(self):
            order.append(self.eligible(order)[0])
        return tuple(self.names[i] for i in order)


def _check_unique(names: tuple[str, ...]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"operator names must differ, used twice: {', '.join(twice)}; pass name= to where()"
        )
