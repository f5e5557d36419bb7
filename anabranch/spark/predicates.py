"""Spark's UDFs as predicates of the kernel, with PySpark's own converters.

Values reach the user's function as they would in Spark, and its results are read by Spark's rules.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.conversion import (
    ArrowBatchTransformer,
    ArrowTableToRowsConversion,
    PandasToArrowConversion,
)
from pyspark.sql.types import BooleanType, DataType, StructField, StructType
from pyspark.util import PythonEvalType, fail_on_stopiteration

from anabranch.kernel import ArrowPredicate, Predicate, RowPredicate
from anabranch.kernel.predicate import Mask, call_rows, mask, truth
from anabranch.model import InputError

VERDICT = StructType([StructField("verdict", BooleanType())])


@dataclass(frozen=True)
class Conversion:
    """The session settings that PySpark's own workers convert by."""

    timezone: str
    binary_as_bytes: bool
    safecheck: bool
    prefer_int_ext_dtype: bool
    int_to_decimal: bool

    @classmethod
    def of(cls, conf: Callable[[str, str], str | None]) -> "Conversion":
        """Read the settings of a session through its `conf.get`."""

        def on(key: str, default: str) -> bool:
            return str(conf(key, default)).lower() == "true"

        return cls(
            str(conf("spark.sql.session.timeZone", "UTC")),
            on("spark.sql.execution.pyspark.binaryAsBytes", "true"),
            on("spark.sql.execution.pandas.convertToArrowArraySafely", "false"),
            on("spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype", "false"),
            on("spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled", "false"),
        )


@dataclass
class RowUdf(RowPredicate):
    """A plain UDF: a function of one row's Python values, converted as PySpark does.

    A `pickled` UDF (`useArrow=False`) must return booleans: other plain values are NULL to Spark's
    unpickler, and numpy's it cannot read. Others are cast.
    """

    types: Sequence[DataType]
    conversion: Conversion
    pickled: bool
    _converters: list[Callable[[Any], Any] | None] | None = field(default=None, init=False)

    def convert(self, columns: Sequence[pa.Array], rows: int) -> list[list[Any]]:
        if self._converters is None:
            self._converters = [
                ArrowTableToRowsConversion._create_converter(
                    kind, none_on_identity=True, binary_as_bytes=self.conversion.binary_as_bytes
                )
                for kind in self.types
            ]
        return [
            values if converter is None else [converter(value) for value in values]
            for values, converter in zip(
                map(ArrowTableToRowsConversion._to_pylist, columns), self._converters, strict=True
            )
        ]

    def judge(self, converted: list[list[Any]], rows: int) -> Mask:
        results: list[Any] = fail_on_stopiteration(call_rows)(self.function, converted, rows)
        return truth([_unpickled(result) for result in results] if self.pickled else results)


def _unpickled(result: Any) -> bool | None:
    if isinstance(result, np.generic):
        raise InputError(
            f"the predicate returned a numpy {type(result).__name__}, which a pickled UDF cannot "
            "send to Spark; return bool(...) of it, or make the UDF with useArrow=True"
        )
    return result if isinstance(result, bool) else None


@dataclass
class PandasUdf:
    """A `pandas_udf` from Series to Series."""

    function: Callable[..., Any]
    conversion: Conversion

    def convert(self, columns: Sequence[pa.Array], rows: int) -> list[Any]:
        return to_pandas(columns, self.conversion)

    def judge(self, converted: list[Any], rows: int) -> Mask:
        return from_pandas(self.function(*converted), self.conversion)


def to_pandas(columns: Sequence[pa.Array], conversion: Conversion) -> list[Any]:
    """Series as PySpark's worker makes them."""
    names = [f"_{i}" for i in range(len(columns))]
    batch = pa.RecordBatch.from_arrays(list(columns), names)
    series: list[Any] = ArrowBatchTransformer.to_pandas(
        batch,
        timezone=conversion.timezone,
        struct_in_pandas="dict",
        ndarray_as_list=False,
        prefer_int_ext_dtype=conversion.prefer_int_ext_dtype,
        df_for_struct=True,
    )
    return series


def from_pandas(result: Any, conversion: Conversion) -> Mask:
    """A mask from a Series, by the rules of PySpark's worker."""
    batch = PandasToArrowConversion.convert(
        [result],
        VERDICT,
        timezone=conversion.timezone,
        safecheck=conversion.safecheck,
        arrow_cast=True,
        prefers_large_types=False,
        assign_cols_by_name=True,
        int_to_decimal_coercion_enabled=conversion.int_to_decimal,
    )
    return mask(batch.column(0))


