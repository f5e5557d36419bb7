"""A join of streams in a process of its own, so that it can be killed.

Arguments: input folder, output folder, checkpoint.
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame

import anabranch as ab
from anabranch.data.files import read_streams
from anabranch.spark.joins.run import PROVIDER, ROCKSDB
from anabranch.spark.session import local_session

NAMES = ("a", "b", "c")
WINDOW = "15 seconds"


def declared(streams: dict[str, DataFrame]) -> ab.Join:
    """A chain of three streams, whose rows are two seconds out of order."""
    join = ab.join(**streams).on("a.k = b.k", "b.v = c.v")
    return join.within(WINDOW, time="ts", delay="2 seconds").select("a.w", "b.v", "c.w AS cw")


def main(source: str, sink: str, checkpoint: str) -> None:
    settings = {PROVIDER: ROCKSDB}
    spark = local_session("anabranch join", 2, **settings)
    run = declared(read_streams(spark, Path(source), NAMES)).run(policy="agreedy")
    writer = run.df.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start(sink).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
