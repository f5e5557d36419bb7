"""Figures that are measured on Spark, small: all contestants are there and agree on the rows."""

import json

import pytest
from click.testing import CliRunner

from anabranch.bench import demo, filters, joins_spark, om, queries
from anabranch.bench.content import CONTENT
from anabranch.bench.mesh import MESH
from anabranch.bench.size import Size
from anabranch.cli import main
from anabranch.policies import POLICIES
from anabranch.spark.joins.run import PROVIDER, ROCKSDB


def contestants(figure):
    return [row[0] for row in figure.rows]


def test_content(spark):
    assert contestants(CONTENT.measured["headline"](spark, Size(4_000), 1)) == [
        "SBR",
        "Knows",
        "Learns",
    ]


def test_mesh(spark):
    told = contestants(MESH.measured["fig10"](spark, Size(20_000), 1))
    assert told[0] == "single plan"
    assert {"Eddy+CBR, row by row", "Eddy+CBR, batches", "mesh", "auto"} < set(told)


@pytest.fixture
def provider(spark):
    before = spark.conf.get(PROVIDER)
    yield spark
    spark.conf.set(PROVIDER, before)


def test_joins(provider, monkeypatch):
    monkeypatch.setattr(joins_spark, "BATCHES", 2)
    monkeypatch.setattr(joins_spark, "FIRST", 1)
    provider.conf.set(PROVIDER, ROCKSDB)
    figure = joins_spark.contest("two", 2, 1.0, provider, Size(2_000), 1)
    assert sorted(contestants(figure)) == ["chained joins", "one operator"]
    assert all(row[-1] > 0 for row in figure.rows)
    assert "as fast per micro-batch" in figure.ours


def test_om(spark, monkeypatch):
    monkeypatch.setattr(om, "PATTERN", (3, 1))
    monkeypatch.setattr(om, "CYCLES", 1)
    figure = om.utility(spark, Size(1_000), 1)
    assert contestants(figure) == ["om", "slow first", "fast first"]
    assert "decisions" in figure.ours


def test_queries(spark, monkeypatch):
    monkeypatch.setattr(queries, "QUERIES", 2)
    monkeypatch.setattr(queries, "FILES", 1)
    figure = queries.sharing(spark, Size(2_000), 1)
    assert sorted(contestants(figure)) == sorted([queries.SHARED, queries.ALONE, queries.PLAIN])
    assert "of the evaluations saved" in figure.ours


@pytest.fixture
def command(spark, monkeypatch):
    """Runs a command in the session of the tests, which it cannot stop."""
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    for module in (demo, filters):
        monkeypatch.setattr(module, "local_session", lambda *_: spark)

    def call(*arguments):
        done = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
        assert done.exit_code == 0
        return done.output

    return call


def test_the_demo_compares_and_writes_a_page(command, tmp_path):
    page = tmp_path / "page.html"
    assert "The same alerts both ways" in command("demo", "--rows", "20000", "--output", str(page))
    assert "Anabranch report" in page.read_text()


def test_filters_has_every_contestant(command, tmp_path):
    target = tmp_path / "figures.json"
    size = ("--rows", "2000", "--repeat", "1")
    printed = command("bench", "filters", "groups-4", *size, "--output", str(target))
    lines = {line["contestant"]: line for line in json.loads(target.read_text())}
    expected = {"plain Spark", "chained filters", "identity", "fixed, as written", "fixed, best"}
    expected |= {policy.name for policy in POLICIES if policy.name != "fixed"}
    assert set(lines) == expected | {"auto (budget 1 %)", "clairvoyant bound"}
    assert lines["plain Spark"]["evaluations"] == 4 * 2000
    assert lines["fixed, best"]["of_best"] == pytest.approx(1)
    assert all(name in printed for name in lines)
