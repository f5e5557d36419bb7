"""Native predicates: planned from a sample, compiled to one expression."""

import re
import time
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.data.records import BY_NAME, records
from anabranch.model import AtMost, Attribute, Leaf, Mesh, OneOf, Operator, Query, Route, Tree
from anabranch.model.attribute import LONG_WORD
from anabranch.spark import look, planning, stopwatch
from anabranch.spark.bytecode import MOST_BYTES, largest_method
from anabranch.spark.catalyst import applied, router
from anabranch.spark.native import looked_at
from anabranch.spark.sampling import megabytes
from anabranch.stats import Reservoir

NAMES = ["regex", "json", "masked", "path"]
# Each class of rows has a predicate of its own that drops nearly all of them.
RATES = [[[0.05, 0.9, 0.9, 0.9], [0.9, 0.05, 0.9, 0.9], [0.9, 0.9, 0.05, 0.9]]]
CHOSEN = [BY_NAME[name] for name in NAMES]
LOOK = ab.Sample(rows=2_000, seconds=1.0, least_megabytes=0, share=None)


@pytest.fixture(scope="module")
def skewed(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("records") / "skewed")
    records(spark, 12_000, NAMES, RATES).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture
def even_clock(monkeypatch):
    """Every predicate takes a microsecond, and a plan as many as it asks predicates."""

    def timed(sample, predicates, limit):
        looked = stopwatch.timed(sample, predicates, min(limit, 0.0))
        return replace(looked, seconds=np.full(looked.passed.shape, 1e-6))

    def compared(sample, plans, limit):
        """Of the best order for all, and the mesh."""
        looked = stopwatch.timed(sample, plans, min(limit, 0.0))
        return replace(looked, seconds=np.tile([2e-6, 1e-6], (len(looked.passed), 1)))

    monkeypatch.setattr(look, "timed", timed)
    monkeypatch.setattr(planning, "timed", compared)


def query_of(df):
    query = ab.query(df)
    for predicate in CHOSEN:
        query = query.where(predicate.spark, name=predicate.name)
    return query


def plain_of(df):
    for predicate in CHOSEN:
        df = df.filter(predicate.spark)
    return df


def ids(df):
    return [row["id"] for row in df.select("id").collect()]


@pytest.mark.parametrize("policy", ["auto", "mesh", "agreedy", "content", "fixed", "eddy"])
def test_same_rows_under_every_kind_of_policy(skewed, policy):
    run = query_of(skewed).run(policy=policy, sample=LOOK)
    assert ids(run.df) == ids(plain_of(skewed))
    assert run.df.schema == skewed.schema


@pytest.mark.usefixtures("even_clock")
def test_classes_get_routes_of_their_own_and_the_plan_is_kept(skewed, tmp_path):
    query = query_of(skewed)
    run = query.run(policy="mesh", attributes=["kind"], sample=LOOK)
    plan = run.plan()
    first = {rule.split(": ")[1].split(", ")[0] for rule in plan.rules()}
    assert len(plan.routes) == 3
    assert len(first) == 3
    told = query.explain()
    assert "native predicates sampled: " in told
    assert "audit" in told
    plan.save(tmp_path / "plan.json")
    again = query.run(start=ab.load(tmp_path / "plan.json"))
    assert again.plan().routes == plan.routes
    assert ids(again.df) == ids(plain_of(skewed))


@pytest.mark.usefixtures("even_clock")
def test_whole_stage_codegen_is_still_there(skewed):
    run = query_of(skewed).run(policy="mesh", attributes=["kind"], sample=LOOK)
    executed = run.df._jdf.queryExecution().executedPlan().toString()
    assert re.search(r"\*\(\d+\) Filter .*CASE WHEN", executed)
    assert "Python" not in executed


def halved(first, last):
    """A tree that tells routes apart by id, 500 each."""
    if last - first == 1:
        return Leaf(first)
    middle = (first + last) // 2
    return AtMost("id", halved(first, middle), halved(middle, last), 500.0 * middle)


