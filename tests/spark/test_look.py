"""What a job is expected to take, and a glance at its predicates."""

import numpy as np
import pytest
from pyspark.sql import functions as F

from anabranch.model import Operator, Query
from anabranch.spark import look, stopwatch
from anabranch.spark.sampling import tells_its_rows


def test_files_that_tell_how_many_rows_they_have_are_asked(spark, tmp_path):
    numbers = spark.range(1000).selectExpr("id", "string(id) AS word")
    numbers.write.parquet(str(tmp_path / "rows"))
    stored = spark.read.parquet(str(tmp_path / "rows"))
    assert tells_its_rows(stored)
    assert tells_its_rows(stored.select("word"))
    assert not tells_its_rows(stored.filter("id > 3"))  # would be read
    assert not tells_its_rows(numbers)
    numbers.write.csv(str(tmp_path / "text"))
    assert not tells_its_rows(spark.read.csv(str(tmp_path / "text")))


def test_how_long_a_job_takes_is_told_by_all_rows_not_by_most():
    rows = np.arange(1_000)
    dear = np.where(rows % 10 < 6, 0.0, 1e-3)  # nothing to do in most rows
    seen = stopwatch.Timed(np.ones((1_000, 2), bool), np.column_stack([dear, 0 * dear + 1e-6]))
    query = Query((Operator("dear"), Operator("light")))
    assert look.cost_as_written(query, seen) == pytest.approx(0.4e-3 + 1e-6)
    assert stopwatch.enough(seen, 8_000, 0.8) == pytest.approx(0.1 / (8_000 * 0.401e-3))
    assert stopwatch.enough(seen, 8_000, 1e-6) == 128 / 8_000  # nothing is learned of fewer


def test_what_a_guard_takes_counts_once():
    query = Query((Operator("guard"), Operator("own", after=("guard",))))
    passed = np.column_stack([np.arange(100) % 10 == 0, np.ones(100, bool)])
    seconds = np.column_stack([np.full(100, 2e-6), np.where(passed[:, 0], 7e-6, 2e-6)])
    told = look.cost_as_written(query, stopwatch.Timed(passed, seconds))
    assert told == pytest.approx(2e-6 + 0.1 * 5e-6)


def test_a_glance_at_what_is_dear_is_short(spark):
    slow = "java_method('java.lang.Thread', 'sleep', 2L) IS NULL"
    some = stopwatch.lotted(spark.range(1_000).repartition(1), 0).persist()
    try:
        seen = stopwatch.glance(some, [F.expr(slow)], some.count(), seconds=0.5)
    finally:
        some.unpersist()
    assert 64 < len(seen.passed) < 256
