"""Content-based routing on Spark: the same rows as plain Spark, whatever rows are told apart by."""

import json
from datetime import date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.data.lab import COLUMNS, TIME, read_lab
from anabranch.data.stream_star import CLASS, UNRELATED, StreamStar, skewed
from anabranch.kernel.attributes import Attributes
from anabranch.spark.attributes import choose, describe, numbers, usable

ROWS = 24_000
CITIES = ["Aarau", "Bern", "Chur", "Davos"]


def wanted(own):
    """Passes few rows of its own city, nearly all of the others; its cost is in the loop."""

    def judge(code):
        return code >> own & 1 == 0 and sum(range(100)) > 0

    judge.__name__ = f"city{own}"
    return judge


@pytest.fixture(scope="module")
def df(spark):
    random = np.random.default_rng(3)
    city = random.integers(0, 4, ROWS)
    drops = random.random((ROWS, 4)) < np.where(np.arange(4) == city[:, None], 0.95, 0.02)
    days = [date(2024, 1, 1) + timedelta(days=int(c)) for c in city]
    table = pa.table(
        {
            "id": np.arange(ROWS),
            "code": (drops << np.arange(4)).sum(axis=1),
            "city": [None if i % 50 == 0 else CITIES[c] for i, c in enumerate(city)],
            "day": days,
            "at": [datetime(2024, 1, d.day, 12) for d in days],
            "share": [[np.nan, np.inf, -np.inf, None, 0.25][i % 5] for i in range(ROWS)],
            "price": [Decimal(int(c)) / 4 for c in city],
            "flag": (city % 2).astype(bool),
            "place": [{"zip": int(1000 * c), "name": CITIES[c]} for c in city],
            "tags": [[int(c)] for c in city],
            "note": [f"a remark that is far too long to be a class {'x' * 40} {i}" for i in city],
        }
    )
    return spark.createDataFrame(table).repartition(2).persist()


def query_of(df):
    query = ab.query(df)
    for own in range(4):
        query = query.where(wanted(own), "code")
    return query


def plain_ids(df):
    return sorted(row.id for row in df.filter("code = 0").select("id").collect())


def ids(run):
    return sorted(row.id for row in run.df.select("id").collect())


@pytest.mark.parametrize(
    "attributes",
    [None, ["city"], ["day"], ["at"], ["price"], ["place.zip"], ["place.name"], ["share", "flag"]],
    ids=str,
)
def test_the_same_rows_as_plain_spark_by_every_type_of_attribute(df, attributes):
    run = query_of(df).run(policy="content", attributes=attributes)
    assert ids(run) == plain_ids(df)
    assert run.df.schema == df.schema
    if attributes is not None and attributes[0] != "share":
        assert set(run.report().classifiers.values()) == set(attributes)


@pytest.mark.parametrize("policy", ["eddy", ab.Eddy(routing="minimum"), ab.ContentLearns(p=0.06)])
def test_other_policies_give_the_same_rows(df, policy):
    assert ids(query_of(df).run(policy=policy)) == plain_ids(df)


def test_report_text_page_plan_and_explain(df, tmp_path):
    query = query_of(df)
    run = query.run(policy="content", attributes=["city", "day", "flag"])
    before = query.explain()
    assert "Content-Learns" in before
    blind = query_of(df).run(policy="eddy")
    assert ids(run) == ids(blind)
    report = run.report()
    blindly = sum(blind.report().evaluations.values())
    assert sum(report.evaluations.values()) < 0.7 * blindly
    assert set(report.classifiers) == {f"city{i}" for i in range(4)}
    by = report.routed_by["city0"]
    assert sum(by.values()) == report.evaluations["city0"]
    assert set(by) <= {"city", "day", "", "*"}
    assert {gain["operator"] for gain in report.gains} == set(report.evaluations)
    assert report.cpu > 0
    assert report.classifying > 0
    json.dumps(report.to_dict())
    text = str(report)
    assert "routed by" in text
    assert "profiling" in text
    page = report.to_html(tmp_path / "report.html").read_text()
    assert "Gain ratio over time" in page
    assert "Routed by" in page
    told = query.explain()
    assert "routes by content:" in told
    assert "city0 depends on" in told

    run.plan().save(tmp_path / "plan.json")
    plan = ab.load(tmp_path / "plan.json")
    again = query.run(policy="content", attributes=["flag"], start=plan)
    assert ids(again) == plain_ids(df)
    assert sum(again.report().evaluations.values()) < 0.8 * blindly  # trials depend on the machine
    with pytest.raises(ab.InputError, match="agreedy has one for all rows"):
        query.run(policy="agreedy", start=plan)


