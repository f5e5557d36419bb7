"""Tables as the files of a stream: one per micro-batch, taken in the order of their numbers."""

import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from pyspark.sql import DataFrame, SparkSession

# File i is as if written i seconds after this: streams take older files first.
WRITTEN = 1_700_000_000


def write_stream(folder: Path, tables: Iterable[pd.DataFrame]) -> None:
    """One file per table.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     write_stream(Path(root) / "a", [pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [2]})])
    ...     files = sorted((Path(root) / "a").iterdir())
    ...     [path.name for path in files], files[0].stat().st_mtime < files[1].stat().st_mtime
    (['00000.parquet', '00001.parquet'], True)
    """
    folder.mkdir(parents=True)
    for number, table in enumerate(tables):
        path = folder / f"{number:05d}.parquet"
        table.to_parquet(path, index=False)
        os.utime(path, (WRITTEN + number, WRITTEN + number))


def read_streams(spark: SparkSession, folder: Path, names: Iterable[str]) -> dict[str, DataFrame]:
    """Streams by name, each of the files of a folder of that name: one per micro-batch."""
    paths = {name: str(folder / name) for name in names}
    schemas = {name: spark.read.parquet(path).schema for name, path in paths.items()}
    reader = spark.readStream.option("maxFilesPerTrigger", 1)
    return {name: reader.schema(schemas[name]).parquet(path) for name, path in paths.items()}
