"""Streams whose rows fall into classes, for Query Mesh.

After Nehme, Works, Lei, Rundensteiner, Bertino: Multi-Route Query Processing and Optimization,
2012, Section 6.1: six attributes with values of a Poisson or a uniform distribution, ten operators,
three partitions of a stream with an order of their own each. The paper does not print the
selectivities; those here are ours.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import optimal_order, order_cost
from anabranch.model import Attribute, Operator, Query

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
Classes = NDArray[np.int64]

# Share of rows that an operator passes: of the class that it is selective for, and of others.
OWN, OTHER = 0.3, 0.9


@dataclass(frozen=True)
class ClassStream:
    """Rows of several classes; which class a row is of follows from its attributes.

    Examples
    --------
    >>> stream = poisson(20_000)
    >>> [round(float(share), 1) for share in np.bincount(stream.classes()) / stream.rows]
    [0.4, 0.4, 0.3]
    >>> passed = 1 - stream.drops()[stream.classes() == 0].mean(axis=0)
    >>> [round(float(p), 1) for p in passed[:4]]
    [0.3, 0.9, 0.9, 0.3]
    """

    table: Floats  # class, operator -> share passed
    rows: int
    kind: Literal["poisson", "uniform", "xor"] = "poisson"
    attribute_count: int = 6
    seed: int = 0

    @property
    def names(self) -> list[str]:
        return [f"A{i + 1}" for i in range(self.attribute_count)]

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(Attribute(name) for name in self.names)

    @property
    def query(self) -> Query:
        operators = tuple(Operator(f"d{j + 1}") for j in range(self.table.shape[1]))
        return Query(operators, self.attributes)

    def _random(self, which: int) -> np.random.Generator:
        return np.random.default_rng([20_120_911, self.seed, which])

    def values(self) -> NDArray[np.int64]:
        """Row, attribute -> value."""
        random, shape = self._random(0), (self.rows, self.attribute_count)
        match self.kind:
            case "poisson":
                return random.poisson(1.0, shape)
            case "uniform":
                return random.integers(0, 101, shape)
            case "xor":
                return random.integers(0, 4, shape)

    def classes(self) -> Classes:
        values = self.values()
        match self.kind:
            case "poisson":
                return np.minimum(values[:, 0], len(self.table) - 1)
            case "uniform":  # nothing tells the class: there is none
                return self._random(1).integers(0, len(self.table), self.rows)
            case "xor":
                return (values[:, 0] + values[:, 1]) % len(self.table)

    def drops(self) -> Bits:
        """Row, operator -> does the operator drop the row?"""
        passes = self.table[self.classes()]
        return np.asarray(self._random(2).random(passes.shape) >= passes)

    def columns(self) -> dict[str, Any]:
        return dict(zip(self.names, self.values().T, strict=True))

    def swapped(self) -> "ClassStream":
        """The classes have changed places."""
        return replace(self, table=np.roll(self.table, 1, axis=0), seed=self.seed + 1)

    def oracle(self, drops: Bits, classes: Classes | None = None) -> float:
        """Evaluations if each class took its best order from the first row on."""
        kinds = self.classes() if classes is None else classes
        total, ones = 0.0, np.ones(drops.shape[1])
        for kind in range(len(self.table)):
            rows = drops[kinds == kind]
            sample = rows[:20_000]
            order = optimal_order(sample, ones, self.query)
            total += len(rows) * order_cost(rows, ones, order)
        return total


def poisson(rows: int, operators: int = 10, seed: int = 0) -> ClassStream:
    """Skewed: three classes by the value of one attribute, 0, 1, or more."""
    return ClassStream(_selective(3, operators), rows, "poisson", seed=seed)


def uniform(rows: int, operators: int = 10, seed: int = 0) -> ClassStream:
    """The same operators, of the same overall selectivity, and nothing to tell rows apart by."""
    overall = np.tile(_selective(3, operators).mean(axis=0), (1, 1))
    return ClassStream(overall, rows, "uniform", seed=seed)


def xor(rows: int, seed: int = 0) -> ClassStream:
    """Two classes, the XOR of the parities of two categories: neither alone tells anything."""
    passes = np.array([[0.1, 0.9, 0.9, 0.9, 0.9, 0.5], [0.9, 0.9, 0.9, 0.9, 0.1, 0.5]])
    return ClassStream(passes, rows, "xor", attribute_count=4, seed=seed)


def _selective(classes: int, operators: int) -> Floats:
    """Each operator is selective for one class, in turns."""
    own = np.arange(operators) % classes == np.arange(classes)[:, None]
    return np.where(own, OWN, OTHER)
