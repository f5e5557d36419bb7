"""What once went wrong: each a case of its own."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from anabranch.bench.replay import replay
from anabranch.data.mesh_streams import xor
from anabranch.kernel import ArrowPredicate, Fabric, Ledger
from anabranch.kernel.fabric import Memory
from anabranch.model import (
    Attribute,
    Cells,
    HashPartition,
    InputError,
    Mesh,
    Operator,
    Query,
    Route,
    Tree,
    Windowed,
)
from anabranch.policies import AGreedy, Eddy, Feedback, Fixed, QueryMesh, Visit
from anabranch.policies.query_mesh.beside import Beside
from anabranch.policies.query_mesh.brain import Failed, Found, Nobody
from anabranch.policies.query_mesh.detect import Detectors
from anabranch.policies.query_mesh.induce import Column, induce
from anabranch.policies.query_mesh.monitor import Monitor, Reading
from anabranch.policies.query_mesh.refine import Refinement
from anabranch.policies.query_mesh.treed import solve
from anabranch.policies.query_mesh.watch import Watcher
from anabranch.spark.collector import Collector
from anabranch.spark.pilot import agreed
from anabranch.stats import Reservoir


def test_opt_with_too_many_tuples_is_refused_before_any_row():
    with pytest.raises(InputError, match="Bell number B_10"):
        QueryMesh(search="opt")
    assert QueryMesh(search="opt", condensed=9).condensed == 9


def test_no_rows_on_the_driver_give_the_order_written():
    query = Query((Operator("a"), Operator("b")))
    plan = agreed(QueryMesh(), query, Collector(2).log())
    assert plan.routes == (Route.of(query, (0, 1)),)


@pytest.mark.parametrize(
    "values",
    [
        np.where(np.arange(400) % 2, sys.float_info.max, 1.0),
        np.where(np.arange(400) % 2, 1e15 + 33_554_432.0, 1e15),
        np.where(np.arange(400) % 2, np.inf, -np.inf),
        np.where(np.arange(400) % 2, -np.inf, 5.0),
        np.where(np.arange(400) % 2, np.nan, 5.0),
    ],
    ids=["largest", "close", "infinities", "below", "nan"],
)
def test_a_tree_over_values_that_scikit_learn_cannot_hold(values):
    routes = np.arange(400) % 2
    tree = induce([Column("x", values, False)], routes)
    told = tree.classify({"x": values}.__getitem__, 400, np.random.default_rng(0))
    assert (told.routes == routes).all()


def test_every_kind_of_plan_can_begin_a_mesh():
    stream = xor(30_000)
    drops, columns = stream.drops(), stream.columns()
    learned = replay(QueryMesh(), drops, stream.attributes, columns, workers=1).plans[0]
    lottery = Eddy().bind(stream.query).plan()
    assert isinstance(learned.classifier, Cells | Tree)
    alike = Mesh(learned.query, learned.routes, {}, Windowed(learned.classifier, 1))
    for start in (lottery, learned, alike, Mesh.single(stream.query, stream.query.written())):
        done = replay(QueryMesh(), drops, stream.attributes, columns, workers=1, start=start)
        assert (done.keep == ~drops.any(axis=1)).all()


def test_a_wrong_plan_is_mended_soon():
    stream = xor(200_000, seed=3)
    learned = replay(QueryMesh(), stream.drops(), stream.attributes, stream.columns()).plans[0]
    other = stream.swapped()
    drops = other.drops()
    done = replay(QueryMesh(), drops, other.attributes, other.columns(), workers=1, start=learned)
    first = next(e for e in done.ledger.events if e.kind in ("upgrade", "fallback"))
    assert first.row < 10_000
    assert done.evaluations < 1.05 * other.oracle(drops)


def test_no_process_is_no_failure_of_the_task(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nonexistent")
    brain = Beside()
    brain.watch(0, [Reading(0, "cost", 1.0)])
    [reply] = brain.replies()
    assert isinstance(reply, Failed)
    assert "cannot be started" in reply.error
    brain.close()


def test_rows_that_met_some_operators_only_do_not_decide_an_order(monkeypatch):
    """b drops all that a drops, and more; rows dropped by a first never show that."""
    random = np.random.default_rng(0)
    rows = 200_000
    u = random.random(rows)
    early = np.arange(rows) < 20_000
    a = np.where(early, random.random(rows) < 0.6, u < 0.4)
    b = np.where(early, random.random(rows) < 0.1, u < 0.7)
    drops = np.column_stack([a, b])
    stream = xor(1)
    noise = {"A1": random.random(rows)}
    monkeypatch.setattr(Watcher, "update", lambda *_: None)  # no alarm helps
    mesh = replay(
        QueryMesh(), drops, stream.attributes[:1], noise, workers=1, batch=2_000
    ).evaluations
    single = replay(AGreedy(p="auto", window=250), drops, workers=1, batch=2_000).evaluations
    assert mesh < 1.03 * single
    assert Nobody().replies() == []


def test_short_slices_are_not_held_to_the_rusters_of_a_batch():
    learner = QueryMesh(ruster=100).bind(xor(1).query)
    assert learner.sampling().least == 100  # no batch was seen yet: a slice is one
    stream = xor(60_000)
    for policy in (QueryMesh(ruster=100), QueryMesh(ruster=1000)):
        done = replay(policy, stream.drops(), stream.attributes, stream.columns(), workers=1)
        assert any(e.kind == "upgrade" for e in done.ledger.events)


def test_routes_with_the_same_order_are_counted_together():
    one, two = Ledger.empty(2), Ledger.empty(2)
    one.work, two.work = {(0, 1): [5, 3]}, {(0, 1): [1, 1], (1, 0): [2, 2]}
    assert one.merge(two).work == {(0, 1): [6, 4], (1, 0): [2, 2]}


def test_words_stay_few():
    ledger = Ledger.empty(1)
    for part in range(40):
        more = Ledger.empty(1)
        more.words = {"user": {float(part * 100 + i): f"u{i}" for i in range(100)}}
        ledger = ledger.merge(more)
    assert len(ledger.words["user"]) == 1_000


def test_an_uncertain_part_of_nothing_is_refused():
    query = Query((Operator("a"), Operator("b")))
    with pytest.raises(InputError, match="uncertain parts"):
        Route(query, ("a", "b"), ((0, 0),))


def test_a_sample_of_many_rows_outweighs_one_of_few():
    large, small = Reservoir(1, 1, 4_000), Reservoir(1, 1, 4_000)
    for sample, value in ((large, 0.0), (small, 1.0)):
        sample.update(np.full((1_000, 1), value), np.zeros((1_000, 1), bool), np.ones((1_000, 1)))
    large.seen, small.seen = 1_000_000, 10_000
    both = large.merge(small)
    assert 990 <= len(both) <= 1_020
    assert both.values.mean() < 0.02
    assert large.merge(Reservoir(1, 1, 4_000)).values.mean() == 0.0


NOBODY = np.zeros((0, 2), bool)  # no row was profiled


def test_a_route_where_all_rows_ended_alike_raises_no_alarm():
    """One row in 2,000 gets past the first operator: none of the first thousand did."""
    query = Query((Operator("a"), Operator("b")))
    monitor = Monitor(Mesh.single(query, ("a", "b")), np.array([5e-6, 5e-6]))
    detectors, alarms = Detectors(), []
    for chunk in range(40):
        passed = np.zeros(1_000, bool)
        passed[0] = chunk % 2 == 1
        visits = (Visit(0, np.arange(1_000), passed), Visit(1, np.flatnonzero(passed), passed[:1]))
        alarms += detectors.update(monitor.update(Feedback(1_000, (), NOBODY, visits=visits)))
    assert alarms == []


def test_what_a_task_learned_of_lots_and_of_its_time_is_not_lost_with_its_fabric():
    """One operator drops all rows: tasks of one batch each find it soon."""
    query = Query((Operator("a"), Operator("b")))
    learner = Fixed().bind(query, Mesh(query, (Route(query, ("a", "b"), ((0, 2),)),)))
    memory, evaluated, seconds = Memory(), 0, iter(range(1_000_000))
    columns = [pa.array([True] * 200), pa.array([False] * 200)]
    for task in range(40):
        predicates = [(ArrowPredicate(lambda passed: passed), [j]) for j in range(2)]
        fabric = Fabric(query, predicates, learner, task, busy=lambda: next(seconds), memory=memory)
        fabric.process(columns, 200)
        evaluated += fabric.take_ledger().operators[0].evaluated if task >= 20 else 0
        assert memory.learning > 0
    assert evaluated < 0.25 * 20 * 200


class Slow(Nobody):
    """Searches, once it is worth it."""

    patience, searches = 1.0, True

    def __init__(self):
        self.asked = []

    def search(self, ticket, task):
        self.asked.append((ticket, task))

    def replies(self):
        return [Found(ticket, solve(task)) for ticket, task in self.asked[-1:]]


def test_a_thorough_search_waits_until_it_is_worth_it_and_its_mesh_is_looked_at(monkeypatch):
    stream, brain, found = xor(300_000), Slow(), []
    begin, consider = QueryMesh.begin, QueryMesh._consider

    def begin_slowly(self, start):
        begin(self, start)
        self._watcher.brain = brain

    def look(self, solution):
        found.append(solution.mesh)
        consider(self, solution)

    monkeypatch.setattr(QueryMesh, "begin", begin_slowly)
    monkeypatch.setattr(QueryMesh, "_consider", look)
    monkeypatch.setattr("anabranch.policies.query_mesh.policy.STABLE", 1.0)
    policy = QueryMesh(sample=300)
    replay(policy, stream.drops(), stream.attributes, stream.columns(), workers=1)
    [(_, task)] = brain.asked
    assert len(task.sample) >= 300
    assert task.settings.condensed == 100
    assert solve(task).mesh in found


def test_rows_of_cells_that_are_not_known_have_the_first_route():
    """A plan with more cells than are listed: those that take the main route are not in it."""
    query = Query((Operator("a"), Operator("b")), (Attribute("x"),))
    many = HashPartition("x", buckets=300)
    routes = (Route.of(query, (0, 1)), Route.of(query, (1, 0)))
    mesh = Mesh(query, routes, {}, Cells((many,), ((7, 1),)))
    refinement = Refinement.blank(mesh)
    cells = np.array([7] * 300 + [8] * 700)  # a drops all of the known cell, b all of the others
    rows = np.arange(1_000)
    for _ in range(20):
        visits = (Visit(0, rows, cells == 8), Visit(1, rows, cells == 7))
        refinement.update(Feedback(1_000, (), NOBODY, visits=visits, cells=cells))
    _, mended, gain = refinement.repaired(np.full(2, 5e-6), 0.0)
    assert gain > 0.3
    assert mended.routes[0].indexes == (1, 0)
    assert mended.classifier.routes_of([7, 8]).tolist() == [1, 0]