@dataclass
class IteratorUdf:
    """An Iterator UDF, begun once per task and fed one batch at a time.

    What it sets up before its loop is set up once. Rows that are dropped elsewhere never reach it,
    so there is no next batch to read ahead.
    """

    function: Callable[[Iterator[Any]], Iterator[Any]]
    conversion: Conversion
    pandas: bool
    _waiting: list[Any] = field(default_factory=list, init=False)
    _results: Iterator[Any] | None = field(default=None, init=False)
    _done: bool = field(default=False, init=False)

    def convert(self, columns: Sequence[pa.Array], rows: int) -> Any:
        values = to_pandas(columns, self.conversion) if self.pandas else list(columns)
        return values[0] if len(values) == 1 else tuple(values)

    def judge(self, converted: Any, rows: int) -> Mask:
        if self._results is None:
            self._results = iter(self.function(self._feed()))
        self._waiting.append(converted)
        parts: list[pa.Array] = []
        while sum(map(len, parts)) < rows:
            parts.append(pa.array(self._next()))
        return mask(pa.concat_arrays(parts)) if parts else mask(pa.array([], pa.bool_()))

    def _next(self) -> Mask:
        assert self._results is not None
        try:
            result = next(self._results)
        except StopIteration:
            raise InputError("the iterator UDF ended before all of its input was read") from None
        return from_pandas(result, self.conversion) if self.pandas else mask(as_boolean(result))

    def _feed(self) -> Iterator[Any]:
        while True:
            if self._waiting:
                yield self._waiting.pop()
            elif self._done:
                return
            else:
                raise InputError(
                    "the iterator UDF took another batch before it gave the result of the last "
                    "one; Anabranch feeds one batch at a time, so yield a result for each batch "
                    "before taking the next, or use a Series-to-Series UDF"
                )

    def close(self) -> None:
        """End the UDF's loop, so that what stands behind it runs."""
        self._done = True
        if self._results is not None and next(self._results, None) is not None:
            raise InputError("the iterator UDF gave more results than it was given batches")


def as_boolean(result: Any) -> pa.Array:
    """The result of an `arrow_udf`, cast to boolean as Spark would."""
    return result if pa.types.is_boolean(result.type) else result.cast(pa.bool_())


@dataclass(frozen=True)
class _Cast:
    function: Callable[..., Any]

    def __call__(self, *columns: pa.Array) -> pa.Array:
        return as_boolean(self.function(*columns))


def is_udf(predicate: object) -> bool:
    """Whether this is a UDF object of PySpark's."""
    return hasattr(predicate, "evalType") and hasattr(predicate, "returnType")


def as_udf(predicate: Callable[..., Any]) -> Any:
    """A UDF object as it is; a plain function as `F.udf` takes it, returning boolean."""
    if is_udf(predicate):
        return predicate
    with warnings.catch_warnings():
        # PySpark warns of every typed function that is not typed as a pandas or Arrow one.
        warnings.filterwarnings("ignore", "Cannot infer the eval type", UserWarning)
        return F.udf(predicate, BooleanType())


ROW_KINDS = (PythonEvalType.SQL_BATCHED_UDF, PythonEvalType.SQL_ARROW_BATCHED_UDF)
ITERATOR_KINDS = (
    PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF,
    PythonEvalType.SQL_SCALAR_ARROW_ITER_UDF,
)
KINDS = (
    *ROW_KINDS,
    *ITERATOR_KINDS,
    PythonEvalType.SQL_SCALAR_PANDAS_UDF,
    PythonEvalType.SQL_SCALAR_ARROW_UDF,
)


def check_udf(name: str, udf: Any) -> None:
    """Refuse a UDF that is no predicate."""
    if udf.evalType not in KINDS:
        raise InputError(
            f'"{name}" is not a scalar UDF; valid: udf, pandas_udf (Series or Iterator), '
            "arrow_udf (Array or Iterator), a plain function"
        )
    if not isinstance(udf.returnType, BooleanType):
        raise InputError(
            f'"{name}" returns {udf.returnType.simpleString()}; a predicate returns boolean, '
            'as in udf(f, "boolean")'
        )


def check_arity(name: str, udf: Any, columns: int) -> None:
    """Refuse a number of columns that the function cannot take."""
    if udf.evalType in ITERATOR_KINDS:
        return  # takes one iterator, whatever the columns
    try:
        signature = inspect.signature(udf.func)
    except (TypeError, ValueError):
        return  # a builtin need not tell
    try:
        signature.bind(*[None] * columns)
    except TypeError as error:
        raise InputError(
            f'"{name}" takes {signature} and was given {columns} columns: {error}; '
            'name its columns, as in where(f, "a", "b")'
        ) from error


def to_predicate(udf: Any, types: Sequence[DataType], conversion: Conversion) -> Predicate:
    """The kernel's predicate for a UDF over columns of these types."""
    kind, function = udf.evalType, udf.func
    if kind in ROW_KINDS:
        pickled = kind == PythonEvalType.SQL_BATCHED_UDF
        return RowUdf(function, types, conversion, pickled)
    if kind == PythonEvalType.SQL_SCALAR_PANDAS_UDF:
        return PandasUdf(function, conversion)
    if kind == PythonEvalType.SQL_SCALAR_ARROW_UDF:
        return ArrowPredicate(_Cast(function))
    pandas = kind == PythonEvalType.SQL_SCALAR_PANDAS_ITER_UDF
    return IteratorUdf(function, conversion, pandas)
