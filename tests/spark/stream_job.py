"""A streaming query in a process of its own, so that it can be killed.

Arguments: input folder, output folder, checkpoint.
"""

import sys

import anabranch as ab
from anabranch.spark.session import local_session


def first(k: int) -> bool:
    return k % 3 != 0


def second(k: int) -> bool:
    return k % 5 != 0


def third(k: int) -> bool:
    return k % 2 == 1


PREDICATES = (first, second, third)
SCHEMA = "id long, k long"


def life(spark, source: str, sink: str, checkpoint: str):
    """The report of what was left to do."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(source)
    query = ab.query(stream)
    for predicate in PREDICATES:
        query = query.where(predicate, "k")
    run = query.run()
    handle = (
        run.df.writeStream.format("parquet")
        .option("path", sink)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    handle.awaitTermination()
    return run.report()


def main(source: str, sink: str, checkpoint: str) -> None:
    spark = local_session("anabranch stream job")
    life(spark, source, sink, checkpoint)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
