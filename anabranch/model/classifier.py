"""Which row takes which route."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anabranch.model.attribute import Codes, Floats, Partition, ValuePartition

# Cells up to which a classifier has a table of all, instead of searching among the known ones.
MOST_DENSE = 100_000

# Cells up to which all that there can be are taken for known.
MOST_LISTED = 256

Values = Callable[[str], Floats]  # an attribute's name -> its values


@dataclass(frozen=True)
class Classified:
    """A route for each row, the cell that it was found by, and the partitions that make the cell.

    Rows of one cell always take the same route.
    """

    routes: Codes
    codes: tuple[Codes, ...] = ()  # one array per partition
    cells: Codes = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class Classifier(ABC):
    """Assigns each row one of a mesh's routes."""

    kind: ClassVar[str]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes that it reads."""
        return ()

    @property
    def values(self) -> dict[str, frozenset[float]]:
        """Attribute -> single values of it that rows are told apart by."""
        return {}

    @abstractmethod
    def classify(self, values: Values, rows: int, random: np.random.Generator) -> Classified:
        """The route of each row."""

    @property
    def each_row(self) -> "Classifier":
        """The classifier that looks at every row; none speaks for others."""
        return self

    @abstractmethod
    def check_routes(self, count: int) -> None:
        """Raise a ValueError if it names a route that is not there."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """As plain data."""


@dataclass(frozen=True)
class Celled(Classifier):
    """Tells rows apart by what is in them: rows of one cell always take the same route."""

    @property
    @abstractmethod
    def known_cells(self) -> tuple[int, ...]:
        """The cells that are known, by rising number."""

    @abstractmethod
    def routes_of(self, cells: Sequence[int]) -> Codes:
        """The routes of cells."""

    @abstractmethod
    def labelled(self, routes: Mapping[int, int]) -> "Celled":
        """The classifier with other routes: these for cells that are listed, 0 for all others."""


@dataclass(frozen=True)
class Lottery(Classifier):
    """Each row draws one of the routes, all equally likely: an Eddy's tickets, drawn beforehand."""

    kind: ClassVar[str] = "lottery"
    routes: int

    def classify(self, values: Values, rows: int, random: np.random.Generator) -> Classified:
        return Classified(random.integers(0, self.routes, rows))

    def check_routes(self, count: int) -> None:
        if self.routes != count:
            raise ValueError(f"the lottery draws one of {self.routes} routes, there are {count}")

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "routes": self.routes}


@dataclass(frozen=True)
class Pairing:
    """An operator and the partition that its selectivity depends on (the paper's CA and S).

    `passed` has the share of rows that the operator passes, per partition.
    """

    operator: str
    partition: int
    passed: tuple[float, ...]


@dataclass(frozen=True)
class Cells(Celled):
    """A route per cell; a cell is one partition of each attribute in use, taken together.

    Cells that are not listed take route 0.

    Examples
    --------
    >>> from anabranch.model.attribute import ValuePartition
    >>> cells = Cells((ValuePartition("a", (1.0, 2.0)),), ((1, 1),))
    >>> column = {"a": np.array([1.0, 2.0, 3.0])}
    >>> cells.classify(column.get, 3, np.random.default_rng(0)).routes.tolist()
    [0, 1, 0]
    """

    kind: ClassVar[str] = "cells"
    partitions: tuple[Partition, ...]
    table: tuple[tuple[int, int], ...]  # cell, route; by rising cell
    pairings: tuple[Pairing, ...] = ()

    def __post_init__(self) -> None:
        cells = [cell for cell, _ in self.table]
        if cells != sorted(set(cells)) or min(cells, default=0) < 0:
            raise ValueError("the cells of a classifier must rise from 0")
        if len({pairing.operator for pairing in self.pairings}) < len(self.pairings):
            raise ValueError("an operator is paired twice")
        served = {pairing.partition for pairing in self.pairings}
        if self.pairings and served != set(range(len(self.partitions))):
            raise ValueError("a partition serves no operator")
        for pairing in self.pairings:
            if not 0 <= pairing.partition < len(self.partitions):
                raise ValueError(f"{pairing.operator} is paired with a partition that is not there")
            if len(pairing.passed) != self.partitions[pairing.partition].size:
                raise ValueError(f"{pairing.operator} does not have one share per partition")
            if not all(0 <= share <= 1 for share in pairing.passed):
                raise ValueError(f"{pairing.operator} passes a share outside 0 to 1")

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(a for p in self.partitions for a in p.attributes))

    @property
    def values(self) -> dict[str, frozenset[float]]:
        singles = [single for whole in self.partitions for single in whole.singles]
        return {s.attribute: frozenset(s.values) for s in singles if isinstance(s, ValuePartition)}

    @cached_property
    def _lookup(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        table = np.array(self.table, np.int64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    @cached_property
    def _dense(self) -> NDArray[np.int64] | None:
        """The route of every cell there can be, if these are not too many."""
        size = prod(partition.size for partition in self.partitions)
        if size > MOST_DENSE or any(cell >= size for cell, _ in self.table):
            return None
        dense = np.zeros(size, np.int64)
        known, routes = self._lookup
        dense[known] = routes
        return dense

    @property
    def known_cells(self) -> tuple[int, ...]:
        size = prod(partition.size for partition in self.partitions)
        if size <= MOST_LISTED:
            return tuple(range(size))
        return tuple(cell for cell, _ in self.table)

    def routes_of(self, cells: Sequence[int]) -> Codes:
        table = dict(self.table)
        return np.array([table.get(cell, 0) for cell in cells], np.int64)

    def labelled(self, routes: Mapping[int, int]) -> "Cells":
        entries = tuple((cell, route) for cell, route in sorted(routes.items()) if route)
        return Cells(self.partitions, entries, self.pairings)

    def classify(self, values: Values, rows: int, random: np.random.Generator) -> Classified:
        codes = tuple(p.code([values(a) for a in p.attributes]) for p in self.partitions)
        cells = combine(codes, [p.size for p in self.partitions], rows)
        if self._dense is not None:
            return Classified(self._dense[cells], codes, cells)
        known, routes = self._lookup
        if not len(known):
            return Classified(np.zeros(rows, np.int64), codes, cells)
        place = np.minimum(np.searchsorted(known, cells), len(known) - 1)
        return Classified(np.where(known[place] == cells, routes[place], 0), codes, cells)

    def check_routes(self, count: int) -> None:
        if not all(0 <= route < count for _, route in self.table):
            raise ValueError(f"the classifier names a route beyond the {count} that there are")

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "partitions": [p.to_dict() for p in self.partitions],
            "table": [list(entry) for entry in self.table],
            "pairings": [
                {"operator": p.operator, "partition": p.partition, "passed": list(p.passed)}
                for p in self.pairings
            ],
        }


def combine(codes: Sequence[Codes], sizes: Sequence[int], rows: int) -> Codes:
    """One number per row for the partitions that it falls into.

    >>> combine([np.array([0, 1]), np.array([2, 0])], [2, 3], 2).tolist()
    [2, 3]
    """
    if not codes:
        return np.zeros(rows, np.int64)
    cells = codes[0]
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        cells = cells * size + code
    return cells
