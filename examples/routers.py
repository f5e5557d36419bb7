"""The traffic common to four routers over the last ten minutes, minute by minute.

python examples/routers.py
"""

import tempfile
from pathlib import Path

from following import session, to_end
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.data.files import read_streams, write_stream
from anabranch.data.routers import ROUTERS, Routers


def common_traffic(streams: dict[str, DataFrame]) -> tuple[DataFrame, ab.JoinRun]:
    """A sliding window of Spark's follows: the result of a join has an event time."""
    run = (
        ab.join(**streams)
        .on("r1.packet = r2.packet", "r2.packet = r3.packet", "r3.packet = r4.packet")
        .within("10 minutes", time="ts", delay="10 seconds")
        .select("r1.size", "event_time")
        .run(policy="agreedy")
    )
    minutes = F.window("event_time", "10 minutes", "1 minute")
    return run.df.groupBy(minutes).agg(F.sum("size").alias("bytes")), run


def main(minutes: int = 15) -> None:
    spark = session("routers")
    with tempfile.TemporaryDirectory() as root:
        for name in ROUTERS:
            write_stream(Path(root) / name, Routers().minutes(name, minutes))
        traffic, run = common_traffic(read_streams(spark, Path(root), ROUTERS))
        to_end(traffic, "routers").orderBy("window").show(20, truncate=False)
        print(run.report())
    spark.stop()


if __name__ == "__main__":
    main()
