"""The in-flow host: one fused operator inside a DataFrame, batch or streaming.

`struct<keep, stats>` from one Iterator `arrow_udf`, `observe` for the statistics, `Filter` for the
verdict. Only the predicates' columns travel to Python, and Spark prunes the rest as always.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, BooleanType, StructField, StructType

from anabranch.spark.collector import Postman
from anabranch.spark.session import is_connect
from anabranch.spark.worker import Fused

VERDICT = StructType([StructField("keep", BooleanType()), StructField("stats", BinaryType())])
# A column name that no user has: it is dropped before the user sees the schema.
FIELD = "__anabranch_verdict"


def attach(df: DataFrame, fused: Fused, columns: Sequence[Column], postman: Postman) -> DataFrame:
    """`df` with only the rows that pass, and the ledgers observed under the run's name."""
    # An arrow_udf needs at least one column to know how many rows there are.
    inputs = list(columns) or [F.lit(True)]
    session = df.sparkSession
    with own_interpreter(session):
        verdict = _udf(fused)(*inputs)
    ledgers = F.collect_list(F.col(FIELD).getField("stats")).alias("stats")
    judged = postman.observed(df.withColumn(FIELD, verdict), fused.run, ledgers)
    return judged.filter(F.col(FIELD).getField("keep")).drop(FIELD)


@contextmanager
def own_interpreter(session: SparkSession) -> Iterator[None]:
    """In local mode the workers run the Python that runs now, unless the user named another.

    Spark would take the first python3 on the PATH, which need not have this package. What a Connect
    server runs is up to the server.
    """
    if is_connect(session):
        yield
        return
    context = session.sparkContext
    named = os.environ.get("PYSPARK_PYTHON") or context.getConf().get("spark.pyspark.python")
    master = context.master or ""
    local = master == "local" or master.startswith("local[")
    before = context.pythonExec
    if local and not named:
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = before


def _udf(fused: Fused) -> Any:
    def anabranch(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        return fused(batches)

    # Non-deterministic, so that Spark neither moves nor repeats it: it learns as it runs.
    udf: Any = arrow_udf  # its stub knows no struct for an Iterator UDF
    return udf(anabranch, VERDICT).asNondeterministic()
