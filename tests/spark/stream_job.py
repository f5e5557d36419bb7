"""A streaming query in a process of its own, so that it can be killed.

Arguments: input folder, output folder, checkpoint, files per micro-batch.
"""

import sys

from anabranch.spark.session import local_session


def first(k: int) -> bool:
    return k % 3 != 0


def second(k: int) -> bool:
    return k % 5 != 0


def third(k: int) -> bool:
    return k % 2 == 1


PREDICATES = (first, second, third)
SCHEMA = "id long, k long"


def main(source: str, sink: str, checkpoint: str) -> None:
    import anabranch as ab

    spark = local_session("anabranch stream job")
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
    print(run.report().rows_in, run.report().scope, flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