def test_routes_that_the_jvm_would_not_compile_share_their_ends(skewed):
    names = ("regex", "json", "masked", "path")
    query = Query(tuple(map(Operator, names)), (Attribute("id"),))
    routes = tuple(Route.of(query, order) for order in permutations(range(4)))
    mesh = Mesh(query, routes, {}, Tree(halved(0, len(routes))))
    conditions = {name: F.expr(BY_NAME[name].spark) for name in names}
    sample = Reservoir(attributes=1, operators=4)
    drops = np.random.default_rng(0).random((500, 4)) < 0.5
    sample.update(np.arange(500)[:, None] * 24.0, drops, np.full((500, 4), 1e-6))
    # Spark adapts this plan while it runs: before, it has no code.
    source = skewed.repartition(2, "id")
    assert largest_method(applied(source, mesh, conditions)) > MOST_BYTES
    fitting = planning.small_enough(mesh, sample, conditions, source)
    assert largest_method(applied(source, fitting, conditions)) <= MOST_BYTES
    assert len(fitting.routes) > 1
    assert sorted(ids(applied(source, fitting, conditions))) == sorted(ids(plain_of(skewed)))


def test_the_session_is_left_as_it_was(spark, skewed):
    before = dict(spark.conf.getAll)
    query_of(skewed).run(sample=LOOK).df.count()
    assert dict(spark.conf.getAll) == before


def test_a_small_input_and_one_predicate_run_as_written(skewed):
    run = query_of(skewed).run()
    assert run.plan().routes[0].order == tuple(p.name for p in CHOSEN)
    assert "sampled" not in "".join(run.outline())
    alone = ab.query(skewed).where(CHOSEN[0].spark, name="regex").run(sample=LOOK)
    assert alone.outline() == [f"native predicates: regex({CHOSEN[0].spark})"]


def test_what_a_source_can_skip_by_stays_an_ordinary_filter(spark, tmp_path):
    df = spark.range(40_000).selectExpr("id", "id % 4 AS part", "string(id) AS s")
    df.repartitionByRange(4, "id").write.partitionBy("part").parquet(str(tmp_path / "t"))
    df = spark.read.parquet(str(tmp_path / "t"))
    run = (
        ab.query(df)
        .where("s rlike '7'", name="seven")
        .where("id < 50", name="few")
        .where("part % 2 = 1", name="odd")
        .where("s rlike '1'", name="one")
        .run(sample=LOOK)
    )
    assert run.outline()[0] == "filters first: few(id < 50), odd(part % 2 = 1)"
    expected = df.filter("s rlike '7' and id < 50 and part % 2 = 1 and s rlike '1'")
    assert sorted(ids(run.df)) == sorted(ids(expected)) == [17]
    scan = scan_of(run.df)
    assert re.search(r"PushedFilters: \[[^]]*LessThan\(id,50\)", scan.verboseString(1000))
    # Two of four folders, and of each file with ids below 50 only.
    assert scan.metrics().apply("numFiles").value() == 2 * 4
    assert scan.metrics().apply("numOutputRows").value() < 20_000 / 2


def scan_of(df):
    df.collect()
    plan = df._jdf.queryExecution().executedPlan()
    leaves = plan.collectLeaves()
    return leaves.apply(0)


FREE = ("free", ("id", "s"), False)


