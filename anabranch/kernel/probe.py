"""Drop-probing: does a row find a partner in a bounded table? (A-Greedy paper, Section 8.1)"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.kernel.predicate import Mask


class KeyIndex:
    """Hash index over the distinct keys of a table, with SQL's equality.

    A key with a NULL in it matches nothing; NaN matches NaN, and 0.0 matches -0.0, as in Spark.

    Examples
    --------
    >>> index = KeyIndex([pa.array(["a", "b", None]), pa.array([1, 2, 3])])
    >>> index.contains([pa.array(["a", "a", None, "b"]), pa.array([1, 2, 3, 2])]).tolist()
    [True, False, False, True]
    """

    def __init__(self, columns: Sequence[pa.Array]) -> None:
        valid = _all_valid(columns)
        values = [_values(column)[valid] for column in columns]
        self._levels = [pd.Index(pd.unique(column)) for column in values]
        # A compound key becomes one number column by column. It is numbered anew each time, or the
        # product of the levels' sizes would outgrow an integer.
        self._pairs: list[pd.Index] = []
        codes = self._levels[0].get_indexer(pd.Index(values[0]))
        for level, column in zip(self._levels[1:], values[1:], strict=True):
            joint = codes * len(level) + level.get_indexer(pd.Index(column))
            self._pairs.append(pd.Index(pd.unique(joint)))
            codes = self._pairs[-1].get_indexer(pd.Index(joint))

    def contains(self, columns: Sequence[pa.Array]) -> Mask:
        """Whether each row's key is in the table."""
        codes = _places(self._levels[0], columns[0], _valid(columns[0]))
        for level, pairs, column in zip(self._levels[1:], self._pairs, columns[1:], strict=True):
            present = _valid(column) & (codes >= 0)
            part = _places(level, column, present)
            codes = _find(pairs, codes * len(level) + part, part >= 0)
        return np.asarray(codes >= 0)


def _places(index: pd.Index, column: pa.Array, present: Mask) -> NDArray[np.int64]:
    """The place of each row's value in the index; words repeat, so each is looked up once."""
    if not _is_text(column.type):
        return _find(index, _values(column), present)
    encoded = column.dictionary_encode()
    words = encoded.dictionary
    known = _find(index, _values(words), np.ones(len(words), bool))
    places = np.full(len(column), -1, np.int64)
    places[present] = known[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)[present]]
    return places


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _find(index: pd.Index, values: NDArray[Any], present: Mask) -> NDArray[np.int64]:
    """The place of each value in the index, -1 where it is not there or not present."""
    if values.dtype == index.dtype and values.dtype != object and present.all():
        return np.asarray(index.get_indexer(pd.Index(values)), np.int64)
    places = np.full(len(values), -1, np.int64)
    places[present] = index.get_indexer(pd.Index(values[present], dtype=index.dtype))
    return places


def _valid(column: pa.Array) -> Mask:
    if not column.null_count:
        return np.ones(len(column), bool)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool)


def _all_valid(columns: Sequence[pa.Array]) -> Mask:
    return np.asarray(np.logical_and.reduce([_valid(column) for column in columns]), bool)


def _values(column: pa.Array) -> NDArray[Any]:
    """Values that hash and compare as SQL's do; what stands at a NULL does not matter."""
    kind = column.type
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        column = column.cast(width).cast(pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        if column.null_count:
            column = column.fill_null(0 if pa.types.is_integer(column.type) else False)
        return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)
    if pa.types.is_floating(kind):
        return np.asarray(column.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0)
    if _is_text(kind):
        column = column.cast(pa.binary())  # pandas' table of strings ends them at a NUL
    values = np.empty(len(column), object)
    values[:] = column.to_pylist()
    return values


@dataclass(frozen=True)
class Probe:
    """Keep rows whose key is in the table, or with `anti` those whose key is not."""

    index: KeyIndex
    anti: bool = False

    def convert(self, columns: Sequence[pa.Array], rows: int) -> Sequence[pa.Array]:
        return columns

    def judge(self, converted: Sequence[pa.Array], rows: int) -> Mask:
        found = self.index.contains(converted)
        return ~found if self.anti else found
