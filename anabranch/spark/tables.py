"""Bounded tables: read once, probed in the workers, joined from the same snapshot."""

import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from anabranch.kernel.predicate import Mask
from anabranch.kernel.probe import KeyIndex, Probe
from anabranch.model import InputError, closest
from anabranch.spark.session import is_connect

# Above this a table is no bounded table: every worker holds an index over its keys.
MAX_TABLE_ROWS = 1_000_000
# Files of no more than that are read by each job, unless Spark itself would broadcast less unasked.
AT_HAND_BYTES = 10 << 20

KEY_TYPES = (
    BinaryType,
    BooleanType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

# Indexes that a worker keeps from task to task, the least recently used going first.
MAX_INDEXES = 32
_indexes: OrderedDict[str, KeyIndex] = OrderedDict()


class Shipped(Protocol):
    """Bytes that reach every worker: a broadcast, or what stands for one."""

    @property
    def value(self) -> bytes: ...


@dataclass(frozen=True)
class Inside:
    """Travels with the code that uses it."""

    value: bytes


@dataclass(frozen=True)
class TableProbe:
    """Probes the keys of a broadcast table; the index is built once per worker."""

    table: str
    keys: Shipped
    anti: bool = False

    @cached_property
    def _probe(self) -> Probe:
        return Probe(self._index(), self.anti)

    def _index(self) -> KeyIndex:
        index = _indexes.pop(self.table, None)
        if index is None:
            keys = pa.ipc.open_stream(self.keys.value).read_all().combine_chunks()
            index = KeyIndex([_one_chunk(column) for column in keys.columns])
        _indexes[self.table] = index
        while len(_indexes) > MAX_INDEXES:
            _indexes.popitem(last=False)
        return index

    def convert(self, columns: Sequence[pa.Array], rows: int) -> Sequence[pa.Array]:
        return self._probe.convert(columns, rows)

    def judge(self, converted: Sequence[pa.Array], rows: int) -> Mask:
        return self._probe.judge(converted, rows)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def key_names(name: str, table: DataFrame, on: object, df: DataFrame) -> tuple[str, ...]:
    """The key columns, checked against both sides."""
    if not isinstance(table, DataFrame):
        raise InputError(f'"{name}": the table must be a DataFrame, got {type(table).__name__}')
    if table.isStreaming:
        raise InputError(f'"{name}": the table is a stream; lookup and join take a bounded table')
    keys = [on] if isinstance(on, str) else on
    if not isinstance(keys, list | tuple) or not keys or not all(isinstance(k, str) for k in keys):
        raise InputError(
            f'"{name}": on= takes a column name or a list of names that both sides have, '
            f"got {on!r}; rename columns that are called differently"
        )
    for key in keys:
        for side, columns in (("the input", df.columns), ("the table", table.columns)):
            count = [c.lower() for c in columns].count(key.lower())
            if count != 1:
                said = "no column" if count == 0 else f"{count} columns called"
                raise InputError(f'"{name}": {side} has {said} "{key}"; {closest(key, columns)}')
    return tuple(keys)


def quoted(key: str) -> str:
    """A column name as one part, whatever characters it has."""
    return "`" + key.replace("`", "``") + "`"


def key_types(name: str, table: DataFrame, keys: Sequence[str], df: DataFrame) -> list[DataType]:
    """For each key the type in which Spark's join would compare the two sides."""
    left, right = types_of(df, keys), types_of(table, keys)
    return [_common(name, key, a, b, df) for key, a, b in zip(keys, left, right, strict=True)]


def types_of(df: DataFrame, keys: Sequence[str]) -> list[DataType]:
    """Of columns that there is one of each, whatever the case."""
    known = {field.name.lower(): field.dataType for field in df.schema}
    return [known[key.lower()] for key in keys]


def _common(name: str, key: str, left: DataType, right: DataType, df: DataFrame) -> DataType:
    for kind in (left, right):
        if not isinstance(kind, KEY_TYPES) or not _plain(kind):
            raise InputError(
                f'"{name}": key "{key}" has type {kind.simpleString()}; valid: numbers, string, '
                "boolean, binary, date, timestamp"
            )
    if left == right:
        return left
    times = (DateType, TimestampNTZType, TimestampType)
    for family in (NumericType, times):
        if isinstance(left, family) and isinstance(right, family):
            empty = df.sparkSession.createDataFrame
            widened = empty([], f"k {left.simpleString()}").union(
                empty([], f"k {right.simpleString()}")
            )
            return widened.schema[0].dataType
    raise InputError(
        f'"{name}": key "{key}" is {left.simpleString()} in the input and '
        f"{right.simpleString()} in the table; cast one of them"
    )


def _plain(kind: DataType) -> bool:
    """Whether strings compare by their bytes; other collations need Spark's own comparison."""
    return not isinstance(kind, StringType) or kind.isUTF8BinaryCollation()


def read_bounded(name: str, table: DataFrame) -> pa.Table:
    """All rows of a table that fits, or an error that says what to do."""
    rows = _up_to_a_bound(table)
    if rows is None:
        raise InputError(
            f'"{name}": the table has more than {MAX_TABLE_ROWS:,} rows; select fewer rows or '
            "keys, or join it with Spark's own join on run.df"
        )
    return rows


def _up_to_a_bound(table: DataFrame) -> pa.Table | None:
    rows = table.limit(MAX_TABLE_ROWS + 1).toArrow()
    return rows if rows.num_rows <= MAX_TABLE_ROWS else None


def probe(
    name: str, table: DataFrame, keys: Sequence[str], types: Sequence[DataType], anti: bool = False
) -> TableProbe:
    """Broadcast the keys of a table, in the types in which they are compared."""
    known = known_keys(name, table, keys, types)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, known.schema) as writer:
        writer.write_table(known)
    shipped = _shipped(table.sparkSession, sink.getvalue().to_pybytes())
    return TableProbe(uuid.uuid4().hex, shipped, anti)


