"""Reports and plans cover what ran, once."""

import json

import pytest
from pyspark.sql import functions as F

import anabranch as ab

ROWS = 20_000


@pytest.fixture(scope="module")
def df(spark):
    return spark.range(0, ROWS, 1, 4).withColumn("k", F.col("id") % 10)


def some(k):
    return k < 3


def most(k):
    """So much dearer than `some` that no hiccup of the machine can turn their order."""
    return k < 9 and sum(range(200)) > 0


def run_of(df, **arguments):
    return ab.query(df).where(most, "k").where(some, "k").run(**arguments)


def test_nothing_ran_yet(df):
    run = run_of(df)
    report = run.report()
    assert (report.rows_in, report.scope) == (0, "no action yet")
    assert "0 rows in" in str(report)
    assert run.plan().routes[0].order == ("most", "some")


def test_one_action(df):
    run = run_of(df)
    assert run.df.count() == ROWS * 3 // 10
    report = run.report()
    assert (report.rows_in, report.rows_out) == (ROWS, ROWS * 3 // 10)
    assert report.scope == "1 action"
    assert sum(rows for _, rows in report.routes) == ROWS
    needed = sum(report.evaluations.values()) - sum(report.profiling.values())
    assert needed < 1.4 * ROWS
    assert report.evaluations["some"] > 0.9 * ROWS
    assert set(report.seconds) == {"most", "some"}
    assert report.switches >= 1
    assert report.events[0].after == ("some", "most")
    assert report.order == ("some", "most")


def test_several_actions_add_up(df, tmp_path):
    run = run_of(df)
    run.df.count()
    run.df.write.parquet(str(tmp_path / "out"))
    run.df.toPandas()
    report = run.report()
    assert report.rows_in == 3 * ROWS
    assert report.scope == "3 actions"


def test_a_cached_result_is_counted_once(df):
    run = run_of(df)
    cached = run.df.cache()
    cached.count()
    cached.count()
    cached.unpersist()
    assert run.report().rows_in == ROWS
    assert run.report().scope == "1 action"


def test_a_retried_task_is_counted_once():
    from anabranch.kernel.ledger import Ledger, Times
    from anabranch.spark.collector import Collector

    def letter(attempt, number, rows, call="c"):
        ledger = Ledger.empty(1)
        ledger.update(rows, 0, (), [((0,), rows)], (), Times())
        head = {"run": "r", "worker": "w", "stage": 3, "partition": 0, "attempt": attempt}
        rest = {"call": call, "number": number, "last": True, "ledger": ledger.to_dict()}
        return json.dumps({**head, **rest}).encode()

    collector = Collector(1)
    collector.deliver([[letter(0, 1, 5), letter(0, 2, 5)]])
    collector.deliver([[letter(1, 1, 7)]])
    collector.deliver([[letter(0, 1, 5)]])
    assert collector.log().total.rows_in == 7
    collector.deliver([[letter(1, 1, 2, call="d")]])  # a coalesced partition in the same task
    assert collector.log().total.rows_in == 9


def test_the_collectors_memory_is_bounded(monkeypatch):
    from anabranch.kernel.ledger import Ledger, Times
    from anabranch.report import log
    from anabranch.spark import collector as module

    monkeypatch.setattr(module, "MAX_TASKS", 10)
    monkeypatch.setattr(log, "MAX_WORKERS", 20)
    ledger = Ledger.empty(1)
    ledger.update(5, 0, (), [((0,), 5)], (), Times())
    ledger.current = ("a",)
    collector = module.Collector(1)

    def letter(stage):
        head = {"run": "r", "worker": f"w{stage}", "stage": stage, "partition": 0, "attempt": 0}
        rest = {"call": "c", "number": 1, "last": True, "ledger": ledger.to_dict()}
        return json.dumps({**head, **rest}).encode()

    for stage in range(100):
        collector.deliver([[letter(stage)]])
    collector.deliver([[letter(0)]])  # a cached plan reports again
    assert collector.deliveries == 100
    assert len(collector._tasks) <= 10
    assert collector.log().total.rows_in == 500
    assert len(collector.log().rows) == 20
    assert collector.log().order() == ("a",)


def test_a_limit_reports_what_was_read(df):
    run = run_of(df)
    run.df.limit(5).collect()
    report = run.report()
    assert 0 < report.rows_in < ROWS
    assert report.scope == "1 action, partial: not all rows were read"


def test_the_same_dataframe_again_and_again(df):
    run = run_of(df)
    same = run.df
    for _ in range(10):
        same.collect()
    assert run.report().rows_in == 10 * ROWS
    assert run.report().scope == "10 actions"


def test_coalesced_partitions_are_all_counted(df):
    run = run_of(df)
    run.df.coalesce(1).collect()
    assert run.report().rows_in == ROWS
    assert "partial" not in run.report().scope


def test_a_query_without_python_has_nothing_to_observe(df):
    run = ab.query(df).where("k > 3").run()
    run.df.count()
    assert run.report().scope.startswith("nothing to observe")
    assert "nothing to order" in ab.query(df).where("k > 3").explain()


def test_two_queries_do_not_share_what_they_learned(df):
    one = run_of(df)
    one.df.count()
    two = ab.query(df).where(some, "k", name="most").where(most, "k", name="some").run()
    two.df.count()
    assert one.plan().routes[0].order == ("some", "most")
    assert two.plan().routes[0].order == ("most", "some")


def test_learning_goes_on_from_task_to_task(df):
    run = run_of(df.repartition(16))
    for _ in range(2):
        run.df.count()
    report = run.report()
    # 32 tasks, and each of the few workers learned its first order once.
    assert len(report.workers) < 16
    assert all(worker["rows"] > 2 * ROWS / 16 for worker in report.workers.values())
    learned = [event.worker for event in report.events if event.row <= 300]
    assert sorted(learned) == sorted(report.workers)


def test_a_saved_plan_starts_the_next_run(df, tmp_path):
    run = run_of(df)
    run.df.count()
    run.plan().save(tmp_path / "plan.json")
    plan = ab.load(tmp_path / "plan.json")
    assert plan.figures["some"]["passed"] == pytest.approx(0.3, abs=0.01)
    again = run_of(df, start=plan)
    again.df.count()
    report = again.report()
    assert report.routes == [("some, most", ROWS)]
    assert report.switches == 0


def test_the_policies_order_shows_in_the_report(df):
    run = run_of(df, policy=ab.Fixed(order=["most", "some"]))
    run.df.count()
    report = run.report()
    assert report.evaluations == {"most": ROWS, "some": ROWS * 9 // 10}
    assert sum(report.profiling.values()) == 0


def test_report_as_text_json_and_page(df, tmp_path):
    query = ab.query(df).where(most, "k").where(some, "k")
    run = query.run()
    run.df.count()
    report = run.report()
    text = str(report)
    assert "20,000 rows in, 6,000 out" in text
    assert "fewer than all on every row" in text
    assert "some, most" in text
    data = json.loads(json.dumps(report.to_dict()))
    assert data["rows_in"] == ROWS
    assert data["events"][0]["after"] == ["some", "most"]
    page = report.to_html(tmp_path / "sub" / "report.html").read_text()
    for part in ("20,000 rows in", "Order over time", "most", "plotly"):
        assert part in page
    assert 'src="http' not in page  # self-contained
    told = query.explain()
    assert "1. some(k): " in told
    assert "drops 70.0% of the rows it sees" in told


def test_results_do_not_depend_on_the_report_being_asked(df):
    run = run_of(df)
    del run._collector
    assert run.df.count() == ROWS * 3 // 10