def test_told_classes_and_orders_words_included(df):
    names = [f"city{i}" for i in range(4)]
    orders = {c: [names[i], *(n for n in names if n != names[i])] for i, c in enumerate(CITIES)}
    run = query_of(df).run(policy=ab.ContentKnows("city", orders))
    assert ids(run) == plain_ids(df)
    report = run.report()
    assert sum(report.profiling.values()) == 0
    assert sum(report.evaluations.values()) < 1.4 * ROWS
    assert len(report.routes) == 4
    with pytest.raises(ab.InputError, match="cannot be told"):
        query_of(df).run(policy=ab.ContentKnows("city", {None: names}))
    with pytest.raises(ab.InputError, match='no column "town"'):
        query_of(df).run(policy=ab.ContentKnows("town", orders))


def test_columns_that_no_predicate_reads_have_a_place_among_the_attributes(spark):
    wide = spark.createDataFrame([], ", ".join(f"x{i} long" for i in range(9)) + ", kind string")
    read = [f"x{i}" for i in range(1, 8)]
    assert choose(wide, None, [], read, 6) == [*read[:6], "x0", "x8", "kind"]
    assert choose(wide, None, [], ["x1"], 6) == ["x1", "x0", "x2", "x3", "x4", "x5"]
    assert choose(wide, None, ["x7"], ["x1"], 2) == ["x1", "x0", "x2", "x3", "x7"]
    assert choose(wide, ["kind"], [], read, 6) == ["kind"]


def test_attributes_that_cannot_be_are_refused_with_those_that_can(df):
    query = query_of(df)
    with pytest.raises(
        ab.InputError, match=r'no column "citi" for attributes=; did you mean "city"\?'
    ):
        query.run(policy="content", attributes=["citi"])
    with pytest.raises(ab.InputError, match=r'"tags": .* array<bigint>; usable: id, code, city'):
        query.run(policy="content", attributes=["tags"])
    with pytest.raises(ab.InputError, match=r'"place": .*struct'):
        query.run(policy="content", attributes=["place"])
    with pytest.raises(ab.InputError, match="names of columns, got 7"):
        query.run(policy="content", attributes=7)
    with pytest.raises(ab.InputError, match="attributes= is for policies that route by content"):
        query.run(policy="sweep", attributes=["city"])
    doubled = df.withColumn("twice", F.lit(1)).select("*", F.lit(2).alias("twice"))
    assert "twice" not in usable(doubled.schema)


def test_names_that_differ_in_case(df):
    alike = df.select("*", F.col("city").alias("City"), F.col("day").alias("When"))
    query = query_of(alike)
    assert "city" not in usable(alike.schema)
    run = query.run(policy="content")  # what is ambiguous is left out
    assert [row[0] for row in run.df.select("id").orderBy("id").collect()] == plain_ids(df)
    with pytest.raises(ab.InputError, match="several columns of that name"):
        query.run(policy="content", attributes=["city"])
    assert query.run(policy="content", attributes=["wHEN"]).query.attributes[0].name == "When"


@pytest.mark.parametrize(
    ("attribute", "values", "reason"),
    [
        ("id", ["abc"], "it does not fit"),
        ("id", [1, 1.7], "another value told is the same"),
        ("share", [float("inf")], "take the default order"),
        ("note", ["x" * 80], "over 64 bytes"),
    ],
)
def test_values_that_cannot_be_told(df, attribute, values, reason):
    names = [f"city{i}" for i in range(4)]
    with pytest.raises(ab.InputError, match=reason):
        query_of(df).run(policy=ab.ContentKnows(attribute, dict.fromkeys(values, names)))


def test_long_words_and_sequences_are_left_out(df):
    run = query_of(df).run(policy="content", attributes=["note", "id"])
    assert ids(run) == plain_ids(df)
    assert run.report().classifiers == {}


def test_the_kernel_has_the_numbers_that_spark_would_compute(df):
    names = [name for name in usable(df.schema) if name != "id"]
    travelling = df.select("id", *(c.alias(a.name) for a, c in describe(df, names))).toArrow()
    computed = df.select("id", *(c.alias(n) for n, c in numbers(df, names).items())).toArrow()
    for table in (travelling, computed):
        assert table["id"].to_pylist() == travelling["id"].to_pylist()
    assert travelling["day"].type == pa.date32()  # as it is
    for name in names:
        one, other = (
            Attributes({name: table.combine_chunks()[name].combine_chunks()}).get(name)
            for table in (travelling, computed)
        )
        np.testing.assert_array_equal(one, other)


