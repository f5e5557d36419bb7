"""Several queries in one pass: the rows of each are those that it has alone."""

import pytest
from pyspark.sql import functions as F

import anabranch as ab

ROWS = 6_000


def odd(n):
    return n % 2 == 1


def third(n):
    return n % 3 == 0


def small(n):
    return n < ROWS // 2


def rows(spark, begin=0, end=ROWS):
    return spark.range(begin, end).selectExpr(
        "id",
        "CAST(pmod(hash(id), 6000) AS INT) AS n",
        "id % 7 AS k",
        "element_at(array('Aa', 'BB', 'C', NULL), CAST(id % 4 AS INT) + 1) AS code",
    )


@pytest.fixture(scope="module")
def df(spark):
    return rows(spark).repartition(2).persist()


def queries_of(df, owners):
    """Native ones, Python ones, one behind another, tables; most of it shared by some."""
    native = F.col("n") > 100
    renamed = owners.withColumnRenamed("owner", "seller")
    return {
        "fraud": ab.query(df).where(native, name="big").where(odd, "n").where(third, "n"),
        "spam": ab.query(df)
        .where(third, "n", name="by_three")
        .where("n % 5 <> 0", name="five")
        .where(F.col("n") > 100),
        "owned": ab.query(df).where(odd, "n").join(owners, on="k"),
        "known": ab.query(df)
        .lookup(owners, on="k")
        .where("id % 2 = 0", name="late", after="lookup_k"),
        "all": ab.query(df),
        # Hashes of these are the same; their labels are not.
        "Aa": ab.query(df).where("code = 'Aa'", name="code"),
        "BB": ab.query(df).where("code = 'BB'", name="code"),
        # A guard in Spark hides errors in Python, and in what Spark computes for Python.
        "named": ab.query(df)
        .where("code IS NOT NULL", name="has")
        .where(lambda code: len(code) == 2, "code", name="two", after="has"),
        "divided": ab.query(df)
        .where("k <> 0", name="nz")
        .where(lambda q: q > 1000, F.col("n") / F.col("k"), name="quotient", after="nz"),
        "sold": ab.query(df).join(renamed, on="k").join(owners, on="k"),
        "bought": ab.query(df).join(owners, on="k").join(owners, on="k", name="again"),
        "guarded": ab.query(df)
        .where(small, "n")
        .where(lambda n: 1 / (n < 3000), "n", name="div", after="small"),
    }


@pytest.fixture(scope="module")
def owners(spark):
    return spark.createDataFrame([(1, "ann"), (3, "bob"), (3, "cid")], "k long, owner string")


def told(df):
    return sorted(tuple(row) for row in df.collect())


def test_each_query_has_its_own_rows_from_one_pass(df, owners):
    queries = queries_of(df, owners)
    run = ab.queries(**queries).run().persist()
    try:
        for name, query in queries.items():
            alone = query.run(policy="fixed").df
            assert run.dfs[name].schema == alone.schema
            assert told(run.dfs[name]) == told(alone), name
    finally:
        run.unpersist()
    report = run.report()
    names = set(report.evaluations)
    # Two names for one function of one column are one operator.
    assert {"odd", "third", "lookup_k", "join_k", "small", "div", "two", "quotient"} < names
    assert not any("by_three" in name for name in names)
    assert report.rows_in == ROWS
    assert max(report.evaluations.values()) <= ROWS
    assert report.evaluations["div"] - report.profiling["div"] <= ROWS // 2 + 10
    assert report.alone["odd"] > report.evaluations["odd"]  # two queries ask for it
    assert report.saved > 0
    assert "sharing saved" in str(report)
    assert report.to_dict()["saved"] == report.saved


def test_what_is_shared_is_told_before_anything_runs(df, owners):
    lines = ab.queries(**queries_of(df, owners)).explain().splitlines()
    assert "big (native): fraud, spam" in lines
    assert "third (Python): fraud, spam" in lines
    assert "odd (Python): fraud, owned" in lines


def test_many_native_predicates_in_many_queries(df):
    natives = [f"n % {i + 5} <> 0" for i in range(8)]
    queries = {}
    for q in range(10):
        query = ab.query(df)
        for i in range(6):
            query = query.where(natives[(q + i) % 8], name=f"n{(q + i) % 8}")
        queries[f"q{q}"] = query
    run = ab.queries(**queries).run()
    for name in ("q0", "q7"):
        assert told(run.dfs[name]) == told(queries[name].run(policy="fixed").df)


def test_rounds_serve_every_query_and_go_on_after_a_restart(spark, owners, tmp_path):
    source = tmp_path / "in"
    for i in range(4):
        rows(spark, i * 1_000, (i + 1) * 1_000).coalesce(1).write.mode("append").parquet(
            str(source)
        )
    stream = spark.readStream.schema("id long, n int, k long, code string").option(
        "maxFilesPerTrigger", "1"
    )
    queries = queries_of(stream.parquet(str(source)), owners)
    written = {}

    def write(dfs, number):
        if number == 2 and number not in written:
            written[number] = {}
            raise RuntimeError("no room")
        written[number] = {name: told(df) for name, df in dfs.items()}

    def start():
        return ab.queries(**queries).stream(write, str(tmp_path / "cp"), trigger="available now")

    with pytest.raises(RuntimeError, match="no room"):
        start().await_termination()
    handle = start()
    handle.await_termination()
    whole = spark.read.parquet(str(source))
    for name, query in queries_of(whole, owners).items():
        got = sorted(row for dfs in written.values() for row in dfs[name])
        assert got == told(query.run(policy="fixed").df), name
    report = handle.report()
    assert set(report.served.values()) == {2}  # of this life
    assert set(report.served) == set(queries)
    history = handle.history().collect()
    assert [row["round"] for row in history] == [0, 1, 2, 3]
    assert sum(row["rows"] for row in history) == 4_000
    assert history[3]["rows_out"] == sum(map(len, written[3].values()))
    assert sorted(handle.order()) == sorted(report.evaluations)
    del queries["all"]
    with pytest.raises(ab.PlanError, match='"query all" is only in the checkpoint'):
        start()


def test_bad_input_is_refused(spark, df):
    query = ab.query(df).where(odd, "n")
    with pytest.raises(ab.InputError, match="queries by name"):
        ab.queries()
    with pytest.raises(ab.InputError, match="spam must be a query"):
        ab.queries(fraud=query, spam=df)
    with pytest.raises(ab.InputError, match="spam reads another DataFrame than fraud"):
        ab.queries(fraud=query, spam=ab.query(spark.range(5)).where(odd, "id"))
    with pytest.raises(ab.InputError, match="valid: auto, fixed"):
        ab.queries(fraud=query).run(policy="mesh")
    with pytest.raises(ab.InputError, match="use run"):
        ab.queries(fraud=query).stream(print, "/tmp/none")
    drawn = ab.query(df).where(F.rand(1) < 0.5, name="coin").where(odd, "n", after="coin")
    with pytest.raises(ab.InputError, match="run this query alone"):
        ab.queries(fraud=query, drawn=drawn)
