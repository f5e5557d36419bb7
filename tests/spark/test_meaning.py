"""The result equals plain Spark's: rows, order within a partition, schema."""

from functools import reduce

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.policies import POLICIES
from tests.spark.samples import predicates, sample

PREDICATES = sorted(predicates())


@pytest.fixture(scope="module")
def everything(spark):
    df = sample(spark).persist()
    yield df
    df.unpersist()


def plain(df, labels):
    made = predicates()
    return reduce(lambda d, label: d.filter(made[label][0](*made[label][1])), labels, df)


def ours(df, labels, **arguments):
    made = predicates()
    query = ab.query(df)
    for label in labels:
        udf, columns = made[label]
        query = query.where(udf, *columns, name=label)
    return query.run(**arguments)


def same(run, expected):
    assert run.df.schema == expected.schema
    placed = [d.withColumn("__p", F.spark_partition_id()).collect() for d in (run.df, expected)]
    assert [str(row) for row in placed[0]] == [str(row) for row in placed[1]]
    return placed[0]


@pytest.mark.parametrize("label", PREDICATES)
def test_each_kind_of_predicate_over_each_type(everything, label):
    rows = same(ours(everything, [label]), plain(everything, [label]))
    assert 0 < len(rows) < everything.count()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    labels=st.lists(st.sampled_from(PREDICATES), min_size=2, max_size=6, unique=True),
    policy=st.sampled_from([policy.name for policy in POLICIES]),
)
def test_random_conjunctions_under_any_policy(everything, labels, policy):
    run = ours(everything, labels, policy=policy)
    rows = same(run, plain(everything, labels))
    report = run.report()
    assert report.rows_in == everything.count()
    assert report.rows_out == len(rows)
    assert max(report.evaluations.values()) <= report.rows_in


def test_no_predicate_is_the_input_itself(everything):
    same(ab.query(everything).run(), everything)


def test_a_predicate_that_drops_everything(everything):
    run = ab.query(everything).where(lambda _: False, "id").where(lambda _: True, "s").run()
    assert run.df.collect() == []
    assert run.report().rows_out == 0


def test_a_predicate_without_columns(everything):
    run = ab.query(everything).where(lambda: True).where(lambda i: i % 2 == 0, "id").run()
    assert run.df.count() == everything.filter("id % 2 = 0").count()


def test_empty_partitions_and_an_empty_input(everything):
    sparse = everything.repartition(8).filter("id < 4")
    run = ours(sparse, ["int", "string"])
    same(run, plain(sparse, ["int", "string"]))
    nothing = everything.filter("id < 0")
    run = ours(nothing, ["int", "string"])
    same(run, plain(nothing, ["int", "string"]))
    assert run.report().rows_in == 0


def test_native_predicates_run_before_and_behind(everything):
    run = (
        ab.query(everything)
        .where("i > 2", name="sql")
        .where(F.col("x") < 200)
        .where(lambda s: "1" in s, "s", name="slow", after="sql")
        .where("map['k'] <> 1", after="slow")
        .run()
    )
    same(run, everything.filter("i > 2 and x < 200 and contains(s, '1') and map['k'] <> 1"))


def test_a_guard_hides_the_errors_of_what_is_behind_it(everything):
    run = (
        ab.query(everything)
        .where(lambda i: 100 // i > 1, "i", name="divide", after=["known", "not_zero"])
        .where(lambda i: i is not None, "i", name="known")
        .where(lambda i: i != 0, "i", name="not_zero", after="known")
        .run(policy=ab.AGreedy(p=0.5))
    )
    same(run, everything.filter("i is not null and i <> 0"))


def test_columns_by_dataframe_and_duplicate_names_after_a_join(everything):
    left = everything.select("id", "i")
    right = everything.select("id", F.lower("s").alias("i"))
    both = left.join(right, left["id"] == right["id"])
    assert both.columns == ["id", "i", "id", "i"]
    run = (
        ab.query(both)
        .where(lambda i: i is not None and i > 4, left["i"], name="number")
        .where(lambda s: s is not None and "2" in s, right["i"], name="text")
        .run()
    )
    expected = both.filter((left["i"] > 4) & right["i"].contains("2"))
    assert run.df.schema == expected.schema
    assert sorted(map(str, run.df.collect())) == sorted(map(str, expected.collect()))
    assert run.df.select(left["i"]).count() == expected.count()


def test_the_users_schema_never_shows_the_statistics(everything):
    run = ours(everything, ["int", "string"])
    assert run.df.columns == everything.columns


def test_only_the_predicates_columns_travel(everything):
    run = ours(everything.select("*"), ["int", "bool"], policy="agreedy")
    plan = run.df.select("id")._jdf.queryExecution().executedPlan().toString()
    [line] = [line for line in plan.splitlines() if "ArrowEvalPython" in line]
    assert "anabranch(i#" in line
    assert line.count("#") == 4  # i, b, the function and its result


def test_a_nondeterministic_udf_stays_behind_its_guard(everything):
    import random

    def toss(i):
        assert i % 2, "an even row got past the guard"
        return random.random() < 2

    coin = F.udf(toss, "boolean").asNondeterministic()
    query = ab.query(everything).where(coin, "id", after="odd", name="coin")
    run = query.where(lambda i: i % 2, "id", name="odd").run(policy=ab.AGreedy(p=0.5))
    assert run.df.count() == everything.filter("id % 2 = 1").count()


def test_an_expression_that_a_guard_should_hide_is_refused(everything):
    query = ab.query(everything).where(lambda i: i != 0, "i", name="ok")
    with pytest.raises(ab.InputError, match=r'computes for every row.*guard "ok"'):
        query.where(lambda x: x > 2, F.expr("100 / i"), name="f", after="ok").run()
    query.where(lambda c: c != "c1", F.col("nested.deep.c"), name="f", after="ok").run()
    free = query.where(lambda x: x is not None, F.col("x") * 2, name="f").run()
    assert free.df.count() == everything.filter("i <> 0 and x is not null").count()


def test_a_pickled_udf_may_not_return_numpys_booleans(everything):
    import numpy as np
    from pyspark.errors import PythonException

    finite = F.udf(lambda x: np.isfinite(x or 0.0), "boolean", useArrow=False)
    with pytest.raises(PythonException, match=r"return bool\(...\)"):
        ab.query(everything).where(finite, "x").run().df.count()
    arrow = F.udf(lambda x: np.isfinite(x or 0.0), "boolean", useArrow=True)
    assert ab.query(everything).where(arrow, "x").run().df.count() > 0
