"""The brain of a stream in rounds: it follows drift, and goes on where it was."""

import json
from dataclasses import replace

import numpy as np
import pytest

from anabranch.kernel.rounds import RoundBrain
from anabranch.model import Attribute, Operator, Query
from anabranch.policies import AGreedy, Fixed
from anabranch.policies.query_mesh import Auto
from anabranch.stats import Reservoir

QUERY = Query(tuple(map(Operator, "abc")), (Attribute("kind"), Attribute("noise")))


def sampled(number, passes, rows=120):
    """Rows of a round; passes[class] are the shares that each operator passes."""
    random = np.random.default_rng(number)
    kind = random.integers(0, len(passes), rows)
    drops = random.random((rows, 3)) > np.array(passes)[kind]
    sample = Reservoir(attributes=2, operators=3)
    values = np.column_stack([kind.astype(float), random.random(rows)])
    sample.update(values, drops, np.full((rows, 3), 2e-6))
    return sample


def test_a_hundred_rounds_with_two_drifts():
    brain = RoundBrain(QUERY, AGreedy())
    epochs = [[[0.9, 0.2, 0.8]], [[0.2, 0.9, 0.8]], [[0.9, 0.8, 0.1]]]
    first, drifts, switches = [], [], []
    for number in range(100):
        decision = brain.observe(sampled(number, epochs[number // 34]))
        first.append(decision.mesh.routes[0].order[0])
        drifts += [number] if decision.drift else []
        switches += [number] if decision.switched else []
    assert [first[33], first[67], first[99]] == ["b", "a", "c"]
    assert drifts == [34, 68]
    assert all(any(d <= s <= d + 3 for s in switches) for d in (0, 34, 68))
    assert len(switches) <= 6


def test_classes_that_change_places_are_a_drift_though_all_rows_together_are_as_before():
    brain = RoundBrain(QUERY, Auto())
    classes = [[0.1, 0.9, 0.9], [0.9, 0.1, 0.9]]
    for number in range(10):
        decision = brain.observe(sampled(number, classes, 300))
    assert len(decision.mesh.routes) == 2
    drift = [brain.observe(sampled(100 + n, classes[::-1], 300)) for n in range(4)]
    assert drift[0].drift == "cost of the plan"
    by_kind = {rule.split(":")[0]: rule.split(": ")[1][0] for rule in drift[-1].mesh.rules()}
    assert sorted(by_kind.values()) == ["a", "b"]
    assert drift[-1].mesh.rules() != decision.mesh.rules()


@pytest.mark.parametrize("policy", [AGreedy(), Auto()])
def test_what_it_knows_survives_as_json(policy):
    brain = RoundBrain(QUERY, policy)
    for number in range(5):
        brain.observe(sampled(number, [[0.9, 0.2, 0.8]]))
    again = RoundBrain(QUERY, policy)
    again.restore(json.loads(json.dumps(brain.to_dict())))
    assert again.mesh == brain.mesh
    assert again.to_dict() == brain.to_dict()
    later = [b.observe(sampled(9, [[0.2, 0.9, 0.8]])).mesh.routes for b in (brain, again)]
    assert later[0] == later[1]


def test_a_fixed_order_stays():
    brain = RoundBrain(QUERY, Fixed(order=["c", "b", "a"]))
    for number in range(5):
        decision = brain.observe(sampled(number, [[0.1, 0.9, 0.9]]))
    assert decision.mesh.routes[0].order == ("c", "b", "a")
    assert not decision.switched


def test_a_plan_that_is_no_better_by_now_is_not_adopted():
    brain = RoundBrain(QUERY, AGreedy())
    for number in range(3):
        brain.take(sampled(number, [[0.9, 0.2, 0.8]]))
    thought = brain.thought()
    brain.adopt(thought())
    order = brain.mesh.routes[0].order
    brain.take(sampled(50, [[0.2, 0.9, 0.8]], 600))  # the data changes while a search runs
    assert not brain.adopt(thought()).switched
    assert brain.mesh.routes[0].order == order


def test_operators_that_were_not_timed_yet_do_not_stop_the_planning():
    brain = RoundBrain(Query((Operator("a"), Operator("b"))), AGreedy())
    sample = Reservoir(attributes=0, operators=2, size=500)
    times = np.full((500, 2), 1e-6)
    times[:3, 1] = np.nan
    sample.update(np.zeros((500, 0)), np.arange(500)[:, None] % [10, 2] == 0, times)
    assert brain.observe(sample).mesh.routes[0].order == ("b", "a")
    told = json.loads(json.dumps(brain.to_dict(), allow_nan=False))
    again = RoundBrain(brain.query, AGreedy())
    assert again.restore(told)
    assert again.mesh.routes == brain.mesh.routes


def test_what_another_policy_learned_is_not_restored():
    query = Query((Operator("a"), Operator("b")))
    told = RoundBrain(query, AGreedy()).to_dict()
    assert not RoundBrain(query, Fixed()).restore(told)
    mine = RoundBrain(query, Fixed(order=("b", "a")))
    assert mine.restore(RoundBrain(query, Fixed()).to_dict())
    assert mine.mesh.routes[0].order == ("b", "a")


def test_times_of_code_that_is_not_compiled_yet_are_levelled():
    """Two operators that drop alike; the first rounds make the cheaper one look dearer."""
    brain = RoundBrain(Query((Operator("a"), Operator("b"))), AGreedy(), cold=True)

    def told(a, b):
        sample = Reservoir(attributes=0, operators=2)
        drops = np.arange(300)[:, None] % [2, 2] == [0, 1]
        sample.update(np.zeros((300, 0)), drops, np.tile([a, b], (300, 1)))
        return brain.observe(sample)

    assert told(20e-6, 60e-6).mesh.routes[0].order == ("a", "b")
    told(10e-6, 5e-6)
    told(10e-6, 1e-6)
    assert told(11e-6, 2e-6).mesh.routes[0].order == ("b", "a")
    assert np.median(brain.window.times, axis=0) == pytest.approx([10e-6, 1e-6])
    again = RoundBrain(brain.query, AGreedy(), cold=True)
    assert again.restore(json.loads(json.dumps(brain.to_dict())))
    assert np.median(again.window.times, axis=0) == pytest.approx([10e-6, 1e-6])


def test_plans_are_told_in_words_also_after_a_restart():
    query = replace(QUERY, attributes=(Attribute("kind", "word"), Attribute("noise")))
    brain = RoundBrain(query, Auto())
    classes = [[0.1, 0.9, 0.9], [0.9, 0.1, 0.9]]
    for number in range(10):
        brain.observe(sampled(number, classes, 300))
    assert "apple" not in str(brain.mesh.rules())
    assert brain.unspelled() == ["kind"]
    brain.spell({"kind": {0.0: "apple", 1.0: "pear"}})
    assert brain.unspelled() == []
    assert "apple" in str(brain.mesh.rules()) or "pear" in str(brain.mesh.rules())
    plan = brain.mesh
    brain.spell({"kind": {0.0: "apple"}})
    assert brain.mesh is plan  # nothing new: nothing to compile
    again = RoundBrain(query, Auto())
    assert again.restore(json.loads(json.dumps(brain.to_dict())))
    assert again.mesh.rules() == plan.rules()
    assert again.words == plan.words
    for number in range(100, 104):
        brain.observe(sampled(number, classes[::-1], 300))
    assert brain.mesh.routes != plan.routes or brain.mesh.classifier != plan.classifier
    assert "apple" in str(brain.mesh.rules()) or "pear" in str(brain.mesh.rules())
