"""One DataFrame with every kind of column, and predicates of every kind over it."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as t
from pyspark.sql.pandas.functions import arrow_udf, pandas_udf

SCHEMA = t.StructType(
    [
        t.StructField("id", t.LongType(), nullable=False),
        t.StructField("i", t.IntegerType(), metadata={"unit": "m"}),
        t.StructField("b", t.BooleanType()),
        t.StructField("x", t.DoubleType()),
        t.StructField("dec", t.DecimalType(12, 3)),
        t.StructField("s", t.StringType()),
        t.StructField("bin", t.BinaryType()),
        t.StructField("day", t.DateType()),
        t.StructField("ts", t.TimestampType()),
        t.StructField("ntz", t.TimestampNTZType()),
        t.StructField("list", t.ArrayType(t.StringType())),
        t.StructField("map", t.MapType(t.StringType(), t.IntegerType())),
        t.StructField(
            "nested",
            t.StructType(
                [
                    t.StructField("a", t.IntegerType()),
                    t.StructField("deep", t.StructType([t.StructField("c", t.StringType())])),
                ]
            ),
        ),
        t.StructField("dotted.name", t.IntegerType()),
        t.StructField("gap", t.DayTimeIntervalType()),
    ]
)


def row(i: int) -> tuple:
    if i % 11 == 0:
        return (i, *[None] * (len(SCHEMA) - 1))
    moment = dt.datetime(2020, 1, 1) + dt.timedelta(hours=i * 7)
    return (
        i,
        i % 13,
        i % 3 == 0,
        float("nan") if i % 17 == 0 else i / 7,
        Decimal(i) / 8,
        f"s{i % 29}ä",
        bytes([i % 256, 7]),
        moment.date(),
        moment,
        moment,
        [f"e{j}" for j in range(i % 4)],
        {"k": i % 5},
        (i % 6, (f"c{i % 4}",)),
        i % 10,
        dt.timedelta(seconds=i),
    )


def sample(spark: SparkSession, rows: int = 3000, partitions: int = 3) -> DataFrame:
    data = spark.sparkContext.parallelize([row(i) for i in range(rows)], partitions)
    return spark.createDataFrame(data, SCHEMA)


def known(f):
    """A function that says NULL to NULL."""

    def judge(*values):
        return None if any(value is None for value in values) else bool(f(*values))

    return judge


# Label -> columns and a function of Python values, each over another type.
ROW_FUNCTIONS = {
    "int": (("i",), lambda i: i > 3),
    "bool": (("b",), lambda b: not b),
    "double": (("x",), lambda x: x < 300),
    "decimal": (("dec",), lambda d: isinstance(d, Decimal) and d > 20),
    "string": (("s",), lambda s: s.endswith("ä") and "7" not in s),
    "binary": (("bin",), lambda b: isinstance(b, bytes) and b[0] > 20),
    "date": (("day",), lambda d: isinstance(d, dt.date) and d.month != 2),
    "timestamp": (("ts",), lambda m: m.tzinfo is None and m.hour < 18),
    "ntz": (("ntz",), lambda m: m.tzinfo is None and m.hour > 3),
    "array": (("list",), lambda a: len(a) != 2),
    "map": (("map",), lambda m: isinstance(m, dict) and m["k"] != 3),
    "struct": (("nested",), lambda n: n.a != 2 and n["deep"].c != "c1"),
    "field": (("nested.deep.c",), lambda c: c != "c2"),
    "several": (("i", "s", "nested.a"), lambda i, s, a: (i + len(s) + a) % 3 != 0),
    "quoted": (("`dotted.name`",), lambda v: v != 4),
    "interval": (("gap",), lambda g: g > dt.timedelta(seconds=100)),
}


def row_udf(label: str, arrow: bool = True):
    columns, f = ROW_FUNCTIONS[label]
    return F.udf(known(f), t.BooleanType(), useArrow=arrow), columns


@pandas_udf(t.BooleanType())
def pandas_long(s: pd.Series) -> pd.Series:
    return s.str.len() > 3


@pandas_udf(t.BooleanType())
def pandas_struct(nested: pd.DataFrame) -> pd.Series:
    return nested["a"] != 1


@pandas_udf(t.BooleanType())
def pandas_two(i: pd.Series, ts: pd.Series) -> pd.Series:
    return (i > 1) & (ts.dt.hour > 2)


@pandas_udf(t.BooleanType())
def pandas_iter(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    least = 5
    for s in batches:
        yield s.fillna(0) >= least


@pandas_udf(t.BooleanType())
def pandas_iter_two(batches: Iterator[tuple[pd.Series, pd.Series]]) -> Iterator[pd.Series]:
    for i, x in batches:
        yield (i.fillna(0) + x.fillna(0)) > 6


@arrow_udf(t.BooleanType())
def arrow_not(b: pa.Array) -> pa.Array:
    return pc.invert(b)


@arrow_udf(t.BooleanType())
def arrow_iter(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    for x in batches:
        yield pc.less(x, 350.0)


VECTORISED = {
    "pandas": (pandas_long, ("s",)),
    "pandas struct": (pandas_struct, ("nested",)),
    "pandas two": (pandas_two, ("i", "ts")),
    "pandas iter": (pandas_iter, ("i",)),
    "pandas iter two": (pandas_iter_two, ("i", "x")),
    "arrow": (arrow_not, ("b",)),
    "arrow iter": (arrow_iter, ("x",)),
}


def predicates() -> dict[str, tuple]:
    """Every label -> a UDF and its columns."""
    rows = {label: row_udf(label) for label in ROW_FUNCTIONS}
    pickled = {f"{label} pickled": row_udf(label, arrow=False) for label in ROW_FUNCTIONS}
    return {**rows, **pickled, **VECTORISED}
