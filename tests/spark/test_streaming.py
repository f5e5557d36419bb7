"""Streams: the same rows, one learner over all micro-batches, restart without loss."""

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench.killing import Victim
from tests.spark import stream_job
from tests.spark.sinks import drain


@pytest.fixture
def folder(spark, tmp_path):
    """Ten files of 1,000 rows."""
    return write_files(spark, tmp_path / "in", files=10, rows=1000)


def write_files(spark, target: Path, files: int, rows: int) -> Path:
    df = spark.range(files * rows).withColumn("k", F.pmod(F.hash("id"), F.lit(1000)))
    for i in range(files):
        part = df.filter((F.col("id") >= i * rows) & (F.col("id") < (i + 1) * rows)).coalesce(1)
        part.write.mode("append").parquet(str(target))
    return target


def stream_of(spark, folder):
    reader = spark.readStream.schema(stream_job.SCHEMA).option("maxFilesPerTrigger", "1")
    return reader.parquet(str(folder))


def ids(df):
    return sorted(row.id for row in df.select("id").collect())


def test_micro_batches_share_one_learner_and_one_report(spark, folder, tmp_path):
    owners = spark.createDataFrame([(100, "a"), (100, "b"), (950, "c")], "k long, owner string")
    query = ab.query(stream_of(spark, folder)).where(lambda k: k % 2 == 1, "k", name="odd")
    query = query.where(lambda k: k % 50 != 0, "k", name="common").lookup(owners, "k", how="anti")
    run = query.run()
    drain(run.df, tmp_path)
    looked_up = spark.read.parquet(str(folder)).join(owners, "k", "left_anti")
    expected = looked_up.filter("k % 2 = 1 and k % 50 <> 0")
    assert ids(spark.read.parquet(str(tmp_path / "out"))) == ids(expected)
    report = run.report()
    assert report.rows_in == looked_up.count()
    assert report.rows_out == expected.count()
    assert report.scope == "10 micro-batches"
    # A learner that began anew with every micro-batch would learn its first order ten times.
    # On a busy machine Spark starts a further worker now and then.
    lasting = [worker["rows"] for worker in report.workers.values() if worker["rows"] > 1000]
    assert sum(lasting) >= 7_000
    first = [event for event in report.events if event.row <= 300]
    assert len(first) <= len(report.workers)


def test_a_join_on_a_stream(spark, folder, tmp_path):
    owners = spark.createDataFrame([(1, "a"), (1, "b"), (7, "c")], "k long, owner string")
    run = ab.query(stream_of(spark, folder)).join(owners, "k").where(lambda i: i % 2, "id").run()
    drain(run.df, tmp_path)
    expected = spark.read.parquet(str(folder)).filter("id % 2 = 1").join(owners, "k")
    got = spark.read.parquet(str(tmp_path / "out")).select("k", "id", "owner")
    assert sorted(got.collect()) == sorted(expected.collect())


def test_foreach_batch_sees_the_filtered_rows(spark, folder, tmp_path):
    seen = []
    run = ab.query(stream_of(spark, folder)).where(lambda k: k % 7 == 0, "k").run()
    handle = (
        run.df.writeStream.foreachBatch(lambda df, _: seen.extend(ids(df)))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    handle.awaitTermination()
    expected = spark.read.parquet(str(folder)).filter("k % 7 = 0")
    assert sorted(seen) == ids(expected)
    assert run.report().rows_in == 10_000


def test_two_actions_in_foreach_batch(spark, folder, tmp_path):
    """Spark reports the last execution of a micro-batch only, which the guide says."""
    run = ab.query(stream_of(spark, folder)).where(lambda k: k % 7 == 0, "k").run()
    seen = []

    def write(df, _):
        seen.append(df.count())
        seen.append(df.count())

    handle = run.df.writeStream.foreachBatch(write).trigger(availableNow=True)
    handle = handle.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    handle.awaitTermination()
    assert sum(seen) == 2 * spark.read.parquet(str(folder)).filter("k % 7 = 0").count()
    assert run.report().rows_in == 10_000


def test_an_exception_names_the_predicate_and_a_fixed_query_goes_on(spark, folder, tmp_path):
    def fussy(k):
        return 1 // (k - 777) is not None

    stream = stream_of(spark, folder)
    broken = ab.query(stream).where(lambda k: k % 2 == 1, "k", name="odd").where(fussy, "k").run()
    with pytest.raises(
        StreamingQueryException, match=r'raised in predicate "fussy" \(columns: k\)'
    ):
        drain(broken.df, tmp_path)
    mended = ab.query(stream).where(lambda k: k % 2 == 1, "k", name="odd").run()
    drain(mended.df, tmp_path)
    got = spark.read.parquet(str(tmp_path / "out"))
    assert ids(got) == ids(spark.read.parquet(str(folder)).filter("k % 2 = 1"))


def test_an_exception_in_batch_names_the_predicate(spark):
    from pyspark.errors import PythonException

    run = ab.query(spark.range(10)).where(lambda i: 1 // (i - 5) > -9, "id", name="boom").run()
    with pytest.raises(PythonException) as error:
        run.df.collect()
    for part in ("ZeroDivisionError", 'raised in predicate "boom" (columns: id)', "lambda"):
        assert part in str(error.value)


def test_an_iterator_udf_that_reads_ahead_is_told_so(spark):
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.errors import PythonException
    from pyspark.sql.pandas.functions import pandas_udf

    @pandas_udf("boolean")
    def greedy(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        yield from [batch > 0 for batch in batches]

    with pytest.raises(PythonException, match="one batch at a time"):
        ab.query(spark.range(2000)).where(greedy, "id").run().df.collect()


def test_an_iterator_udf_that_fails_at_its_end_is_named(spark):
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.errors import PythonException
    from pyspark.sql.pandas.functions import pandas_udf

    @pandas_udf("boolean")
    def late(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for batch in batches:
            yield batch > 0
        raise OSError("cannot close")

    with pytest.raises(PythonException) as error:
        ab.query(spark.range(2000)).where(late, "id").run().df.collect()
    assert "cannot close" in str(error.value)
    assert 'raised in predicate "late" (columns: id)' in str(error.value)


def test_an_iterator_udf_is_set_up_once_per_task(spark):
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    begun = spark.sparkContext.accumulator(0)
    ended = spark.sparkContext.accumulator(0)

    @pandas_udf("boolean")
    def model(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        begun.add(1)
        for batch in batches:
            yield batch % 2 == 0
        ended.add(1)

    df = spark.range(0, 6000, 1, 2)
    assert ab.query(df).where(model, "id").run().df.count() == 3000
    assert (begun.value, ended.value) == (2, 2)


def test_killed_and_restarted_gives_exactly_the_rows_of_plain_spark(spark, tmp_path):
    files = 9
    source = write_files(spark, tmp_path / "in", files=files, rows=200)
    victim = Victim(stream_job.__file__, source, tmp_path)
    victim.kill(at=2)
    done = victim.committed()
    assert 2 <= done < files
    # The next life is in this process, which is quicker than a new one.
    report = stream_job.life(spark, *map(str, (source, victim.sink, victim.checkpoint)))
    expected = spark.read.parquet(str(source)).filter("k % 3 <> 0 and k % 5 <> 0 and k % 2 = 1")
    assert victim.is_whole(expected)
    assert report.rows_in >= (files - done) * 200
    assert "micro-batches" in report.scope
