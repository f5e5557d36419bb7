"""A stream in rounds in a process of its own, so that it can be killed.

Arguments: input folder, output folder, checkpoint.
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import anabranch as ab
from anabranch.data.shifting import stream_of
from anabranch.spark.session import local_session


def mixed(df: DataFrame) -> ab.Query:
    """Two native predicates, which no source can skip files by, and two of Python."""
    query = ab.query(df).where("a % 2 = 1", name="a").where("b % 2 = 1", name="b")
    query = query.where(lambda c: c % 2 == 1, "c", name="c")
    return query.where(lambda d: d % 2 == 1, "d", name="d")


def kept(df: DataFrame) -> DataFrame:
    """The same by plain Spark."""
    return df.filter("a % 2 = 1 and b % 2 = 1 and c % 2 = 1 and d % 2 = 1")


def life(spark: SparkSession, source: str, sink: str, checkpoint: str) -> None:
    """All rounds that are left to do."""

    def write(df: DataFrame, number: int) -> None:
        df.write.mode("overwrite").parquet(f"{sink}/round={number}")

    query = mixed(stream_of(spark, Path(source)))
    handle = query.stream(write, checkpoint, trigger="available now")
    handle.await_termination()


def main(source: str, sink: str, checkpoint: str) -> None:
    spark = local_session("anabranch rounds")
    life(spark, source, sink, checkpoint)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
