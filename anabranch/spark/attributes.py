"""Columns that rows are told apart by, and how their values travel: as one number each.

Spark computes the number, so that a word costs the worker no more than a number does.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from anabranch.model import Attribute, InputError, closest
from anabranch.spark.tables import quoted
from anabranch.stats.partitioner import LONG_WORD

# Columns taken by default; more can be named. Each is eight bytes per row on the way to Python.
MOST_ATTRIBUTES = 32
# Characters beyond which a word is too long to be a class.
LONGEST_WORD = 64
# A whole number of so many bits is exact as a float.
WORD_BITS = 52

Path = tuple[str, ...]


def usable(schema: StructType) -> dict[str, tuple[Path, DataType]]:
    """Name -> path and type of every column, or field of one, that rows can be told apart by."""
    tops = [field.name for field in schema.fields]
    found: dict[str, tuple[Path, DataType]] = {}
    for path, kind in _leaves(schema, ()):
        if tops.count(path[0]) == 1 and _simple(kind):
            found.setdefault(".".join(path), (path, kind))
    return found


def _leaves(schema: StructType, prefix: Path) -> Iterable[tuple[Path, DataType]]:
    for field in schema.fields:
        path = (*prefix, field.name)
        if isinstance(field.dataType, StructType):
            yield from _leaves(field.dataType, path)
        else:
            yield path, field.dataType


def _simple(kind: DataType) -> bool:
    simple = (NumericType, StringType, BooleanType, DateType, TimestampType, TimestampNTZType)
    return isinstance(kind, simple)


def choose(
    df: DataFrame, named: Sequence[str] | None, needed: Iterable[str], preferred: Iterable[str]
) -> list[str]:
    """The attributes of a run: those named, or all usable ones up to a limit, `preferred` first."""
    known = usable(df.schema)
    wanted = _checked(named) if named is not None else None
    for name in (*(wanted or ()), *needed):
        if name not in known:
            raise _refused(df, name, list(known))
    if wanted is None:
        wanted = [*(name for name in preferred if name in known), *known]
        wanted = list(dict.fromkeys(wanted))[:MOST_ATTRIBUTES]
    return list(dict.fromkeys([*wanted, *needed]))


def _checked(named: Sequence[str]) -> list[str]:
    if isinstance(named, str):
        return [named]
    if not isinstance(named, list | tuple) or not all(isinstance(n, str) for n in named):
        raise InputError(f"attributes are names of columns, got {named!r}")
    return list(named)


def _refused(df: DataFrame, name: str, known: list[str]) -> InputError:
    if not known:
        return InputError(f'"{name}" cannot be an attribute: the input has no usable column')
    present = {".".join(path): kind for path, kind in _leaves(df.schema, ())}
    present |= {field.name: field.dataType for field in df.schema.fields}
    if df.columns.count(name) > 1:
        reason = "there are several columns of that name"
    elif name in present:
        reason = f"rows cannot be told apart by {present[name].simpleString()}"
    else:
        return InputError(f'the input has no column "{name}"; usable: {closest(name, known)}')
    return InputError(f'attribute "{name}": {reason}; usable: {", ".join(known)}')


def describe(df: DataFrame, names: Sequence[str]) -> list[tuple[Attribute, Column]]:
    """Each attribute, and the number that stands for its value."""
    known = usable(df.schema)
    described = []
    for name in names:
        path, kind = known[name]
        attribute = Attribute(name, "word" if isinstance(kind, StringType) else "number")
        described.append((attribute, as_number(F.col(".".join(map(quoted, path))), kind)))
    return described


def as_number(column: Column, kind: DataType) -> Column:
    """A 64-bit float that stands for the value; NULL stays NULL."""
    if isinstance(kind, StringType):
        word = F.shiftrightunsigned(F.xxhash64(column), 64 - WORD_BITS).cast("double")
        return F.when(F.length(column) > LONGEST_WORD, F.lit(LONG_WORD)).when(
            column.isNotNull(), word
        )
    if isinstance(kind, DateType):
        return F.unix_date(column).cast("double")
    if isinstance(kind, TimestampType | TimestampNTZType):
        return F.unix_micros(column.cast("timestamp")).cast("double")
    return column.cast("double")


def encoder(df: DataFrame) -> Callable[[str, Sequence[Any]], list[float]]:
    """A function that brings values of a column to the numbers that stand for them."""

    def encode(name: str, values: Sequence[Any]) -> list[float]:
        known = usable(df.schema)
        if name not in known:
            raise _refused(df, name, list(known))
        kind = known[name][1]
        # One row of constants: Spark folds it, no job runs.
        row = df.sparkSession.createDataFrame(pa.table({"row": [0]}))
        told = row.select(*[as_number(F.lit(v).cast(kind), kind) for v in values]).collect()[0]
        for value, number in zip(values, told, strict=True):
            if number is None or number != number:
                raise InputError(
                    f'{value!r} cannot be told of "{name}", which is {kind.simpleString()}; rows '
                    "with NULL or NaN take the default order"
                )
        return list(told)

    return encode