WORDS = ["", "a", "Zürich", "x" * 64, "x" * 65, "é" * 32, "é" * 33, "😀" * 16, "😀" * 70, None]


@pytest.mark.parametrize("read", [None, ("w",), ()], ids=["as numbers", "as they are", "cut"])
def test_words_have_the_numbers_that_spark_would_compute(spark, read):
    df = spark.createDataFrame([(i, word) for i, word in enumerate(WORDS)], "id int, w string")
    [(_, travels)] = describe(df, ["w"], read)
    table = df.select("id", travels.alias("w"), numbers(df, ["w"])["w"].alias("n")).toArrow()
    one, other = (Attributes({"w": table[name].combine_chunks()}).get("w") for name in ("w", "n"))
    np.testing.assert_array_equal(one, other)
    assert len(set(one.tolist())) == len(WORDS) - 2  # three are long


def test_a_column_that_is_no_text_at_all_does_no_harm_where_no_predicate_reads_it(df):
    broken = df.withColumn("bytes", F.expr("CAST(X'FF' AS STRING)"))
    run = query_of(broken).run(policy="content", attributes=["city", "bytes"])
    assert ids(run) == plain_ids(df)


def test_a_column_that_predicates_read_travels_once(df):
    query = query_of(df).where(lambda city: city != "Genf", "city", name="swiss")
    run = query.run(policy="content", attributes=["code", "day", "city"])
    [call] = [line for line in explained(run.df).splitlines() if "ArrowEvalPython" in line]
    assert call.count("code#") == 1
    assert call.count("day#") == 1
    assert call.count("city#") == 1


def explained(df):
    return df._jdf.queryExecution().executedPlan().toString()


def test_lookups_and_joins(spark):
    star = StreamStar(skewed(4, 0.05), rows=30_000)
    stream = star.stream(spark)
    query, plain = ab.query(stream), stream
    for j in range(3):
        query = query.lookup(star.dimension(spark, j), on=f"fkd{j + 1}", name=f"d{j + 1}")
        plain = plain.join(star.dimension(spark, j), f"fkd{j + 1}", "left_semi")
    query = query.join(star.dimension(spark, 3), on="fkd4", name="d4")
    plain = plain.join(star.dimension(spark, 3), "fkd4")
    run = query.run(policy="content", attributes=[CLASS, *UNRELATED])
    columns = sorted(plain.columns)
    expected = plain.select(columns).collect()
    assert sorted(run.df.select(columns).collect()) == sorted(expected)
    assert set(run.report().classifiers.values()) == {CLASS}


def test_a_stream_learns_classes_from_micro_batch_to_micro_batch(spark, tmp_path, df):
    df.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(df.schema).option("maxFilesPerTrigger", 1)
    run = query_of(stream.parquet(str(tmp_path / "in"))).run(policy="content", attributes=["city"])
    job = (
        run.df.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "check"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    job.awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out"))
    assert sorted(row.id for row in found.select("id").collect()) == plain_ids(df)
    report = run.report()
    assert report.rows_in == ROWS
    assert set(report.classifiers.values()) == {"city"}


def test_one_operator_needs_no_attributes(df):
    run = ab.query(df).where(wanted(0), "code").run(policy="content")
    run.df.count()
    assert run.query.attributes == ()
    assert run.report().evaluations == {"city0": ROWS}


def test_the_labs_file_is_cleansed(spark, tmp_path):
    good = "2004-03-01 00:58:46.5 3 7 19.98 37.09 45.08 2.69968"
    bad = [
        "2004-03-01 00:58:46.5 3 7 19.98 37.09 45.08",  # no voltage
        "2004-03-01 00:58:46.5 3 99 19.98 37.09 45.08 2.7",  # no such sensor
        "2004-03-01 00:58:46.5 3 7 19.98 -4.0 45.08 2.7",  # negative humidity
        "2004-03-01 00:58:46.5 3 7 122.15 37.0 45.08 2.0",  # a dying battery
        "yesterday noon 3 7 19.98 37.0 45.08 2.7",
        "",
    ]
    (tmp_path / "data.txt").write_text("\n".join([good, *bad]) + "\n")
    lab = read_lab(spark, str(tmp_path / "data.txt"))
    assert lab.columns == [*COLUMNS, *TIME]
    row = lab.collect()
    assert [tuple(r) for r in row] == [(7, 19.98, 37.09, 45.08, 2.69968, 2004, 3, 1, 0, 58, 46)]