@pytest.mark.parametrize(
    ("condition", "place", "reads", "dear"),
    [
        ("id > 3", "first", ("id",), False),
        ("id IN (1, 2) OR s IS NULL", "first", ("id", "s"), False),
        ("id * 3 % 7 < 5", "free", ("id",), False),
        ("n.at.x = 1 AND NOT n.at.x > 5", "first", ("n.at.x", "n.at", "n"), False),
        ("d > current_date()", "first", ("d",), True),
        ("s LIKE 'a%'", "free", ("s",), True),
        ("s RLIKE 'a'", "free", ("s",), True),
        ("cast(s AS int) IS NULL", "free", ("s",), False),
        ("exists(array(id), x -> x > 3)", "free", ("id",), True),
        ("rand(1) < 0.5", "random", (), True),
        ("id > (SELECT 3)", "pinned", ("id",), True),
        ("id IN (SELECT max(id) FROM range(9) WHERE id > 1)", "pinned", ("id",), True),
        ("id BETWEEN 1 AND 3", "free", ("id",), False),
        (f"id IN ({', '.join(map(str, range(500)))})", "first", ("id",), False),
        (f"n.at.x IN ({', '.join(map(str, range(50)))})", "first", ("n.at.x", "n.at", "n"), False),
        # Spark's own JSON of it would not fit into memory.
        (f"{'CASE WHEN id > 3 THEN false ELSE ' * 30} s = 'a' {'END ' * 30}", *FREE),
    ],
)
def test_what_a_predicate_is(spark, condition, place, reads, dear):
    df = spark.range(3).selectExpr(
        *("id", "string(id) AS s", "date'2020-01-01' AS d"),
        "named_struct('at', named_struct('x', id)) AS n",
    )
    assert looked_at(df, F.expr(condition)) == (place, reads, dear)


def test_what_is_random_keeps_its_place(spark):
    df = spark.range(5_000).selectExpr("id", "string(id) AS s").coalesce(1)
    conditions = ["s RLIKE '1'", "rand(7) < 0.5", "s RLIKE '2'"]
    query, plain = ab.query(df), df
    for condition in conditions:
        query, plain = query.where(condition), plain.filter(condition)
    assert ids(query.run(sample=LOOK).df) == ids(plain)


def test_a_guard_hides_the_errors_of_native_predicates(spark):
    df = spark.range(4_000).selectExpr("id", "IF(id % 3 = 0, 'x', string(id)) AS s")
    query = (
        ab.query(df)
        .where("cast(s AS int) % 2 = 0 OR length(s) > 9", name="even", after="digits")
        .where("s RLIKE '^[0-9]+$'", name="digits")
        .where("s RLIKE '1'", name="one")
    )
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        df.filter("cast(s AS int) % 2 = 0").collect()
    for policy in ("auto", "optimal"):
        run = query.run(policy=policy, sample=LOOK)
        assert run.plan().routes[0].order.index("digits") < run.plan().routes[0].order.index("even")
        assert ids(run.df) == ids(df.filter("try_cast(s AS int) % 2 = 0 and s RLIKE '1'"))


def test_null_drops_the_row_on_every_route(spark):
    df = spark.createDataFrame(
        [(i, None if i % 5 == 0 else f"a{i}", i % 2) for i in range(100)], "id int, s string, k int"
    )
    query = ab.query(df).where("s RLIKE 'a'", name="a").where("length(s) > 2", name="long")
    natives = Query((Operator("a", ("s RLIKE 'a'",)), Operator("long", ("length(s) > 2",))))
    routes = Route.of(natives, (0, 1)), Route.of(natives, (1, 0))
    plan = Mesh.from_dict(
        Mesh(natives, routes, {}, Tree(AtMost("k", Leaf(0), Leaf(1), 0.0))).to_dict()
        | {"attributes": {"k": "number"}}
    )
    run = query.run(start=plan)
    assert ids(run.df) == ids(df.filter("s RLIKE 'a' and length(s) > 2"))
    assert len(run.plan().routes) == 2


@pytest.mark.usefixtures("even_clock")
def test_mixed_with_python_predicates(skewed, tmp_path):
    query = query_of(skewed).where(lambda i: i % 2 == 0, "id", name="even")
    run = query.run(sample=LOOK)
    assert ids(run.df) == ids(plain_of(skewed).filter("id % 2 = 0"))
    plan = run.plan()
    assert plan.query.names == ("even",)
    assert set(plan.before.query.names) == set(NAMES)
    plan.save(tmp_path / "plan.json")
    assert ab.load(tmp_path / "plan.json").before.routes == plan.before.routes
    again = query.run(start=ab.load(tmp_path / "plan.json"))
    assert again.plan().before.routes == plan.before.routes
    assert "native predicates, before these:" in query.explain()


