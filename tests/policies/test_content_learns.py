"""How Content-Learns goes about it: turns, samples, plans, bad input."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.bench.replay import replay
from anabranch.data.stream_star import StreamStar, skewed
from anabranch.kernel.rehearse import Known
from anabranch.model import NULL, Attribute, Cells, InputError, Mesh, Operator, PlanError, Query
from anabranch.policies import ContentKnows, ContentLearns, Eddy
from tests.strategies import queries


def right_rows(done, drops):
    return bool((done.keep == ~drops.any(axis=1)).all())


def test_an_operator_whose_place_is_clear_is_not_profiled():
    """One is a hundred times cheaper than the others: it comes first whatever the row."""
    star = StreamStar(skewed(4, 0.1))
    done = replay(
        ContentLearns(), star.drops(), star.attributes, star.columns(), costs=[5e-8] + [5e-6] * 3
    )
    assert right_rows(done, star.drops())
    for mesh in done.plans:
        paired = {pairing.operator for pairing in mesh.classifier.pairings}
        assert paired
        assert "d1" not in paired
        assert all(route.order[0] == "d1" for route in mesh.routes)


def test_no_pair_is_used_while_its_operator_is_profiled(monkeypatch):
    """Looked at from outside: which plan is in force, and who is profiled, at every slice."""
    turns = []
    plain = ContentLearns.sampling

    def watched(self):
        sampling = plain(self)
        mesh = self.plan()
        if isinstance(mesh.classifier, Cells):
            paired = {self.query.index(p.operator) for p in mesh.classifier.pairings}
            if sampling.first is not None:
                turns.append(sampling.first)
                assert sampling.first not in paired
            assert sampling.extra is None  # nor while all are profiled
        return sampling

    monkeypatch.setattr(ContentLearns, "sampling", watched)
    star = StreamStar(skewed(4, 0.1), rows=300_000)
    replay(ContentLearns(budget=0.02), star.drops(), star.attributes, star.columns(), workers=1)
    assert set(turns) == {0, 1, 2, 3}  # round robin
    assert all(b == (a + 1) % 4 for a, b in pairwise(turns))


@pytest.mark.parametrize("sample", [60, 120, 150])
def test_small_samples_learn_and_go_on(sample):
    star = StreamStar(skewed(4, 0.05))
    done = replay(ContentLearns(sample=sample), star.drops(), star.attributes, star.columns())
    assert done.evaluations < 1.3 * star.rows
    assert max(event.row for event in done.ledger.events) > 10_000


def test_a_continuous_attribute_in_the_papers_setting():
    random = np.random.default_rng(0)
    x = random.random(100_000)
    classes = (4 * x).astype(int)
    drops = random.random((len(x), 4)) >= skewed(4, 0.05)[classes]
    policy = ContentLearns(p=0.06, sample=150, partitions=24, first_rows=0)
    done = replay(policy, drops, (Attribute("x"),), {"x": x})
    sbr = replay(Eddy(), drops)
    assert right_rows(done, drops)
    assert done.evaluations < 0.75 * sbr.evaluations


def test_a_pair_is_found_beside_a_familiar_attribute():
    """Two operators depend on a, two on the parity of a and b."""
    random = np.random.default_rng(1)
    a, b = random.integers(0, 4, (2, 100_000))
    odd = (a + b) % 2 == 1
    chances = np.column_stack(
        [
            np.where(a < 2, 0.6, 0.1),
            np.where(a < 2, 0.1, 0.6),
            np.where(odd, 0.9, 0.1),
            np.where(odd, 0.1, 0.9),
        ]
    )
    drops = random.random(chances.shape) < chances
    done = replay(ContentLearns(), drops, (Attribute("a"), Attribute("b")), {"a": a, "b": b})
    assert done.shares()["a, b"] > 0.2 * done.evaluations


def test_the_plan_to_save_has_no_part_of_a_turn_or_trial():
    star = StreamStar(skewed(4, 0.05), rows=200_000)
    query = Query(tuple(Operator(name) for name in star.operators), star.attributes)
    seen = []

    class Watched(ContentLearns):
        def observe(self, feedback):
            events = super().observe(feedback)
            if self._rows > 5_000:
                mesh = self.learned()
                seen.append({pairing.operator for pairing in mesh.classifier.pairings})
            return events

    replay(Watched(budget=0.05), star.drops(), star.attributes, star.columns(), workers=1)
    assert len(seen) > 20
    assert all(paired == set(query.names) for paired in seen)


def test_turns_go_on_although_learning_takes_time():
    star = StreamStar(skewed(4, 0.1), rows=400_000)
    done = replay(ContentLearns(), star.drops(), star.attributes, star.columns(), workers=1)
    late = [e for e in done.ledger.events if e.kind == "profile" and e.row > 50_000]
    assert {event.operator for event in late} == set(star.operators)


def test_a_plan_starts_the_next_run_where_the_last_one_ended():
    star = StreamStar(skewed(8, 0.05), rows=40_000)
    columns, drops = star.columns(), star.drops()
    first = replay(ContentLearns(), drops, star.attributes, columns, workers=1)
    mesh = Mesh.from_dict(first.plans[0].to_dict())
    query = Query(tuple(Operator(name) for name in star.operators), star.attributes)
    learner = ContentLearns().bind(query, mesh)
    assert learner.plan().routes == mesh.routes
    assert learner.sampling().extra is None  # no first profile

    again = replay(ContentLearns(), drops, star.attributes, columns, workers=1, start=mesh)
    assert again.per_batch[0] < first.per_batch[0]
    assert max(again.per_batch) < 1.45 * 10_000


def test_a_plan_needs_its_attributes():
    star = StreamStar(skewed(4, 0.05), rows=20_000)
    done = replay(ContentLearns(), star.drops(), star.attributes, star.columns(), workers=1)
    query = Query(tuple(Operator(name) for name in star.operators), (Attribute("seq1"),))
    with pytest.raises(PlanError, match=r"tells rows apart by attrC.*now: seq1"):
        ContentLearns().bind(query, done.plans[0])


def test_content_cannot_begin_with_classes_that_were_told():
    query = Query((Operator("x"), Operator("y")), (Attribute("city"),))
    plan = ContentKnows("city", {1: ["y", "x"]}).bind(query).plan()
    with pytest.raises(InputError, match="not content's own"):
        ContentLearns().bind(query, plan)


@settings(max_examples=25)
@given(st.data())
def test_right_rows_under_guards_attributes_and_small_batches(data):
    query = data.draw(queries(least=2))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = data.draw(st.sampled_from([200, 6_000]))
    x = random.integers(0, 3, rows).astype(float)
    x[::17] = np.nan
    x[::31] = np.inf
    rates = random.random((4, len(query)))
    drops = random.random((rows, len(query))) < rates[np.nan_to_num(x, nan=3, posinf=3).astype(int)]
    policy = data.draw(st.sampled_from([Eddy(), ContentLearns(), ContentLearns(p=0.3, sample=100)]))
    batch = data.draw(st.sampled_from([1, 37, 2_000])) if rows == 200 else 900
    attributes = (Attribute("x"), Attribute("y", "word"))
    columns = {"x": x, "y": random.integers(0, 500, rows)}
    done = replay(policy, drops, attributes, columns, batch=batch, query=query)
    assert right_rows(done, drops)
    for mesh in done.plans:
        assert Mesh.from_dict(mesh.to_dict()).routes == mesh.routes
        assert all(query.allows(route.order) for route in mesh.routes)


@pytest.mark.parametrize(
    "policy",
    [
        ContentLearns(),
        ContentLearns(p=0.06),
        ContentLearns(budget=0.05),
        ContentLearns(p=0.06, sample=150, partitions=24, first_rows=0),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_attributes_that_tell_the_same_compete(policy, seed, monkeypatch):
    """Five columns tell the class, and every call takes another time: pairs come and go."""
    random = np.random.default_rng(seed)
    plain = Known.judge

    def noisy(self, converted, rows):
        self.clock.now += abs(random.standard_cauchy()) * 2e-5
        return plain(self, converted, rows)

    monkeypatch.setattr(Known, "judge", noisy)
    city = random.integers(0, 4, 12_000)
    drops = random.random((len(city), 4)) < np.where(np.arange(4) == city[:, None], 0.95, 0.02)
    columns = {
        "word": random.permutation(1000)[city],
        "day": 19_000 + city,
        "zip": 1000 * city,
        "flag": city % 2,
        "outcome": (drops << np.arange(4)).sum(axis=1),
        "strange": np.array([np.nan, np.inf, -np.inf, NULL, 0.25])[np.arange(len(city)) % 5],
        "id": random.permutation(len(city)),
    }
    attributes = tuple(Attribute(n, "word" if n == "word" else "number") for n in columns)
    done = replay(policy, drops, attributes, columns, batch=500, workers=1, seed=seed)
    assert right_rows(done, drops)


def test_costs_count():
    """Equal selectivity, one costs ten times as much: it comes last for every class."""
    drops = np.random.default_rng(0).random((30_000, 2)) < 0.5
    for policy in (Eddy(routing="minimum"), ContentLearns()):
        done = replay(policy, drops, costs=[50e-6, 5e-6])
        assert done.plans[0].routes[0].order == ("d2", "d1")


@pytest.mark.parametrize(
    "arguments",
    [
        {"p": 0},
        {"p": "often"},
        {"sample": 0},
        {"partitions": 0},
        {"threshold": 1.0},
        {"alpha": 1.0},
        {"budget": 0},
        {"first_rows": -1},
    ],
)
def test_bad_parameters(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        ContentLearns(**arguments)


def test_where_rows_are_cheap_less_is_thought():
    star = StreamStar(np.full((8, 8), 0.5))
    judged = {}
    for cost in (0.2e-6, 5e-6):
        policy, costs = ContentLearns(), [cost] * 8
        done = replay(policy, star.drops(), star.attributes, star.columns(), costs=costs)
        judged[cost] = sum(event.kind == "profile" for event in done.ledger.events)
    assert 16 <= judged[0.2e-6] < judged[5e-6] / 2  # both workers judge all operators once
