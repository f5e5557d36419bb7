"""Columns that rows are told apart by, and how their values travel: as they are, or as a number.

What a predicate reads travels anyway, and the worker makes a number of it where that is asked for,
which is of few rows until an attribute is found to tell something.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from anabranch.model import Attribute, InputError, closest
from anabranch.model.attribute import LONG_WORD, LONGEST_WORD, Kind
from anabranch.spark.tables import quoted

# Attributes that no predicate reads, at least, where there are such.
OTHERS = 3

WORDS = (StringType, CharType, VarcharType)
TIMES = (TimestampType, TimestampNTZType)
NUMBERS = (NumericType, BooleanType, DateType, *TIMES)

# These travel as they are, once for predicates and attributes together, and become numbers in the
# worker, where they are needed: to cast all rows in Spark costs more.
AS_THEY_ARE = (
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    BooleanType,
    DateType,
    TimestampType,
)

Path = tuple[str, ...]


def usable(schema: StructType) -> dict[str, tuple[Path, DataType]]:
    """Name -> path and type of every column, or field of one, that rows can be told apart by."""
    found: dict[str, tuple[Path, DataType]] = {}
    for path, kind in _leaves(schema, ()):
        if isinstance(kind, (*WORDS, *NUMBERS)):
            found.setdefault(".".join(path), (path, kind))
    return found


def _leaves(schema: StructType, prefix: Path) -> Iterable[tuple[Path, DataType]]:
    """Columns and fields that a name resolves to; names differ by more than case."""
    names = [field.name.lower() for field in schema.fields]
    for field in schema.fields:
        path = (*prefix, field.name)
        if names.count(field.name.lower()) > 1:
            continue
        if isinstance(field.dataType, StructType):
            yield from _leaves(field.dataType, path)
        else:
            yield path, field.dataType


def choose(
    df: DataFrame,
    named: Sequence[str] | None,
    needed: Iterable[str],
    preferred: Iterable[str],
    most: int,
) -> list[str]:
    """The attributes of a run: those named, or usable ones, `preferred` first, up to `most`.

    What tells rows apart is often a column that no predicate reads: the first `OTHERS` of these
    have a place in any case, on top of `most` if need be.
    """
    known = usable(df.schema)
    if named is None:
        read = list(dict.fromkeys(name for name in preferred if name in known))
        others = [name for name in known if name not in read]
        wanted = read[:most] + others[: max(most - len(read), OTHERS)]
    else:
        wanted = [_real(df, name) for name in _checked(named)]
    return list(dict.fromkeys([*wanted, *(_real(df, name) for name in needed)]))


def _real(df: DataFrame, name: str) -> str:
    """The name of an attribute as the schema spells it; case does not matter, as in Spark."""
    known = usable(df.schema)
    alike = [other for other in known if other.lower() == name.lower()]
    if name in known:
        return name
    if len(alike) == 1:
        return alike[0]
    raise _refused(df, name, list(known))


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
    if [column.lower() for column in df.columns].count(name.lower()) > 1:
        reason = "there are several columns of that name"
    elif name in present:
        reason = f"rows cannot be told apart by {present[name].simpleString()}"
    else:
        return InputError(
            f'the input has no column "{name}" for attributes=; {closest(name, known)}'
        )
    return InputError(f'attribute "{name}": {reason}; usable: {", ".join(known)}')


def as_spelled(df: DataFrame, labels: Iterable[str]) -> list[str]:
    """What predicates read, as the schema spells it: case does not matter, nor do backticks."""
    known = {name.lower(): name for name in usable(df.schema)}
    return [known.get(label.replace("`", "").lower(), label) for label in labels]


def describe(
    df: DataFrame, names: Sequence[str], read: Collection[str] | None = None
) -> list[tuple[Attribute, Column]]:
    """Each attribute, and the column by which its value travels.

    With what predicates `read`, words travel as they are; without, as the numbers that stand for
    them.
    """
    described = []
    for name in names:
        text, kind = _named(df, name)
        if isinstance(kind, AS_THEY_ARE):
            travels = F.col(text)
        elif isinstance(kind, WORDS) and read is not None:
            travels = F.col(text) if name in read else _cut(text)
        else:
            travels = as_number(text, kind)
        described.append((Attribute(name, kind_of(kind)), travels))
    return described


def _cut(text: str) -> Column:
    """A word as long as need be to tell which one it is, or that it is a long one."""
    return F.expr(f"substring({text}, 1, {LONGEST_WORD + 1})")


def numbers(df: DataFrame, names: Sequence[str]) -> dict[str, Column]:
    """Attribute -> the number that stands for its value, as the kernel has it."""
    return {name: as_number(*_named(df, name)) for name in names}


def column_of(df: DataFrame, name: str) -> Column:
    """The column that an attribute names."""
    return F.col(_named(df, name)[0])


def _named(df: DataFrame, name: str) -> tuple[str, DataType]:
    """The column that an attribute names, as SQL has it, and its type."""
    path, kind = usable(df.schema)[name]
    return ".".join(map(quoted, path)), kind


def possible(df: DataFrame) -> tuple[Attribute, ...]:
    """All that rows can be told apart by."""
    return tuple(Attribute(name, kind_of(kind)) for name, (_, kind) in usable(df.schema).items())


def kind_of(kind: DataType) -> Kind:
    """What the number that stands for a value of this type stands for."""
    if isinstance(kind, WORDS):
        return "word"
    if isinstance(kind, DateType):
        return "date"
    return "time" if isinstance(kind, TIMES) else "number"


def spelled(df: DataFrame, name: str) -> Column:
    """The word that a row has; one too long to be a class is not told."""
    text, _ = _named(df, name)
    return F.expr(f"CASE WHEN octet_length({text}) <= {LONGEST_WORD} THEN {text} END")


def as_number(text: str, kind: DataType) -> Column:
    """A 64-bit float that stands for the value of a column, named as in SQL; NULL stays NULL.

    One text that Spark parses: to build it step by step takes dozens of calls to the JVM.
    """
    if isinstance(kind, WORDS):
        word = f"CAST(crc32(CAST({text} AS BINARY)) AS DOUBLE)"  # as the kernel's own
        return F.expr(
            f"CASE WHEN octet_length({text}) > {LONGEST_WORD} THEN {LONG_WORD}D ELSE {word} END"
        )
    if isinstance(kind, DateType):
        return F.expr(f"CAST(unix_date({text}) AS DOUBLE)")
    if isinstance(kind, TIMES):
        return F.expr(f"CAST(unix_micros(CAST({text} AS TIMESTAMP)) AS DOUBLE)")
    return F.expr(f"CAST({text} AS DOUBLE)")


def _untold(name: str, kind: DataType, value: Any, reason: str) -> InputError:
    return InputError(
        f'{value!r} cannot be told of "{name}", which is {kind.simpleString()}: {reason}'
    )


def encoder(df: DataFrame) -> Callable[[str, Sequence[Any]], list[float]]:
    """A function that brings values of a column to the numbers that stand for them."""

    def encode(name: str, values: Sequence[Any]) -> list[float]:
        kind = usable(df.schema)[_real(df, name)][1]
        # One row of constants: Spark folds it, no job runs.
        row = df.sparkSession.createDataFrame(pa.table({"row": [0]}))
        numbers: list[float] = []
        for value in values:
            try:
                told = row.select(F.lit(value).cast(kind).alias("told"))
                number = told.select(as_number("told", kind)).collect()[0][0]
            except PySparkException as error:
                raise _untold(name, kind, value, "it does not fit") from error
            if number is None or not math.isfinite(number):
                raise _untold(name, kind, value, "rows with it take the default order")
            if isinstance(kind, WORDS) and number == LONG_WORD:
                reason = f"words of over {LONGEST_WORD} bytes are not told apart"
                raise _untold(name, kind, value, reason)
            if number in numbers:
                raise _untold(name, kind, value, "another value told is the same")
            numbers.append(number)
        return numbers

    return encode
