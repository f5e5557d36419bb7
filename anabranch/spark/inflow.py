"""The in-flow host: one fused operator inside a DataFrame, batch or streaming.

One Iterator `arrow_udf` whose verdicts carry the statistics, a `Filter` that leaves kept rows and
statistics, `observe` for these, and a `Filter` for the rows that they came with. Only the columns
of predicates travel to Python, and Spark prunes the rest as always. A struct of verdict and
statistics, observed row by row, would cost Spark noticeably more.
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
from pyspark.sql.types import BinaryType

from anabranch.spark.collector import Postman
from anabranch.spark.session import is_connect
from anabranch.spark.worker import LAST_KEPT, Fused

# A column name that no user has: it is dropped before the user sees the schema.
FIELD = "__anabranch_verdict"


def attach(df: DataFrame, fused: Fused, columns: Sequence[Column], postman: Postman) -> DataFrame:
    """`df` with only the rows that pass, and the ledgers observed under the run's name."""
    # An arrow_udf needs at least one column to know how many rows there are.
    inputs = list(columns) or [F.lit(True)]
    session = df.sparkSession
    with own_interpreter(session):
        verdict = _udf(fused)(*inputs)
    told = df.withColumn(FIELD, verdict).filter(F.col(FIELD).isNotNull())
    letter = F.when(F.length(FIELD) > 0, F.expr(f"substring({FIELD}, 2)"))  # without its mark
    judged = postman.observed(told, fused.run, F.collect_list(letter).alias("stats"))
    return judged.filter(F.col(FIELD) < F.lit(LAST_KEPT)).drop(FIELD)


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
    named = os.environ.get("PYSPARK_PYTHON") or context._conf.get("spark.pyspark.python")
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
    udf: Any = arrow_udf
    return udf(anabranch, BinaryType()).asNondeterministic()
