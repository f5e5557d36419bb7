"""Lookups and joins behave as Spark's own joins."""

import datetime as dt
from decimal import Decimal

import pytest
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.spark import tables


@pytest.fixture(scope="module")
def orders(spark):
    rows = [
        (i, None if i % 7 == 0 else i % 10, None if i % 11 == 0 else f"r{i % 4}", float(i % 5))
        for i in range(2000)
    ]
    return spark.createDataFrame(rows, "id long, k int, region string, x double").coalesce(2)


@pytest.fixture(scope="module")
def owners(spark):
    rows = [(1, "ann"), (1, "abe"), (3, "cy"), (None, "nobody"), (12, "far")]
    return spark.createDataFrame(rows, "k int, owner string")


def same(run, expected):
    assert run.df.schema == expected.schema
    assert run.df.collect() == expected.collect()


def is_large(x):
    return x > 1


HOWS = {"semi": "left_semi", "anti": "left_anti"}


# The first looks up inside Spark, the second among the functions.
POLICIES = ("auto", "agreedy")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("policy", POLICIES)
def test_lookup_is_a_semi_or_anti_join(orders, owners, how, policy):
    query = ab.query(orders).lookup(owners, on="k", how=how, name="own")
    run = query.where(lambda x: x > 1, "x", name="f").run(policy=policy)
    asked = ("own", "f") if policy == "agreedy" else ("f",)
    assert run.plan().query.names == asked
    same(
        run,
        orders.filter("x > 1")
        .join(F.broadcast(owners), "k", HOWS[how])
        .select("id", "k", "region", "x"),
    )


@pytest.mark.parametrize("how", ["inner", "left"])
def test_join_has_duplicates_nulls_and_columns_as_sparks_own(orders, owners, how):
    run = ab.query(orders).join(owners, on="k", how=how).where(lambda x: x > 1, "x").run()
    same(run, orders.filter("x > 1").join(F.broadcast(owners), "k", how))


def test_a_left_join_is_no_operator_to_order(orders, owners):
    run = (
        ab.query(orders)
        .join(owners, on="k", how="left")
        .where(lambda x: x > 1, "x", name="f")
        .run()
    )
    run.df.count()
    assert list(run.report().evaluations) == ["f"]


def test_compound_keys_and_several_tables(spark, orders, owners):
    spots = spark.createDataFrame(
        [(1, "r1", "A"), (1, "r1", "B"), (3, "r2", "C"), (3, None, "D")],
        "k int, region string, spot string",
    )
    regions = spark.createDataFrame([("r1",), ("r2",), (None,)], "region string")
    run = (
        ab.query(orders)
        .where(lambda x: x != 2.0, "x")
        .lookup(regions, on="region")
        .join(spots, on=["k", "region"])
        .join(owners, on="k", how="left")
        .run()
    )
    expected = (
        orders.filter("x <> 2.0")
        .join(F.broadcast(regions), "region", "left_semi")
        .select(*orders.columns)
        .join(F.broadcast(spots), ["k", "region"])
        .join(F.broadcast(owners), "k", "left")
    )
    same(run, expected)
    assert run.report().rows_out < run.report().rows_in


def test_probing_comes_first_where_it_pays(orders, owners):
    slow = lambda x: sum(range(300)) > x  # noqa: E731
    run = ab.query(orders).where(slow, "x", name="slow").join(owners, on="k", name="own").run()
    run.df.count()
    assert run.plan().routes[0].order == ("own", "slow")


@pytest.mark.parametrize(
    ("left", "right", "values"),
    [
        ("int", "bigint", [1, 2, None]),
        ("bigint", "double", [1, 2, None]),
        ("double", "double", [0.0, -0.0, float("nan"), None]),
        ("decimal(10,2)", "decimal(12,4)", [Decimal("1.50"), Decimal("2"), None]),
        ("int", "decimal(12,4)", [1, 2, None]),
        ("date", "timestamp", [dt.date(2020, 1, 1), dt.date(2020, 6, 1), None]),
        ("string", "string", ["a", "", None]),
        ("binary", "binary", [b"a", b"", None]),
        ("boolean", "boolean", [True, None]),
        ("timestamp_ntz", "timestamp_ntz", [dt.datetime(2020, 1, 1, 3), None]),
    ],
)
@pytest.mark.parametrize("how", HOWS)
def test_key_types_compare_as_in_spark(spark, left, right, values, how):
    base = spark.createDataFrame([(i,) for i in range(len(values))], "i int").coalesce(1)
    source = spark.createDataFrame(list(enumerate(values)), f"i int, k {left}")
    df = base.join(source, "i").orderBy("i")
    table = source.filter("i <> 1").select(F.col("k").cast(right).alias("k"))
    expected = df.join(F.broadcast(table), "k", HOWS[how]).select("i").orderBy("i").collect()
    for policy in POLICIES:
        run = ab.query(df).lookup(table, on="k", how=how).run(policy=policy)
        assert run.df.select("i").orderBy("i").collect() == expected