def test_a_fixed_order_may_name_all_predicates(skewed):
    query = query_of(skewed).where(lambda i: i % 2 == 0, "id", name="even")
    order = ["path", "masked", "even", "json", "regex"]
    plan = query.run(policy=ab.Fixed(order=order)).plan()
    assert plan.before.routes[0].order == ("path", "masked", "json", "regex")
    assert plan.routes[0].order == ("even",)


def test_a_sample_that_takes_too_long_is_given_up(skewed):
    """Rows that take ten milliseconds each: all that are wanted would take a minute."""

    def slow(i):
        time.sleep(0.01)
        return i

    query = query_of(skewed.withColumn("slow", F.udf(slow, "long")("id")))
    run = query.run(sample=LOOK)
    assert run.plan().routes[0].order == tuple(NAMES)
    given_up = (
        "native predicates as written: reading a sample takes too long .looked for ([0-9.]+) s."
    )
    assert float(re.search(given_up, query.explain())[1]) < 20


def test_hidden_columns_and_inputs_of_unknown_size(spark, skewed):
    narrow = skewed.select("id").filter("id >= 0")
    query = ab.query(narrow).where("id % 3 = 0 AND _metadata.file_size > 0", name="hidden")
    assert ids(query.run().df) == ids(narrow.filter("id % 3 = 0"))
    few = spark.createDataFrame([(1,), (2,)], "id long")
    assert megabytes(few) < 1
    assert megabytes(few.join(few, "id")) < 1
    assert not ab.Sample().pays(few, dear=True)


def test_a_dear_one_is_not_moved_where_ordinary_filters_stand_behind(skewed):
    dear = "size(array_sort(split(repeat(line, 2), ''))) > 7"
    query = ab.query(skewed).where(dear, name="dear").where("doc RLIKE 'free'", name="cheap")
    query = query.where(lambda i: i % 50 == 0, "id", name="few")
    query = query.where("rand(1) >= 0", name="lot", after="few")
    run = query.run(sample=ab.Sample(rows=200, seconds=0.5, least_megabytes=0, share=None))
    assert ids(run.df) == ids(skewed.filter("doc RLIKE 'free' and id % 50 = 0"))


def test_a_short_job_runs_as_written_after_a_glance(skewed):
    run = query_of(skewed).run(sample=ab.Sample(rows=2_000, least_megabytes=0))
    (told,) = (line for line in run.outline() if line.startswith("native predicates as written"))
    assert re.search(r"they are expected to take 0\.\d s \(looked for", told)
    assert run.plan().classifier is None
    # Light ones are not even glanced at, unless the input is larger.
    sized = ab.Sample(least_megabytes=megabytes(skewed) / 4)
    assert sized.pays(skewed, dear=True)
    assert not sized.pays(skewed, dear=False)


def test_a_wrong_sample_is_refused(skewed):
    with pytest.raises(ab.InputError, match="share is above 0"):
        ab.Sample(share=0)
    with pytest.raises(ab.InputError, match="at least 100 rows"):
        ab.Sample(rows=3)
    with pytest.raises(ab.InputError, match="sample is a Sample"):
        query_of(skewed).run(sample=100)


