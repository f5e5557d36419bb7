"""What runs a task."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, ClassVar, Literal, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from anabranch.bench.peers.task import Predicate, Result, Task

THREADS = 2


class Peer(ABC):
    """A system, and how a user would write the task for it; one object serves one task."""

    name: ClassVar[str]
    module: ClassVar[str] = "pyspark"  # what it needs

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    @classmethod
    def installed(cls) -> bool:
        return find_spec(cls.module) is not None

    def cannot(self, task: Task) -> str:
        """Why it has no part in a task; nothing if it has."""
        del task
        return ""

    @abstractmethod
    def run(self, task: Task) -> Result:
        """Do all of it, from the files to the result."""


PEERS: list[type[Peer]] = []


def register(peer: type[Peer]) -> type[Peer]:
    """Make a peer known to `anabranch bench peers`."""
    PEERS.append(peer)
    return peer


def counted(df: DataFrame) -> Result:
    """What passes, by Spark."""
    row = df.agg(F.count(F.lit(1)), F.bit_xor("id")).collect()[0]
    return int(row[0]), int(row[1] or 0)


def looked_up(spark: SparkSession, df: DataFrame, task: Task) -> DataFrame:
    """Lookups as Spark's own broadcast joins, the most selective first."""
    for lookup in task.lookups:
        table = spark.read.parquet(str(lookup.path))
        df = df.join(F.broadcast(table), lookup.column, "leftsemi")
    return df


def unwritten(task: Task, dialect: Literal["polars", "daft"]) -> str:
    """Why a peer cannot be told all native predicates; nothing if it can."""
    told = all(getattr(p, dialect) is not None for p in task.predicates if p.native)
    return "" if told else "has no function for one of these expressions"


def arrow_of(predicate: Predicate) -> Callable[..., pa.Array]:
    """A predicate over Arrow arrays; a function of a row is called for each."""
    if predicate.batch is not None:
        return predicate.batch
    row = predicate.row
    assert row is not None

    def judge(*columns: pa.Array) -> pa.Array:
        values = zip(*[column.to_pylist() for column in columns], strict=True)
        return pa.array([row(*each) for each in values], pa.bool_())

    return judge


def arrow_udf_of(predicate: Predicate) -> Any:
    """A predicate over arrays as Spark takes it."""
    batch, make = predicate.batch, cast(Any, arrow_udf)
    assert batch is not None
    if len(predicate.columns) == 1:

        def judge(column: pa.Array) -> pa.Array:
            return batch(column)

        return make(judge, "boolean")

    def judge_two(first: pa.Array, second: pa.Array) -> pa.Array:
        return batch(first, second)

    return make(judge_two, "boolean")
