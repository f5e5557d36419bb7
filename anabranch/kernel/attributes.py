"""The attributes of a slice of rows, brought to numbers when they are asked for."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.model import NULL

Floats = NDArray[np.float64]


class Attributes:
    """Arrow columns of attributes by name; each is converted once, and only if it is used.

    >>> Attributes({"a": pa.array([1, None])}).get("a").tolist() == [1.0, NULL]
    True
    >>> from datetime import date
    >>> Attributes({"day": pa.array([date(1970, 1, 3)])}).get("day").tolist()
    [2.0]
    """

    def __init__(self, columns: Mapping[str, pa.Array]) -> None:
        self._columns = columns
        self._values: dict[str, Floats] = {}

    def get(self, name: str) -> Floats:
        """The values of an attribute, NULL as `NULL`."""
        if name not in self._values:
            column = _counted(self._columns[name]).cast(pa.float64(), safe=False)
            if column.null_count:
                column = column.fill_null(NULL)
            self._values[name] = column.to_numpy(zero_copy_only=False)
        return self._values[name]


def _counted(column: pa.Array) -> pa.Array:
    """Dates as days, times as microseconds since 1970."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    return column