def test_rows_that_a_lookup_drops_do_not_move_to_python(orders, owners):
    run = ab.query(orders).lookup(owners, on="k", name="own").where(is_large, "x").run()
    passed = orders.join(owners, "k", "left_semi")
    assert run.df.count() == passed.filter("x > 1").count()
    report = run.report()
    assert report.rows_in == passed.count() < orders.count()
    assert list(report.evaluations) == ["is_large"]
    assert "lookups inside Spark: own" in "\n".join(run.outline())


def test_lookups_alone_need_no_python(orders, owners):
    query = ab.query(orders).lookup(owners, on="k", name="own")
    assert "lookups inside Spark: own" in query.explain()
    run = query.run()
    assert run.df.count() == orders.join(owners, "k", "left_semi").count()
    assert "Spark runs all predicates itself" in str(run.report())


def test_a_lookup_that_python_guards_stays_behind_it(orders, owners):
    query = ab.query(orders).where(is_large, "x", name="f").lookup(owners, "k", "semi", "own", "f")
    run = query.run()
    assert run.plan().routes[0].order == ("f", "own")
    same(
        run,
        orders.filter("x > 1").join(F.broadcast(owners), "k", "left_semi").select(*orders.columns),
    )
    native = query.where("id > 3", name="late", after="own")
    expected = orders.filter("x > 1 and id > 3").join(F.broadcast(owners), "k", "left_semi")
    same(native.run(), expected.select(*orders.columns))


def test_native_predicates_around_a_lookup(orders, owners):
    query = (
        ab.query(orders)
        .where("id > 2", name="first")
        .lookup(owners, on="k", how="anti", name="own", after="first")
        .where("id < 30", name="late", after="own")
        .where(is_large, "x", name="f")
    )
    run = query.run()
    assert run.plan().query.names == ("own", "f")  # Spark would move "late" before a join
    expected = orders.filter("id > 2 and id < 30 and x > 1").join(
        F.broadcast(owners), "k", "left_anti"
    )
    same(run, expected.select(*orders.columns))


def test_a_lookup_guards_native_predicates(spark):
    """Division by zero is an error: the guard must have dropped the row before."""
    df = spark.createDataFrame([(0,), (1,), (20,)], "k int")
    run = ab.query(df).lookup(df.filter("k > 0"), "k", name="own")
    run = run.where("1 / k > 0.1", name="n", after="own").run()
    assert [row.k for row in run.df.collect()] == [1]


@pytest.mark.parametrize("sampled", ["driver", "look"])
def test_samples_honour_lookups_that_guard_functions(spark, sampled):
    """A function must not see rows that its guard drops, not even in a sample before the job."""
    df = spark.range(4_000).selectExpr("id", "id % 8 AS k", "IF(id % 8 = 3, '1', 'no number') AS n")
    dear = "size(array_sort(split(repeat(string(id), 40), ''))) > 7"
    query = (
        ab.query(df)
        .lookup(df.filter("k = 3").select("k"), on="k", name="own")
        .where(lambda n: int(n) == 1, "n", name="parsed", after="own")
        .where(lambda i: i % 3 == 0, "id", name="third")
        .where(dear, name="dear")
    )
    look = ab.Sample(rows=200, seconds=0.5, least_megabytes=0, share=None)
    run = query.run(learn="driver") if sampled == "driver" else query.run(sample=look)
    assert any(line.startswith("lookups inside Spark: own") for line in run.outline())
    assert run.df.count() == df.filter("k = 3 AND id % 3 = 0").count()


