"""Runs over Spark Connect in a process of their own: the mode holds for a whole process.

Prints what came out as JSON. Arguments: a folder to work in.
"""

import json
import os
import sys
import time

os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.spark.native import looked_at
from anabranch.spark.sampling import megabytes
from anabranch.spark.session import cores

ROWS = 20_000
LOOK = ab.Sample(rows=2_000, seconds=30.0, least_megabytes=0, share=None)
PLACES = {
    "compared": "id > 5 AND kind IN ('a', 'b')",
    "casted": "id = '7'",
    "computed": "id * 2 > 5",
    "called": "length(kind) = 1",
    "matched": "kind RLIKE 'a|b'",
    "two": "id > other",
    "random": "rand() < 0.5",
    "subquery": "id IN (SELECT id FROM few)",
}


def first(k: int) -> bool:
    return k % 3 != 0


def second(k: int) -> bool:
    return k % 5 != 0


def ids(df):
    return sorted(row.id for row in df.select("id").collect())


def python_run(df):
    run = ab.query(df).where(first, "id").where(second, F.col("id")).run()
    same = ids(run.df) == ids(df.filter("id % 3 <> 0 and id % 5 <> 0"))
    once = run.report()
    run.df.count()
    return {
        "same": same,
        "rows": [once.rows_in, run.report().rows_in],
        "evaluations": sum(once.evaluations.values()),
        "scope": run.report().scope,
    }


def table_run(spark, df):
    few = spark.range(0, ROWS, 7).withColumn("owner", F.col("id") + 1)
    query = ab.query(df).lookup(few.select("id"), on="id", name="few").where(first, "id")
    joined = ab.query(df).join(few, on="id").where(first, "id").run()
    expected = df.join(few, "id").filter("id % 3 <> 0")
    return {
        "lookup": ids(query.run().df) == ids(expected),
        "join": sorted(map(tuple, joined.df.select("id", "owner").collect()))
        == sorted(map(tuple, expected.select("id", "owner").collect())),
    }


def native_run(df):
    query = ab.query(df)
    for name in ("a", "b", "c"):
        query = query.where(f"kind <> '{name}' OR pmod(hash(id, '{name}'), 9) = 0", name=name)
    query = query.where("id >= 10", name="bounded")
    run = query.run(sample=LOOK)
    plain = df.filter("id >= 10")
    for name in ("a", "b", "c"):
        plain = plain.filter(f"kind <> '{name}' OR pmod(hash(id, '{name}'), 9) = 0")
    return {
        "same": ids(run.df) == ids(plain),
        "figures": sorted(run.plan().figures),
        "explained": query.explain(),
        "codegen": run.df._explain_string(mode="formatted").count("codegen id"),
        "pushed": "GreaterThanOrEqual(id,10)" in run.df._explain_string(mode="formatted"),
    }


def stream_run(spark, folder):
    stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
    query = ab.query(stream.parquet(f"{folder}/in")).where(first, "id").where(second, "id")
    run = query.run()
    handle = (
        run.df.writeStream.format("parquet")
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    handle.awaitTermination()
    deadline = time.monotonic() + 30
    while run.report().rows_in < ROWS and time.monotonic() < deadline:
        time.sleep(0.1)
    plain = spark.read.parquet(f"{folder}/in").filter("id % 3 <> 0 and id % 5 <> 0")
    return {
        "same": ids(spark.read.parquet(f"{folder}/out")) == ids(plain),
        "rows": run.report().rows_in,
        "scope": run.report().scope,
    }


def refused(call):
    try:
        call()
    except ab.InputError as error:
        return str(error)
    return ""


def outcome(spark, folder):
    rows = spark.range(0, ROWS, 1, 4).withColumn("other", F.col("id") % 7)
    rows = rows.withColumn(
        "kind", F.element_at(F.lit(list("abc")), (F.col("id") % 3 + 1).cast("int"))
    )
    rows.write.parquet(f"{folder}/in")
    df = spark.read.parquet(f"{folder}/in")
    spark.range(3).createOrReplaceTempView("few")
    stream = ab.query(spark.readStream.schema("id long").parquet(f"{folder}/in")).where(first, "id")
    return {
        "python": python_run(df),
        "table": table_run(spark, df),
        "native": native_run(df),
        "stream": stream_run(spark, folder),
        "rounds": refused(lambda: stream.stream(print, checkpoint=f"{folder}/rounds")),
        "unknown": refused(lambda: ab.query(df).where(first, "idd")),
        "unresolved": refused(lambda: ab.query(df).where("idd > 5")),
        "places": {name: looked_at(df, F.expr(text)) for name, text in PLACES.items()},
        "udf": looked_at(df, F.udf(first, "boolean")("id")),
        "cores": cores(spark),
        "megabytes": megabytes(df),
    }


def main(folder: str) -> None:
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    try:
        print(json.dumps(outcome(spark, folder)), flush=True)
    finally:
        spark.stop()  # the server lives in this process


if __name__ == "__main__":
    main(*sys.argv[1:])
