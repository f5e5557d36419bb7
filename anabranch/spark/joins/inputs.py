"""The streams of a join as Spark has them: checked, keyed, timed, and packed for their cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from anabranch.kernel.joins.grid import Grid
from anabranch.kernel.joins.wire import PAYLOAD, TIME, code, spelled, value
from anabranch.model import Attribute, InputError, closest
from anabranch.model.join import Field, JoinQuery
from anabranch.spark.attributes import AS_THEY_ARE, describe
from anabranch.spark.joins.pack import CELL, CHUNK, SEEN, STREAM, Pack
from anabranch.spark.tables import quoted

# Of values of these types no two have the same code: Spark's hash of eight bytes is a bijection.
EXACT = (*AS_THEY_ARE, TimestampNTZType)
PACKED = f"{CELL} int, {STREAM} int, {SEEN} long, {CHUNK} binary"
AHEAD = "__anabranch_ahead"
# Spark refuses results of the very time of its watermark, in milliseconds; rows of it are not late.
MOMENT = 1_000
WATERMARK = "spark.watermarkDelayMs"
BINARY = "UTF8_BINARY"
NESTED = (ArrayType, MapType, StructType, VariantType)


@dataclass(frozen=True)
class Input:
    """A stream: its rows as one column of its name, its time, and the conditions on it alone."""

    name: str
    df: DataFrame
    time: str
    conditions: tuple[Column, ...] = ()

    def frame(self) -> DataFrame:
        """The rows as one struct."""
        columns = [F.col(quoted(name)) for name in self.df.columns]
        return self.df.select(F.struct(*columns).alias(self.name))

    def check(self) -> None:
        """The time is there and is a time."""
        if len({name.lower() for name in self.df.columns}) < len(self.df.columns):
            raise InputError(f"{self.name} has several columns of one name: rename them first")
        known = {field.name: field.dataType for field in self.df.schema.fields}
        if self.time not in known:
            raise InputError(
                f'{self.name} has no column "{self.time}" for time=; '
                f"{closest(self.time, list(known))}"
            )
        if not isinstance(known[self.time], TimestampType):
            kind = known[self.time].simpleString()
            raise InputError(
                f"time of {self.name}: {self.time} is {kind}, it must be a timestamp; cast it"
            )
        if self.df.isStreaming and any(
            WATERMARK in field.metadata for field in self.df.schema.fields
        ):
            raise InputError(
                f"{self.name} has a watermark already, and Spark allows no second one: give the "
                "stream without withWatermark(...); within(delay=...) says how late rows may be"
            )

    def passing(self) -> DataFrame:
        """The rows that pass the conditions on this stream."""
        return reduce(DataFrame.filter, self.conditions, self.frame())

    def marked(self, delay: int) -> "Input":
        """With a watermark so far behind the greatest time, and a moment more."""
        length = f"{delay + MOMENT} microseconds"
        return replace(self, df=self.df.withWatermark(quoted(self.time), length))

    def when(self) -> Column:
        """The time of a row of the frame."""
        return F.col(self.name).getField(self.time)


def key_types(inputs: Mapping[str, Input], query: JoinQuery) -> tuple[DataType, ...]:
    """Of each key, the type in which its values are compared."""
    return tuple(_common(key, inputs) for key in query.keys)


def _common(key: Sequence[Field], inputs: Mapping[str, Input]) -> DataType:
    kinds = {field: _type(inputs[field[0]], field[1]) for field in key}
    if all(isinstance(kind, IntegralType) for kind in kinds.values()):
        return LongType() if len({type(k) for k in kinds.values()}) > 1 else kinds[key[0]]
    first = kinds[key[0]]
    for field, kind in kinds.items():
        if kind != first:
            raise InputError(
                f"{key[0][1]} is {first.simpleString()} and {field[1]} is {kind.simpleString()}: "
                "keys must have one type; cast one of them"
            )
    collated = isinstance(first, StringType) and first.collation != BINARY
    if isinstance(first, NESTED) or collated:
        raise InputError(
            f"{key[0][1]} is {first.simpleString()}: no key of a join of streams can be that; join "
            "on fields or on an expression of a plain type"
        )
    return first


def _type(given: Input, expression: str) -> DataType:
    try:
        return given.frame().select(F.expr(expression)).schema.fields[0].dataType
    except AnalysisException as error:
        known = ", ".join(given.df.columns)
        raise InputError(
            f"{expression}: {given.name} does not have that; its columns: {known}"
        ) from error


def is_exact(kind: DataType) -> bool:
    """Whether values with the same code are the same."""
    return isinstance(kind, EXACT)


@dataclass(frozen=True)
class Packing:
    """How rows of the streams become chunks."""

    query: JoinQuery
    kinds: tuple[DataType, ...]
    grid: Grid
    attributes: Mapping[str, Sequence[str]]
    columns: Mapping[str, Sequence[str]]  # stream -> those that are carried

    def described(self, given: Input) -> tuple[Attribute, ...]:
        """The attributes of a stream."""
        found = describe(given.frame(), list(self.attributes.get(given.name, ())))
        return tuple(attribute for attribute, _ in found)

    def carried(self, given: Input) -> StructType:
        """The type of what is carried of a row."""
        fields = {field.name: field for field in given.df.schema.fields}
        return StructType([fields[name] for name in self.columns[given.name]])

    def packed(self, given: Input, frame: DataFrame) -> DataFrame:
        """Chunks by cell of the rows of a frame; a row without a key or a time joins with none."""
        keys = self.query.keys_of[given.name]
        fields = {key: self._values(given.name, key) for key in keys}
        present = [value.isNotNull() for values in fields.values() for value in values]
        # Columns of one stream that are to be equal to the same of others are equal.
        present += [values[0] == other for values in fields.values() for other in values[1:]]
        frame = reduce(DataFrame.filter, [*present, given.when().isNotNull()], frame)
        columns = [F.xxhash64(values[0]).alias(code(key)) for key, values in fields.items()]
        columns += [
            values[0].alias(spelled(key))
            for key, values in fields.items()
            if not is_exact(self.kinds[key])
        ]
        columns.append(F.unix_micros(given.when()).alias(TIME))
        columns += self._attributes(given)
        carried = [F.col(given.name).getField(name) for name in self.columns[given.name]]
        names = self.columns[given.name]
        struct = F.struct(*(c.alias(n) for c, n in zip(carried, names, strict=True)))
        columns.append((struct if names else F.struct(F.lit(None).alias("none"))).alias(PAYLOAD))
        kind = to_arrow_type(self.carried(given), timezone="UTC") if names else None
        return frame.select(*columns).mapInArrow(Pack(self.grid, given.name, kind), PACKED)

    def _values(self, stream: str, key: int) -> list[Column]:
        """The values that a stream has for a key; floats that are equal are made the same."""
        kind = self.kinds[key]
        values = [F.expr(e).cast(kind) for name, e in self.query.keys[key] if name == stream]
        if isinstance(kind, FloatType | DoubleType):
            return [v + F.lit(0.0).cast(kind) for v in values]
        return values

    def _attributes(self, given: Input) -> list[Column]:
        found = describe(given.frame(), list(self.attributes.get(given.name, ())))
        return [travels.alias(value(i)) for i, (_, travels) in enumerate(found)]


def united(inputs: Sequence[Input], query: JoinQuery, idle: int | None, pack: Packing) -> DataFrame:
    """All streams packed, with what Spark needs to move the watermark.

    Each stream has a watermark of its own, and the least of them holds; with `idle` there is one,
    so far behind the most advanced stream.
    """
    if idle is None:
        delays = {stream.name: stream.delay for stream in query.streams}
        marked = [given.marked(delays[given.name]) for given in inputs]
        return reduce(DataFrame.unionAll, [pack.packed(m, m.passing()) for m in marked])
    whole = reduce(DataFrame.unionAll, [pack.packed(given, given.passing()) for given in inputs])
    late = F.array(*(F.lit(stream.delay) for stream in query.streams))[F.col(STREAM)]
    ahead = F.timestamp_micros(F.col(SEEN) - late)
    marked_whole = whole.withColumn(AHEAD, ahead).withWatermark(
        AHEAD, f"{idle + MOMENT} microseconds"
    )
    return marked_whole.drop(AHEAD)
