"""A session whose streams keep their state in RocksDB, and streams that show how far they are."""

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from anabranch.spark.session import local_session

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(name: str) -> SparkSession:
    """Local, on two cores; joins of streams need RocksDB."""
    return local_session(name, **{PROVIDER: ROCKSDB})


def to_end(df: DataFrame, title: str) -> DataFrame:
    """All results, as a table in memory."""
    name = title.replace(" ", "_")
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with tempfile.TemporaryDirectory() as checkpoint, Progress(*columns, transient=True) as shown:
        task = shown.add_task(f"{title}: starting")
        writer = df.writeStream.format("memory").queryName(name)
        writer = writer.option("checkpointLocation", str(Path(checkpoint) / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        while not query.awaitTermination(1):
            done = query.lastProgress["batchId"] + 1 if query.lastProgress else 0
            shown.update(task, description=f"{title}: {done} micro-batches done")
    return df.sparkSession.table(name)
