"""Predicates as the fabric calls them: convert the columns, then judge the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


class Predicate(Protocol):
    """Two steps, so that the time inside the user's code is known apart from the conversion."""

    def convert(self, columns: Sequence[pa.Array], rows: int) -> Any:
        """Bring Arrow columns into the form that the user's code takes."""

    def judge(self, converted: Any, rows: int) -> Mask:
        """True where the row passes; NULL counts as False."""


@dataclass
class RowPredicate:
    """A function of one row's values.

    >>> p = RowPredicate(lambda x: None if x is None else x > 1)
    >>> p.judge(p.convert([pa.array([1, 2, None])], 3), 3).tolist()
    [False, True, False]
    """

    function: Callable[..., Any]

    def convert(self, columns: Sequence[pa.Array], rows: int) -> list[list[Any]]:
        return [column.to_pylist() for column in columns]

    def judge(self, converted: list[list[Any]], rows: int) -> Mask:
        return truth(call_rows(self.function, converted, rows))


@dataclass(frozen=True)
class ArrowPredicate:
    """A function from Arrow arrays to a boolean Arrow array.

    >>> import pyarrow.compute as pc
    >>> p = ArrowPredicate(lambda x: pc.greater(x, 1))
    >>> p.judge(p.convert([pa.array([1, 2, None])], 3), 3).tolist()
    [False, True, False]
    """

    function: Callable[..., pa.Array]

    def convert(self, columns: Sequence[pa.Array], rows: int) -> Sequence[pa.Array]:
        return columns

    def judge(self, converted: Sequence[pa.Array], rows: int) -> Mask:
        return mask(self.function(*converted))


def call_rows(function: Callable[..., Any], columns: list[list[Any]], rows: int) -> list[Any]:
    """What a row function returns for each row; `map` would take a StopIteration for the end."""
    if not columns:
        return [function() for _ in range(rows)]
    if len(columns) == 1:
        return [function(value) for value in columns[0]]
    return [function(*values) for values in zip(*columns, strict=True)]


def truth(values: list[Any]) -> Mask:
    """A mask from what a row function returned, by the rules of an Arrow-optimised Spark UDF."""
    try:
        result = pa.array(values, pa.bool_())
    except pa.ArrowInvalid:
        result = pa.array(values).cast(pa.bool_())
    return mask(result)


def mask(result: pa.Array) -> Mask:
    """A mask from an Arrow boolean array; NULL is False."""
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if result.null_count:
        result = result.fill_null(False)
    return np.asarray(result.to_numpy(zero_copy_only=False), bool)