@pytest.mark.parametrize("how", HOWS)
def test_a_lookup_in_an_empty_table(orders, owners, how):
    none = owners.filter("k > 100")
    run = ab.query(orders).lookup(none, on="k", how=how).where(is_large, "x").run()
    expected = 0 if how == "semi" else orders.filter("x > 1").count()
    assert run.df.count() == expected


def test_a_plan_says_where_lookups_run(orders, owners):
    query = ab.query(orders).lookup(owners, on="k", name="own").where(is_large, "x", name="f")
    plans = {policy: query.run(policy=policy).plan() for policy in POLICIES}
    assert [plan.query.names for plan in plans.values()] == [("f",), ("own", "f")]
    for plan in plans.values():
        for policy in POLICIES:
            run = query.run(policy=policy, start=plan)
            assert run.plan().query.names == plan.query.names
            assert run.df.count() == orders.filter("x > 1").join(owners, "k", "left_semi").count()


def test_a_table_is_read_once_per_run(spark, orders, owners):
    reads = spark.sparkContext.accumulator(0)

    def count(rows):
        reads.add(1)
        return rows

    rdd = owners.coalesce(1).rdd.mapPartitions(count)
    table = spark.createDataFrame(rdd, owners.schema)
    for known, query in enumerate(
        [ab.query(orders).join(table, on="k"), ab.query(orders).lookup(table, on="k")], 1
    ):
        run = query.where(lambda x: x > 1, "x").run()
        after_run = reads.value
        run.df.count()
        run.df.count()
        assert reads.value == after_run == known


def test_small_files_are_read_by_the_job_itself(orders, owners, monkeypatch, tmp_path):
    owners.write.parquet(str(tmp_path / "owners"))
    stored = orders.sparkSession.read.parquet(str(tmp_path / "owners"))
    expected = orders.filter("x > 1").join(owners, "k", "left_semi").count()
    read = []
    known = tables.known_keys
    monkeypatch.setattr(tables, "known_keys", lambda *a: read.append(a[0]) or known(*a))

    def passed(table):
        query = ab.query(orders).lookup(table, on="k", name="own").where(is_large, "x", name="f")
        return query.run().df.count()

    assert passed(stored) == passed(stored.filter("k > 0")) == expected
    assert not read
    assert passed(stored.filter("rand(1) + k > 0")) == expected  # another draw at each action
    assert passed(stored.distinct()) == expected  # more than to read files
    monkeypatch.setattr(tables, "AT_HAND_BYTES", 0)
    assert passed(stored) == expected
    assert read == ["own"] * 3


def test_a_table_that_is_too_large_says_what_to_do(orders, owners, monkeypatch):
    monkeypatch.setattr(tables, "MAX_TABLE_ROWS", 3)
    with pytest.raises(ab.InputError, match=r"more than 3 rows.*Spark's own join"):
        ab.query(orders).join(owners, on="k").run()
    # A lookup holds distinct keys only: 1, 3, 12 and NULL, of which NULL can match nothing.
    assert ab.query(orders).lookup(owners, on="k").run().df.count() > 0


def test_bad_tables(spark, orders, owners):
    query = ab.query(orders)
    with pytest.raises(ab.InputError, match='the table has no column "region"'):
        query.lookup(owners, on="region")
    with pytest.raises(ab.InputError, match='the input has no column "owner"'):
        query.join(owners, on="owner")
    with pytest.raises(ab.InputError, match="cast one of them"):
        query.join(owners.withColumn("k", F.col("k").cast("string")), on="k")
    nested = orders.withColumn("k", F.array("k"))
    with pytest.raises(ab.InputError, match="valid: numbers, string"):
        ab.query(nested).lookup(owners.withColumn("k", F.array("k")), on="k")
    with pytest.raises(ab.InputError, match="column name or a list"):
        query.join(owners, on=orders["k"] == owners["k"])
    with pytest.raises(ab.InputError, match='did you mean "inner"'):
        query.join(owners, on="k", how="innner")
    stream = spark.readStream.format("rate").load().withColumnRenamed("value", "id")
    with pytest.raises(ab.InputError, match="is a stream"):
        query.lookup(stream, on="id")
    with pytest.raises(ab.InputError, match="must be a DataFrame, got str"):
        query.lookup("owners", on="id")