def known_keys(
    name: str, table: DataFrame, keys: Sequence[str], types: Sequence[DataType]
) -> pa.Table:
    """The keys of a table; of one with too many rows, each once."""
    known = _keys(table, keys, types, keys)
    rows = _up_to_a_bound(known)  # to find out which are equal takes a shuffle
    return rows if rows is not None else read_bounded(name, known.distinct())


def _keys(
    table: DataFrame, keys: Sequence[str], types: Sequence[DataType], names: Sequence[str]
) -> DataFrame:
    """The keys of a table under other names. With a NULL they match nothing and stay behind."""
    told = zip(keys, types, names, strict=True)
    known = table.select(*[F.col(quoted(key)).cast(kind).alias(own) for key, kind, own in told])
    for own in names:
        known = known.filter(F.col(quoted(own)).isNotNull())  # dropna() would take NaN for NULL
    return known


def key_frame(
    name: str, table: DataFrame, keys: Sequence[str], types: Sequence[DataType], live: bool
) -> DataFrame:
    """The keys of a table as they are now, under names that no input has.

    What is `live` may be read by the jobs themselves, where that takes them no longer.
    """
    names = [_own(place) for place in range(len(keys))]
    if live and is_at_hand(table):
        return _keys(table, keys, types, names)
    rows = known_keys(name, table, keys, types)
    schema = StructType([StructField(own, kind) for own, kind in zip(names, types, strict=True)])
    return table.sparkSession.createDataFrame(
        rows.rename_columns([field.name for field in schema]), schema
    )


def is_at_hand(table: DataFrame) -> bool:
    """Whether Spark reads a table as fast as a copy of it: rows of the driver's, or small files."""
    if is_connect(table):
        return False
    frame: Any = table
    plan = leaf = frame._jdf.queryExecution().optimizedPlan()
    while leaf.nodeName() in ("Project", "Filter"):
        leaf = leaf.child()
    if leaf.nodeName() not in ("LocalRelation", "LogicalRelation") or not plan.deterministic():
        return False
    if not plan.subqueries().isEmpty():  # which may read anything
        return False
    own: Any = table.sparkSession
    most = own._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()
    return float(str(leaf.stats().sizeInBytes())) <= min(AT_HAND_BYTES, float(most))


def _own(place: int) -> str:
    return f"__anabranch_key_{place}"


def kept(
    df: DataFrame, frame: DataFrame, keys: Sequence[str], types: Sequence[DataType], anti: bool
) -> DataFrame:
    """The rows whose keys are in a `key_frame`, or with `anti` those whose are not, by Spark."""
    pairs = [
        F.col(quoted(key)).cast(kind) == F.col(_own(place))
        for place, (key, kind) in enumerate(zip(keys, types, strict=True))
    ]
    return df.join(F.broadcast(frame), pairs, "left_anti" if anti else "left_semi")


def _shipped(session: SparkSession, data: bytes) -> Shipped:
    """By broadcast; Spark Connect has none, there it travels with the code."""
    return Inside(data) if is_connect(session) else session.sparkContext.broadcast(data)


def snapshot(name: str, table: DataFrame) -> DataFrame:
    """The table as it is now: what was probed is what is joined, however often the query runs."""
    rows = read_bounded(name, table)
    return table.sparkSession.createDataFrame(rows, schema=table.schema)
