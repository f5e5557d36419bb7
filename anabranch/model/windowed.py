"""One row speaks for its window (Query Mesh, Section 5.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from anabranch.model.attribute import Codes
from anabranch.model.classifier import Celled, Classified, Classifier, Values


@dataclass(frozen=True)
class Windowed(Celled):
    """Where the rows of a window are known to be alike, the first decides for all.

    The window is tumbling: each row is in one window.

    >>> from anabranch.model.tree import AtMost, Leaf, Tree
    >>> alike = Windowed(Tree(AtMost("x", Leaf(0), Leaf(1), 5.0)), rows=2)
    >>> x = {"x": np.array([9.0, 1.0, 2.0, 9.0, 7.0])}
    >>> alike.classify(x.__getitem__, 5, np.random.default_rng(0)).routes.tolist()
    [1, 1, 0, 0, 1]
    """

    kind: ClassVar[str] = "windowed"
    inner: Celled
    rows: int

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ValueError(f"a window has at least one row, got {self.rows}")

    @property
    def attributes(self) -> tuple[str, ...]:
        return self.inner.attributes

    @property
    def values(self) -> dict[str, frozenset[float]]:
        return self.inner.values

    def classify(self, values: Values, rows: int, random: np.random.Generator) -> Classified:
        first = -(-rows // self.rows)
        told = self.inner.classify(lambda name: values(name)[:: self.rows], first, random)
        spread = [np.repeat(told_of, self.rows)[:rows] for told_of in (told.routes, told.cells)]
        return Classified(spread[0], cells=spread[1])

    @property
    def each_row(self) -> Classifier:
        return self.inner

    @property
    def known_cells(self) -> tuple[int, ...]:
        return self.inner.known_cells

    def routes_of(self, cells: Sequence[int]) -> Codes:
        return self.inner.routes_of(cells)

    def labelled(self, routes: Mapping[int, int]) -> "Windowed":
        return Windowed(self.inner.labelled(routes), self.rows)

    def check_routes(self, count: int) -> None:
        self.inner.check_routes(count)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "rows": self.rows, "inner": self.inner.to_dict()}