def test_a_dear_native_predicate_runs_behind_a_cheap_python_one(skewed, tmp_path):
    dear = "size(array_sort(split(repeat(line, 2), ''))) > 7"  # a sorted list of letters
    query = (
        ab.query(skewed)
        .where(dear, name="dear")
        .where("doc RLIKE 'free'", name="cheap")
        .where(lambda i: i % 50 == 0, "id", name="few")
    )
    run = query.run(sample=ab.Sample(rows=200, seconds=0.5, least_megabytes=0, share=None))
    behind = [line for line in run.outline() if line.startswith("native predicates behind it: ")]
    assert f"dear({dear})" in behind[0]
    expected = skewed.filter("doc RLIKE 'free' and id % 50 = 0").filter(dear)
    assert ids(run.df) == ids(expected)
    plan = run.plan()
    assert "dear" in plan.behind.query.names
    plan.save(tmp_path / "plan.json")
    again = query.run(start=ab.load(tmp_path / "plan.json"))
    assert again.plan().behind.routes == plan.behind.routes
    assert ids(again.df) == ids(expected)


def test_what_guards_a_python_predicate_is_never_moved_behind_it(skewed):
    dear = "size(array_sort(split(repeat(line, 2), ''))) > 7 and id > 100"
    query = (
        ab.query(skewed)
        .where(dear, name="dear")
        .where(lambda i: 1 // max(i - 100, 0) >= 0 and i % 50 == 0, "id", name="few", after="dear")
    )
    run = query.run(sample=ab.Sample(rows=200, seconds=0.5, least_megabytes=0, share=None))
    assert run.outline()[0] == f"native predicates: dear({dear})"
    assert ids(run.df) == ids(skewed.filter("id > 100 and id % 50 = 0"))


def test_long_words_are_told_as_one_class_and_not_as_a_word(spark):
    df = spark.createDataFrame([("x" * 100,), ("y" * 100,), ("z",)], "w string")
    query = Query((Operator("a"), Operator("b")), (Attribute("w", "word"),))
    routes = Route.of(query, (0, 1)), Route.of(query, (1, 0))
    mesh = Mesh(query, routes, {}, Tree(OneOf("w", Leaf(1), Leaf(0), (LONG_WORD,))))
    told = planning.worded(mesh, df)
    assert told.words == {}
    taken = df.select(router(told, df)([F.lit(0), F.lit(1)])).collect()
    assert sorted(row[0] for row in taken) == [0, 1, 1]


def test_a_guard_that_asks_for_null_is_asked_first(spark, tmp_path):
    rows = [(str(i) if i % 3 else "abc",) for i in range(60)]
    spark.createDataFrame(rows, "value string").write.parquet(str(tmp_path / "in"))
    query = ab.query(spark.read.parquet(str(tmp_path / "in")))
    query = query.where("try_cast(value as int) IS NOT NULL", name="number")
    query = query.where("cast(value as int) + 0 >= 5", name="large", after="number")
    kept = {int(row[0]) for row in query.run().df.collect()}
    assert kept == {i for i in range(5, 60) if i % 3}


def test_a_guard_that_is_null_holds_back_also_without_generated_code(spark):
    wide = spark.range(60).selectExpr(
        "CASE WHEN id % 3 > 0 THEN 'n' END AS kind",
        "CASE WHEN id % 3 > 0 THEN string(id) ELSE 'abc' END AS value",
        *(f"id + {i} AS c{i}" for i in range(120)),  # so many that Spark generates no code
    )
    query = ab.query(wide.coalesce(1)).where("kind RLIKE 'n' OR kind RLIKE 'm'", name="kind")
    query = query.where("cast(value as int) + 0 >= 5", name="large", after="kind")
    kept = {int(row.value) for row in query.run().df.collect()}
    assert kept == {i for i in range(5, 60) if i % 3}


def test_a_job_that_is_worth_it_is_looked_at_for_a_share_of_it(skewed, monkeypatch):
    monkeypatch.setattr(look, "_expected", lambda *_: 5e6)
    spec = ab.Sample(rows=2_000, seconds=1.5, least_megabytes=0)
    run = query_of(skewed).run(sample=spec)
    assert any(line.startswith("native predicates sampled") for line in run.outline())
    assert ids(run.df) == ids(skewed.filter(" AND ".join(f"({p.spark})" for p in CHOSEN)))
