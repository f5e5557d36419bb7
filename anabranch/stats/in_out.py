"""In and Out: rows that an operator saw and passed, per partition of each attribute."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bits = NDArray[np.bool_]


@dataclass
class InOut:
    """The matrices of content-based routing, Section 4.1, for one operator.

    Row j belongs to attribute j, column i to its partition i. Beyond `size` rows old ones fade.

    Examples
    --------
    >>> matrices = InOut(attributes=1, width=3)
    >>> matrices.update(np.array([[0], [0], [2]]), np.array([True, False, True]))
    >>> matrices.rows_in.tolist(), matrices.rows_out.tolist()
    ([[2.0, 0.0, 1.0]], [[1.0, 0.0, 1.0]])
    """

    attributes: int
    width: int
    size: int = 6000
    rows: float = 0.0
    passed: float = 0.0
    rows_in: Floats = field(init=False)
    rows_out: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.rows = self.passed = 0.0
        self.rows_in, self.rows_out = np.zeros((2, self.attributes, self.width))

    def update(self, codes: Codes, passed: Bits) -> None:
        """Add rows: their partition under each attribute, and whether the operator passed them."""
        self.rows += len(passed)
        self.passed += float(passed.sum())
        self.rows_in += count(codes, self.width)
        self.rows_out += count(codes[passed], self.width)
        self._fade()

    def _fade(self) -> None:
        if self.rows > self.size:
            factor = self.size / self.rows
            self.rows, self.passed = self.size, self.passed * factor
            self.rows_in, self.rows_out = self.rows_in * factor, self.rows_out * factor

    def recount(self, attribute: int, codes: Codes, passed: Bits) -> None:
        """Begin one attribute anew, whose partitions have changed, with these rows."""
        self.rows_in[attribute] = count(codes[:, None], self.width)[0]
        self.rows_out[attribute] = count(codes[passed][:, None], self.width)[0]

    def get(self) -> tuple[Floats, Floats]:
        return self.rows_in, self.rows_out

    def merge(self, other: "InOut") -> "InOut":
        merged = InOut(self.attributes, self.width, self.size)
        merged.rows, merged.passed = self.rows + other.rows, self.passed + other.passed
        merged.rows_in = self.rows_in + other.rows_in
        merged.rows_out = self.rows_out + other.rows_out
        merged._fade()
        return merged


def count(codes: Codes, width: int) -> Floats:
    """Rows per partition, for each column of codes, in one pass.

    >>> count(np.array([[0, 1], [2, 1]]), 3).tolist()
    [[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]
    """
    attributes = codes.shape[1]
    flat = (codes + width * np.arange(attributes)).ravel()
    counted = np.bincount(flat, minlength=width * attributes)
    return np.asarray(counted.reshape(attributes, width), float)
