"""In and Out: rows that operators saw and passed, per partition of each attribute."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bits = NDArray[np.bool_]


@dataclass
class InOut:
    """The matrices of content-based routing, Section 4.1, for all operators.

    Entry (o, j, i) belongs to operator o and partition i of attribute j. Beyond `size` rows of an
    operator its old ones fade.

    Examples
    --------
    >>> matrices = InOut(operators=1, attributes=1, width=3)
    >>> saw, passed = np.array([[True], [True], [True]]), np.array([[True], [False], [True]])
    >>> matrices.update(np.array([[0], [0], [2]]), passed, saw)
    >>> matrices.rows_in.tolist(), matrices.rows_out.tolist()
    ([[[2.0, 0.0, 1.0]]], [[[1.0, 0.0, 1.0]]])
    """

    operators: int
    attributes: int
    width: int
    size: int = 6000
    rows: Floats = field(init=False)  # per operator
    passed: Floats = field(init=False)
    rows_in: Floats = field(init=False)
    rows_out: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.rows, self.passed = np.zeros((2, self.operators))
        shape = self.operators, self.attributes, self.width
        self.rows_in, self.rows_out = np.zeros((2, *shape))

    def clear(self, operators: int | slice = slice(None)) -> None:
        """Forget all rows, or those of one operator."""
        for counted in (self.rows, self.passed, self.rows_in, self.rows_out):
            counted[operators] = 0.0

    def update(self, codes: Codes, passed: Bits, saw: Bits) -> None:
        """Add rows: their partition under each attribute, which operators saw and passed them."""
        passed = passed & saw
        self.rows += saw.sum(axis=0)
        self.passed += passed.sum(axis=0)
        self.rows_in += count(codes, self.width, saw)
        self.rows_out += count(codes, self.width, passed)
        self._fade()

    def _fade(self) -> None:
        factor = self.size / np.maximum(self.rows, self.size)
        if (factor < 1).any():
            self.rows, self.passed = np.minimum(self.rows, self.size), self.passed * factor
            self.rows_in = self.rows_in * factor[:, None, None]
            self.rows_out = self.rows_out * factor[:, None, None]

    def recount(self, attribute: int, codes: Codes, passed: Bits, saw: Bits) -> None:
        """Begin one attribute anew, whose partitions have changed, with these rows."""
        self.rows_in[:, attribute] = count(codes[:, None], self.width, saw)[:, 0]
        self.rows_out[:, attribute] = count(codes[:, None], self.width, passed & saw)[:, 0]

    def get(self) -> tuple[Floats, Floats]:
        return self.rows_in, self.rows_out

    def merge(self, other: "InOut") -> "InOut":
        merged = InOut(self.operators, self.attributes, self.width, self.size)
        merged.rows, merged.passed = self.rows + other.rows, self.passed + other.passed
        merged.rows_in = self.rows_in + other.rows_in
        merged.rows_out = self.rows_out + other.rows_out
        merged._fade()
        return merged


def count(codes: Codes, width: int, chosen: Bits) -> Floats:
    """Rows per operator, column of codes and partition; `chosen` has the rows of each operator.

    >>> codes = np.array([[0, 1], [2, 1]])
    >>> count(codes, 3, np.array([[True, False], [True, True]])).tolist()
    [[[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]]
    """
    attributes, operators = codes.shape[1], chosen.shape[1]
    rows, operator = np.nonzero(chosen)
    places = (codes + width * np.arange(attributes))[rows]
    places += (width * attributes * operator)[:, None]
    counted = np.bincount(places.ravel(), minlength=operators * attributes * width)
    return np.asarray(counted.reshape(operators, attributes, width), float)
