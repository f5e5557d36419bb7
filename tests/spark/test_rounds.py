"""Rounds: one plan for all workers, made between micro-batches, kept under the checkpoint."""

import json

import pytest
from pyspark.sql import functions as F

import anabranch as ab
from anabranch.bench import rounds_job
from anabranch.bench.rounds_job import kept
from anabranch.bench.rounds_victim import RoundsVictim
from anabranch.data.shifting import EPOCHS, shifting, write_files
from anabranch.model import Attribute, Operator, Query
from anabranch.policies import AGreedy
from anabranch.spark.attributes import numbers
from anabranch.spark.collector import Postman
from anabranch.spark.native_stage import Stage
from anabranch.spark.rounds import runner
from anabranch.spark.rounds.observed import Sampler, Told

FILES, ROWS = 8, 2_000
SCHEMA = "id long, a int, b int, s string"


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A round waits for the plan that the one before gave rise to: which has which is known."""
    monkeypatch.setattr(runner, "PATIENCE", 1e6)


@pytest.fixture
def folder(spark, tmp_path):
    """Files of which the first half is dropped mostly by a, the others by b."""
    target = tmp_path / "in"
    for i in range(FILES):
        a, b = (2, 20) if i < FILES // 2 else (20, 2)
        part = spark.range(i * ROWS, (i + 1) * ROWS).selectExpr(
            "id", f"pmod(hash(id), {a}) AS a", f"pmod(hash(id + 7), {b}) AS b", "string(id) AS s"
        )
        part.coalesce(1).write.mode("append").parquet(str(target))
    return target


def stream_of(spark, folder):
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1")
    return reader.parquet(str(folder))


def python_query(df):
    query = ab.query(df).where(lambda b: b != 0, "b", name="b")
    return query.where(lambda a: a != 0, "a", name="a")


def expected(spark, folder):
    kept = spark.read.parquet(str(folder)).filter("a <> 0 and b <> 0")
    return sorted(row.id for row in kept.select("id").collect())


class Sink:
    """What is written, by round: a round that is given again takes the place of itself."""

    def __init__(self, fails_at=None):
        self.rounds, self.fails_at = {}, fails_at

    def __call__(self, df, number):
        if number == self.fails_at:
            raise RuntimeError("no room")
        self.rounds[number] = [row.id for row in df.select("id").collect()]

    def ids(self):
        return sorted(i for rows in self.rounds.values() for i in rows)


def finished(query, sink, checkpoint, **options):
    handle = query.stream(sink, checkpoint=str(checkpoint), trigger="available now", **options)
    try:
        handle.await_termination()
    finally:
        handle.stop()
    return handle


def test_the_plan_follows_and_the_history_tells(spark, folder, tmp_path):
    sink, heard = Sink(), []
    handle = finished(
        python_query(stream_of(spark, folder)),
        sink,
        tmp_path / "checkpoint",
        policy="agreedy",
        listener=heard.append,
    )
    assert sink.ids() == expected(spark, folder)
    history = handle.history().collect()
    assert [row["round"] for row in history] == list(range(FILES)) == sorted(sink.rounds)
    assert [row["rows"] for row in history] == [ROWS] * FILES
    assert [told.pop("spark")["numInputRows"] for told in heard] == [ROWS] * FILES
    assert [dict(row.asDict()) for row in history] == heard
    assert sum(row["evaluations"] for row in history) == sum(handle.report().evaluations.values())
    assert "selectivity of" in history[FILES // 2]["drift"]
    assert history[0]["plan"] == "1: b, a"
    assert history[FILES // 2 - 1]["plan"] == "1: a, b"
    assert handle.plan().routes[0].order == ("b", "a")
    assert any(row["switched"] for row in history[FILES // 2 :])


@pytest.mark.parametrize("python", [False, True])
def test_native_predicates_in_rounds(spark, folder, tmp_path, python):
    query = ab.query(stream_of(spark, folder))
    query = query.where("a <> 0 and s RLIKE '.'", name="a").where("b * 2 <> 0", name="b")
    if python:
        query = query.where(lambda i: i % 3 != 0, "id", name="third")
    sink = Sink()
    handle = finished(query, sink, tmp_path / "checkpoint")
    kept = expected(spark, folder)
    assert sink.ids() == ([i for i in kept if i % 3 != 0] if python else kept)
    assert [row["rows"] for row in handle.history().collect()] == [ROWS] * FILES
    plan = handle.plan().before if python else handle.plan()
    assert set(plan.query.names) == {"a", "b"}
    assert plan.figures["a"]["cost"] > 0


def test_lookups_in_rounds_and_the_plan_of_a_batch(spark, folder, tmp_path):
    few = spark.range(0, FILES * ROWS, 3).toDF("id")
    files = spark.read.parquet(str(folder))
    plan = python_query(files).lookup(few, on="id", name="few").run().plan()
    assert plan.query.names == ("b", "a")
    wanted = [i for i in expected(spark, folder) if i % 3 == 0]
    for policy in ("auto", "agreedy"):
        query = python_query(stream_of(spark, folder)).lookup(few, on="id", name="few")
        sink = Sink()
        handle = finished(query, sink, tmp_path / policy, policy=policy, start=plan)
        assert sink.ids() == wanted
        assert handle.report().rows_in == -(-FILES * ROWS // 3)  # the others stay in Spark


def test_a_restart_with_lookups_elsewhere_begins_anew(spark, folder, tmp_path):
    few = spark.range(0, FILES * ROWS, 3).toDF("id")
    files = spark.read.parquet(str(folder))
    plan = python_query(files).lookup(few, on="id", name="few").run().plan()
    query = python_query(stream_of(spark, folder)).lookup(few, on="id", name="few")
    sink = Sink(fails_at=3)
    with pytest.raises(Exception, match="no room"):
        finished(query, sink, tmp_path / "c", policy="agreedy", start=plan)
    sink.fails_at = None
    with pytest.warns(UserWarning, match="lookups elsewhere; learning begins anew"):
        handle = finished(query, sink, tmp_path / "c", policy="agreedy")
    assert sink.ids() == [i for i in expected(spark, folder) if i % 3 == 0]
    assert set(handle.plan().query.names) == {"few", "a", "b"}


def test_sampled_rows_tell_their_words(spark, folder):
    batch = spark.read.parquet(str(folder))
    query = Query((Operator("a"), Operator("b")), (Attribute("a"), Attribute("s", "word")))
    conditions = {"a": F.expr("a <> 0"), "b": F.expr("b <> 0")}
    stage = Stage(query, conditions, AGreedy())
    told, postman = Told(stage), Postman.of(spark)
    postman.subscribe("words", told)
    sampler = Sampler(stage, batch)
    found = sampler.applied(batch, list(conditions.values()), 0.1, 0, "words", ["s"])
    assert sorted(row.id for row in found.collect()) == expected(spark, folder)
    postman.wait()
    known = told.words["s"]
    assert len(known) > 50
    words = spark.createDataFrame([(word,) for word in known.values()], "s string")
    rows = words.select(numbers(words, ["s"])["s"], "s").collect()
    assert known == {row[0]: row[1] for row in rows}
    assert set(known) == set(told.sample.values[:, 1])


def test_a_write_that_raises_stops_the_stream_and_the_round_is_given_again(spark, folder, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    failing = Sink(fails_at=3)
    handle = python_query(stream_of(spark, folder)).stream(
        failing, checkpoint=str(checkpoint), policy="agreedy", trigger="available now"
    )
    with pytest.raises(RuntimeError, match="no room"):
        handle.await_termination()
    assert sorted(failing.rounds) == [0, 1, 2]
    known = Sink()
    again = finished(python_query(stream_of(spark, folder)), known, checkpoint, policy="agreedy")
    assert sorted(known.rounds) == list(range(3, FILES))
    assert sorted([*failing.ids(), *known.ids()]) == expected(spark, folder)
    history = again.history().collect()
    assert [row["round"] for row in history] == list(range(FILES))
    assert history[2]["plan"] == history[3]["plan"] == "1: a, b"  # it goes on with what it knew


def test_a_checkpoint_of_another_query_is_refused(spark, folder, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    finished(python_query(stream_of(spark, folder)), Sink(), checkpoint)
    other = ab.query(stream_of(spark, folder)).where(lambda a: a != 0, "a", name="other")
    with pytest.raises(ab.PlanError, match='another query: "b" is only in the checkpoint'):
        other.stream(Sink(), checkpoint=str(checkpoint))
    newest = max((checkpoint / "anabranch").glob("round-*.json"))
    state = json.loads(newest.read_text())
    assert state["format"] == "anabranch-rounds/2"
    newest.write_text("{")
    with pytest.raises(ab.PlanError, match="damaged state"):
        python_query(stream_of(spark, folder)).stream(Sink(), checkpoint=str(checkpoint))


def test_a_guarded_native_predicate_is_not_asked_where_its_guard_is_null(
    spark, tmp_path, monkeypatch
):
    """In a sampled round, too: half of the rows are."""
    monkeypatch.setattr(runner, "CURIOUS", 0.5)
    rows = [(i, None if i % 2 else True, "x" if i % 2 else str(i)) for i in range(400)]
    schema = "id long, flag boolean, body string"
    spark.createDataFrame(rows, schema).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    query = ab.query(stream).where("NOT NOT flag AND id + 0 >= 0", name="flag")
    query = query.where("cast(body AS int) > 3", name="number", after="flag")
    sink = Sink()
    handle = finished(query, sink, tmp_path / "checkpoint")
    assert sink.ids() == list(range(4, 400, 2))
    told = handle.history().collect()[0]
    assert (told["rows"], told["rows_out"]) == (400, 198)
    assert handle.plan().figures["number"]["cost"] > 0


def test_columns_that_belong_to_the_stream(spark, folder, tmp_path):
    df, sink = stream_of(spark, folder), Sink()
    query = ab.query(df).where(df["a"] + 0 != 0, name="a").where(df["b"] + 0 != 0, name="b")
    query = query.where(lambda i: i % 3 != 0, df["id"], name="third")
    finished(query, sink, tmp_path / "checkpoint")
    assert sink.ids() == [i for i in expected(spark, folder) if i % 3 != 0]


def test_two_actions_in_a_round_count_its_rows_once(spark, folder, tmp_path):
    def write(df, _):
        df.limit(1).collect()
        df.write.format("noop").mode("overwrite").save()

    query = ab.query(stream_of(spark, folder)).where("a + 0 <> 0", name="a")
    handle = finished(query.where("b + 0 <> 0", name="b"), write, tmp_path / "checkpoint")
    history = handle.history().collect()
    assert [row["rows"] for row in history] == [ROWS] * FILES
    assert sum(row["rows_out"] for row in history) == len(expected(spark, folder))


def test_another_policy_begins_anew_and_says_so(spark, folder, tmp_path):
    checkpoint = tmp_path / "checkpoint"
    failing = python_query(stream_of(spark, folder)).stream(
        Sink(fails_at=4), checkpoint=str(checkpoint), trigger="available now"
    )
    with pytest.raises(RuntimeError, match="no room"):
        failing.await_termination()
    with pytest.warns(UserWarning, match="learning begins anew"):
        again = finished(
            python_query(stream_of(spark, folder)),
            Sink(),
            checkpoint,
            policy=ab.Fixed(order=["b", "a"]),
        )
    assert {row["plan"] for row in again.history().collect()[4:]} == {"1: b, a"}


def test_what_cannot_run_in_rounds_is_refused(spark, folder, tmp_path):
    batch = python_query(spark.read.schema(SCHEMA).parquet(str(folder)))
    with pytest.raises(ab.InputError, match=r"use run\(\) for a batch"):
        batch.stream(Sink(), checkpoint=str(tmp_path / "c"))
    stream = python_query(stream_of(spark, folder))
    with pytest.raises(ab.InputError, match="write is a function"):
        stream.stream("console", checkpoint=str(tmp_path / "c"))
    with pytest.raises(ab.InputError, match="path of a folder"):
        stream.stream(Sink(), checkpoint="")
    with pytest.raises(ab.InputError, match="trigger is an interval"):
        stream.stream(Sink(), checkpoint=str(tmp_path / "c"), trigger=5)


def test_a_listener_that_raises_stops_the_stream(spark, folder, tmp_path):
    def listener(told):
        raise ValueError(f"round {told['round']}")

    handle = python_query(stream_of(spark, folder)).stream(
        Sink(), checkpoint=str(tmp_path / "c"), listener=listener
    )
    with pytest.raises(ValueError, match="round 0"):
        handle.await_termination()


def test_a_listener_may_stop_the_stream(spark, folder, tmp_path):
    handles = []
    handles.append(
        python_query(stream_of(spark, folder)).stream(
            Sink(), checkpoint=str(tmp_path / "c"), listener=lambda _: handles[0].stop()
        )
    )
    assert handles[0].await_termination(60)


def test_killed_every_row_has_the_fate_of_plain_spark(spark, tmp_path):
    """Ten deaths in a hundred rounds: `anabranch bench rounds kill`."""
    source, files = tmp_path / "in", 8
    write_files(shifting(spark, 4_000, EPOCHS), source, files)
    victim = RoundsVictim(source=source, folder=tmp_path)
    life = victim.killed(at=3)
    assert 3 <= life.committed < files
    # The next life is in this process, which is quicker than a new one.
    rounds_job.life(spark, *map(str, (source, victim.sink, victim.checkpoint)))
    assert victim.is_whole(kept(spark.read.parquet(str(source))))
    assert victim.goes_on(life)
    history = victim.history()
    assert [row["round"] for row in history] == list(range(files))
    assert sum(row["rows"] for row in history) == 4_000


def test_rounds_under_om_have_a_chart_and_go_on_with_it(spark, folder, tmp_path):
    query, sink = python_query(stream_of(spark, folder)), Sink(fails_at=5)
    policy = ab.OM(window=1.0, history=2, partitions=20)
    with pytest.raises(RuntimeError, match="no room"):
        finished(query, sink, tmp_path / "cp", policy=policy)
    sink.fails_at = None
    handle = finished(query, sink, tmp_path / "cp", policy=policy)
    assert sink.ids() == expected(spark, folder)
    told = handle.chart()
    assert told.decisions == FILES
    assert told.switches >= 1  # a drops most in the first half, b in the second
    assert [done.round for done in told.rounds][-3:] == [5, 6, 7]
    assert all(done.arrival_rate == ROWS for done in told.rounds)
    last = told.rounds[-1]
    assert last.plan == "b, a"
    assert last.memory > 0
    assert last.expected_memory > 0
    assert "x arrival rate: 20 x 20 regions" in str(told)
    page = told.to_html(tmp_path / "om.html").read_text()
    assert "The chart" in page
    history = handle.history().collect()
    assert all(row["rate"] > 0 and row["memory"] > 0 for row in history)
    with pytest.raises(ab.AnabranchError, match="no chart"):
        finished(query, Sink(), tmp_path / "other").chart()
