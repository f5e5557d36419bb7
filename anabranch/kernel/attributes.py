"""The attributes of a slice of rows, brought to numbers when they are asked for."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.kernel.lexicon import Lexicon, is_words
from anabranch.model import NULL

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Attributes:
    """Arrow columns of attributes by name; each is converted once, and only if it is used.

    Words become the numbers that a lexicon has for them.

    >>> Attributes({"a": pa.array([1, None])}).get("a").tolist() == [1.0, NULL]
    True
    >>> from datetime import date
    >>> Attributes({"day": pa.array([date(1970, 1, 3)])}).get("day").tolist()
    [2.0]
    """

    def __init__(self, columns: Mapping[str, pa.Array], lexicon: Lexicon | None = None) -> None:
        self._columns = columns
        self._lexicon = lexicon or Lexicon()
        self._values: dict[str, Floats] = {}

    def get(self, name: str) -> Floats:
        """The values of an attribute, NULL as `NULL`."""
        if name not in self._values:
            self._values[name] = self._numbers(name, self._columns[name])
        return self._values[name]

    def of(self, name: str, rows: Rows) -> Floats:
        """The values of some rows; the others are not converted for it.

        >>> Attributes({"a": pa.array([1, None, 3])}).of("a", np.array([2])).tolist()
        [3.0]
        """
        if name in self._values:
            return self._values[name][rows]
        column = self._columns[name]
        if not column.null_count and (
            pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        ):  # nothing is copied but these rows: there may be hundreds of attributes
            return np.asarray(column.to_numpy()[rows], np.float64)
        return self._numbers(name, column.take(pa.array(rows)))

    def _numbers(self, name: str, column: pa.Array) -> Floats:
        if is_words(column.type):
            return self._lexicon.numbers(name, column)
        return _numbers(column)


def _numbers(column: pa.Array) -> Floats:
    column = _counted(column).cast(pa.float64(), safe=False)
    if column.null_count:
        column = column.fill_null(NULL)
    values: Floats = column.to_numpy(zero_copy_only=False)
    return values


def _counted(column: pa.Array) -> pa.Array:
    """Dates as days, times as microseconds since 1970."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return column
