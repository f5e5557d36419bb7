"""What the paper on content-based routing claims, counted on the kernel."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.bench.content_replay import moved_stream, run_star, saved
from anabranch.bench.replay import Known, replay
from anabranch.data.stream_star import CLASS, StreamStar, random_table, skewed
from anabranch.kernel.ledger import PROFILING, UNCLASSIFIED
from anabranch.model import NULL, Attribute, Cells, InputError, Mesh, Operator, PlanError, Query
from anabranch.policies import ContentKnows, ContentLearns, Eddy, resolve
from anabranch.policies.trial import MOST_ROWS, Trial
from tests.strategies import queries

GRID = [round(0.05 * i, 2) for i in range(1, 20)]


def right_rows(done, drops):
    return bool((done.keep == ~drops.any(axis=1)).all())


def test_table_1_is_learned_and_yields_the_stated_orders():
    star = StreamStar(
        np.array([[0.32, 0.10, 0.55], [0.31, 0.20, 0.65], [0.27, 0.90, 0.60]]), rows=60_000
    )
    done = replay(ContentLearns(), star.drops(), star.attributes, star.columns(), workers=1)
    mesh = done.plans[0]
    values = {CLASS: np.arange(3.0)}
    routes = mesh.classifier.classify(values.get, 3, np.random.default_rng(0)).routes
    orders = [mesh.routes[i].order for i in routes]
    assert orders == [("d2", "d1", "d3"), ("d2", "d1", "d3"), ("d1", "d3", "d2")]


def test_eight_joins_with_the_largest_skew():
    done = run_star(StreamStar(skewed(8, 0.05)))
    assert saved(done, "Knows") == pytest.approx(0.711, abs=0.005)
    assert saved(done, "Learns") >= 0.69
    # Steady state: the last batches of both workers.
    late = [3, 4, 8, 9]
    settled = sum(done["Learns"].per_batch[i] for i in late)
    assert settled <= 1.05 * sum(done["Knows"].per_batch[i] for i in late)


@pytest.mark.parametrize("joins", [2, 4, 6, 8])
def test_most_of_what_content_knows_saves_over_the_grid(joins):
    knows = learns = 0
    for own in GRID:
        done = run_star(StreamStar(skewed(joins, own)))
        knows += done["SBR"].evaluations - done["Knows"].evaluations
        learns += done["SBR"].evaluations - done["Learns"].evaluations
    assert learns >= 0.95 * knows


@pytest.mark.parametrize("joins", [4, 6, 8])
def test_the_wrong_classifier_is_seldom_used(joins):
    right = wrong = total = 0
    for seed in range(6):
        star = StreamStar(random_table(joins, seed), seed=seed)
        done = replay(ContentLearns(), star.drops(), star.attributes, star.columns())
        assert right_rows(done, star.drops())
        by = done.shares()
        total += by.total()
        right += by[CLASS]
        wrong += by.total() - by[CLASS] - by[UNCLASSIFIED] - by[PROFILING]
    assert wrong < 0.064 * total
    assert right > 0.8 * total


@pytest.mark.parametrize("passed", [0.3, 0.5, 0.8])
def test_where_nothing_can_be_gained_it_costs_little(passed):
    star = StreamStar(np.full((8, 8), passed), rows=200_000)
    sbr, learns = (
        replay(policy, star.drops(), star.attributes, star.columns())
        for policy in (Eddy(), ContentLearns())
    )
    assert learns.evaluations <= 1.01 * sbr.evaluations


@pytest.mark.parametrize("own", [0.05, 0.2])
def test_a_correlation_that_moves_is_found_again(own):
    drops, attributes, columns = moved_stream(8, own, 100_000, seed=0)
    sbr, learns = (
        replay(policy, drops, attributes, columns, workers=1, batch=2_000)
        for policy in (Eddy(), ContentLearns())
    )
    assert right_rows(learns, drops)
    ratios = np.array(learns.per_batch) / np.array(sbr.per_batch)
    assert ratios[25:30].mean() <= 1.02
    assert ratios[25:].max() <= 1.05  # 2,000 rows: one in a hundred is off by 3 % by chance
    assert ratios[30:].mean() < 0.7
    assert {str(p) for p in learns.plans[0].classifier.partitions} == {"moved"}
    kinds = {event.kind for event in learns.ledger.events}
    assert {"profile", "keep", "drift", "drop"} <= kinds


def test_two_attributes_together_when_neither_tells_alone():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 4, (2, 60_000))
    odd = (a + b) % 2 == 1
    chances = np.column_stack([np.where(odd, 0.95, 0.1), np.where(odd, 0.1, 0.95)])
    drops = random.random(chances.shape) < chances
    attributes, columns = (Attribute("a"), Attribute("b")), {"a": a, "b": b}
    done = replay(ContentLearns(), drops, attributes, columns)
    alone = replay(ContentLearns(pairs=False), drops, attributes, columns)
    assert done.shares()["a, b"] > 0.5 * done.evaluations
    assert done.evaluations < 0.8 * alone.evaluations


def test_attributes_that_count_up_or_hardly_repeat_are_never_used():
    star = StreamStar(skewed(4, 0.1))
    columns = star.columns() | {"word": np.random.default_rng(0).permutation(star.rows) + 5.0}
    attributes = (*star.attributes, Attribute("word", "word"))
    done = replay(ContentLearns(), star.drops(), attributes, columns)
    assert set(done.shares()) <= {CLASS, UNCLASSIFIED, PROFILING}


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


def test_the_papers_setting():
    star = StreamStar(skewed(4, 0.05))
    policy = ContentLearns(p=0.06, sample=150, partitions=24, first_rows=0)
    done = replay(policy, star.drops(), star.attributes, star.columns())
    sbr = replay(Eddy(), star.drops(), star.attributes, star.columns())
    assert right_rows(done, star.drops())
    assert done.evaluations < 0.7 * sbr.evaluations
    assert done.ledger.operators[0].extra < 0.06 * star.rows


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


@pytest.mark.parametrize("routing", ["lottery", "minimum"])
def test_an_eddy_finds_the_selective_operator(routing):
    drops = np.random.default_rng(0).random((50_000, 4)) < [0.05, 0.1, 0.9, 0.2]
    done = replay(Eddy(routing=routing), drops)
    assert right_rows(done, drops)
    worst = 50_000 * (1 + 0.95 + 0.95 * 0.9 * (1 + 0.8))
    assert done.evaluations < (0.75 if routing == "lottery" else 0.4) * worst
    assert done.plans[0].query.names  # still a plan that can be saved
    assert Mesh.from_dict(done.plans[0].to_dict()) == done.plans[0]


def test_the_lottery_draws_in_inverse_proportion_to_selectivity():
    eddy = Eddy().bind(Query((Operator("a"), Operator("b"))))
    eddy._selectivity[0].restart(1000, 200)
    eddy._selectivity[1].restart(1000, 800)
    first = [eddy._draw().routes[i].order[0] for _ in range(300) for i in range(8)]
    assert first.count("a") / len(first) == pytest.approx(0.8, abs=0.03)


def test_content_cannot_begin_with_classes_that_were_told():
    query = Query((Operator("x"), Operator("y")), (Attribute("city"),))
    plan = ContentKnows("city", {1: ["y", "x"]}).bind(query).plan()
    with pytest.raises(InputError, match="were told, not learned"):
        ContentLearns().bind(query, plan)


@settings(max_examples=25)
@given(st.data())
def test_right_rows_under_guards_attributes_and_small_batches(data):
    query = data.draw(queries(least=2))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = data.draw(st.sampled_from([700, 6_000]))
    x = random.integers(0, 3, rows).astype(float)
    x[::17] = np.nan
    x[::31] = np.inf
    rates = random.random((4, len(query)))
    drops = random.random((rows, len(query))) < rates[np.nan_to_num(x, nan=3, posinf=3).astype(int)]
    policy = data.draw(st.sampled_from([Eddy(), ContentLearns(), ContentLearns(p=0.3, sample=100)]))
    batch = data.draw(st.sampled_from([1, 37, 2_000])) if rows == 700 else 900
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


one = np.ones(1)


class TestTrial:
    def test_a_clear_gain_is_kept_soon(self):
        trial = Trial()
        while trial.kept is None:
            trial.update(trial.slice_rows, one if trial.turn == "with" else 4 * one, one)
        assert trial.kept
        assert trial.without.total <= 200

    def test_no_gain_is_dropped(self):
        trial = Trial()
        while trial.kept is None:
            trial.update(trial.slice_rows, one, one)
        assert not trial.kept
        assert trial.without.total >= MOST_ROWS

    def test_what_classifying_costs_is_charged(self):
        trial = Trial()
        while trial.kept is None:
            work = one if trial.turn == "with" else 4 * one
            trial.update(trial.slice_rows, work, one, charge=3.5)
        assert not trial.kept

    def test_costs_that_fall_meanwhile_do_not_favour_the_second(self):
        trial, cost = Trial(), one
        while trial.kept is None:
            trial.update(trial.slice_rows, one if trial.turn == "with" else 2 * one, cost)
            cost = cost / 4
        assert trial.kept


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


def test_bad_eddies_and_what_content_knows_must_be_told():
    with pytest.raises(InputError, match='"lottery" or "minimum"'):
        Eddy(routing="roulette")
    with pytest.raises(InputError, match="alpha"):
        Eddy(alpha=0.0)
    with pytest.raises(InputError, match="must be told"):
        resolve("content_knows")
    with pytest.raises(InputError, match="at least one"):
        ContentKnows("a", {})
    query = Query((Operator("x"), Operator("y")), (Attribute("city"),))
    with pytest.raises(InputError, match=r'no attribute "sity"; did you mean "city"'):
        ContentKnows("sity", {1: ["x", "y"]}).bind(query)
    with pytest.raises(InputError, match="not a valid order"):
        ContentKnows("city", {1: ["x"]}).bind(query)
