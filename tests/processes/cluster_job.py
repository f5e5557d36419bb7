"""A query on real executor processes that cannot import the package by themselves.

First without the package, which must fail, then with it shipped.
"""

from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import anabranch as ab


def main() -> None:
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "OFF")
        .config("spark.task.maxFailures", "1")
        .getOrCreate()
    )
    df = spark.range(0, 40_000, 1, 4).withColumn("k", F.col("id") % 100)
    table = spark.createDataFrame([(k, str(k)) for k in range(0, 100, 3)], "k long, name string")
    query = ab.query(df).where(lambda k: k % 2 == 0, "k").where(lambda k: k < 10, "k", name="low")
    run = query.join(table, on="k").run()
    try:
        run.df.count()
    except PythonException as error:
        print("without it:", "No module named 'anabranch'" in str(error))
    ab.ship(spark)
    run = query.join(table, on="k").run()
    expected = df.filter("k % 2 = 0 and k < 10").join(table, "k").select("id", "name")
    assert sorted(run.df.select("id", "name").collect()) == sorted(expected.collect())
    report = run.report()
    assert report.rows_in == 40_000
    assert len(report.workers) >= 2
    print("same rows", report.rows_out, run.plan())
    spark.stop()


if __name__ == "__main__":
    main()
