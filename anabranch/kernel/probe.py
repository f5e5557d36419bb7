"""Drop-probing: does a row find a partner in a bounded table? (A-Greedy paper, Section 8.1)"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
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
        codes = self._codes(values, [np.ones(len(v), bool) for v in values])
        self._keys = pd.Index(pd.unique(codes))

    def contains(self, columns: Sequence[pa.Array]) -> Mask:
        """Whether each row's key is in the table."""
        valid = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns]
        codes = self._codes([_values(column) for column in columns], valid)
        if len(self._levels) == 1:
            return np.asarray(codes >= 0)
        found = np.zeros(len(codes), bool)
        known = codes >= 0
        found[known] = self._keys.get_indexer(pd.Index(codes[known])) >= 0
        return found

    def _codes(self, values: Sequence[NDArray], valid: Sequence[Mask]) -> NDArray[np.int64]:
        """Each row's key as one number, -1 where a part of it is NULL or unknown."""
        codes = np.zeros(len(values[0]), np.int64)
        for level, column, present in zip(self._levels, values, valid, strict=True):
            part = np.full(len(column), -1, np.int64)
            part[present] = level.get_indexer(pd.Index(column[present], dtype=level.dtype))
            known = (codes >= 0) & (part >= 0)
            codes = np.where(known, codes * len(level) + part, -1)
        return codes


def _all_valid(columns: Sequence[pa.Array]) -> Mask:
    valid = columns[0].is_valid()
    for column in columns[1:]:
        valid = pc.and_(valid, column.is_valid())
    return np.asarray(valid.to_numpy(zero_copy_only=False), bool)


def _values(column: pa.Array) -> NDArray:
    """Values that hash and compare as SQL's do; what stands at a NULL does not matter."""
    kind = column.type
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        column = column.cast(width).cast(pa.int64())
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        filled = column.fill_null(0 if pa.types.is_integer(column.type) else False)
        return np.asarray(filled.to_numpy(zero_copy_only=False).astype(np.int64))
    if pa.types.is_floating(kind):
        return np.asarray(column.fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0)
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
