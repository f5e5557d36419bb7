"""Rows in files, one file per micro-batch, of which other predicates drop most as time goes by."""

import os
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

COLUMNS = ("a", "b", "c", "d")
SCHEMA = "id long, a int, b int, c int, d int"
# Of each epoch, the share of rows with an even number in each column; the last is as the first.
EPOCHS = ((0.5, 0.05, 0.6, 0.05), (0.05, 0.5, 0.05, 0.6), (0.5, 0.05, 0.6, 0.05))
STEPS = 10_000


def shifting(spark: SparkSession, rows: int, epochs: Sequence[Sequence[float]]) -> DataFrame:
    """Rows of random numbers, in as many epochs of equal length as there are rates.

    Whether a number is even no range of numbers tells: a plan can follow, but not foresee.
    """
    epoch = (F.col("id") * len(epochs) / rows).cast("int")
    columns = []
    for i, name in enumerate(COLUMNS):
        rates = F.lit([round(STEPS * rate[i]) for rate in epochs])
        draw = F.pmod(F.xxhash64("id", F.lit(name)), F.lit(STEPS))
        half = F.pmod(F.xxhash64("id", F.lit(f"half of {name}")), F.lit(1 << 20))
        odd = (draw >= rates[epoch]).cast("int")
        columns.append((2 * half + odd).cast("int").alias(name))
    return spark.range(rows).select("id", *columns)


def write_files(df: DataFrame, folder: Path, files: int) -> None:
    """By `id`, so that a stream of one file per micro-batch takes them in this order."""
    ordered = df.repartitionByRange(files, "id").sortWithinPartitions("id")
    ordered.write.parquet(str(folder))
    for second, path in enumerate(sorted(folder.glob("*.parquet"))):
        # A stream takes the older file first, and those of one job are of one time.
        os.utime(path, (1_700_000_000 + second, 1_700_000_000 + second))


def stream_of(spark: SparkSession, folder: Path, schema: str | StructType = SCHEMA) -> DataFrame:
    """The files of a folder, one per micro-batch."""
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
    return reader.parquet(str(folder))
