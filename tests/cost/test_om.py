"""OM's cost model, plans and charts, against the paper."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.bench.om_replay import (
    SEEDS,
    SPEEDS,
    VARIATIONS,
    follow,
    joined,
    single,
)
from anabranch.cost.chart import Axis, Chart, Walk, build
from anabranch.cost.om_plans import (
    ContinuousQuery,
    Equality,
    Projection,
    Selection,
    candidates,
    grouped,
)
from anabranch.cost.utility import (
    Aggregate,
    Arrive,
    Conditions,
    Joined,
    Project,
    Select,
    Utility,
    Weights,
)
from anabranch.model import InputError


def test_the_cost_example() -> None:
    plans = {"p1": (5.0, 775.0), "p2": (2.5, 575.0)}
    first, second = Weights(0.1, 0.9), Weights(20_000, 2)
    assert first.cost(*plans["p1"]) == pytest.approx(697.52)
    assert first.cost(*plans["p2"]) == pytest.approx(517.54)
    assert second.cost(*plans["p1"]) == 5550
    assert second.cost(*plans["p2"]) == 9150
    chosen = [min(plans, key=lambda p: weights.cost(*plans[p])) for weights in (first, second)]
    assert chosen == ["p2", "p1"]


def test_figure_2_by_the_model() -> None:
    """Rates of 5 and 2.5; the memory of the figure is what a window brings and operators pass."""
    o1, o2 = ("o1", 500.0), ("o2", 50.0)
    under = Conditions({"s": 500.0}, {"o1": 0.5, "o2": 0.1})
    plans = [Select(Select(Arrive("s"), *a), *b) for a, b in ((o1, o2), (o2, o1))]
    assert [float(plan.told(under).rate) for plan in plans] == [5.0, 2.5]
    passed = [500 + 250 + 25, 500 + 50 + 25]
    assert passed == [775, 575]
    flows = [[float(plan.below.told(under).flow), float(plan.told(under).flow)] for plan in plans]
    assert [500 + sum(flow) for flow in flows] == passed


def test_formulas_of_section_4_1() -> None:
    under = Conditions({"s": 100.0, "r": 50.0}, {"sel": 0.2, "j": 0.01}, window=2.0)
    selected = Select(Arrive("s"), "sel", speed=1_000.0).told(under)
    assert selected.rate == 20
    assert selected.memory == pytest.approx(100 * (100 * 2 / 1_000) + 20 * 2)
    projected = Project(Arrive("s", width=10.0), "p", width=2.0, speed=500.0).told(under)
    assert projected.rate == 100
    assert projected.memory == pytest.approx(10 * 100 * (100 * 2 / 500) + 100 * 2 * 2)
    both = Joined(Arrive("s"), Arrive("r"), "j", speed=100.0).told(under)
    assert both.rate == pytest.approx(0.01 * 100 * 50 * 2 / (100 / 100 + 50 / 100))
    waiting = 100 * (100 * 2 / 100) + 50 * (50 * 2 / 100)
    assert both.memory == pytest.approx(waiting + 0.01 * 100 * 50 * 2 * 2 * 2)
    busy = Aggregate(Arrive("s"), "sum", speed=50.0).told(under)
    assert busy.rate == pytest.approx(50 / (100 * 2))


def test_arrays_give_what_numbers_give() -> None:
    plan = Select(Select(Arrive("s"), "a", 900.0), "b", 300.0)
    rates, shares = np.array([10.0, 500.0, 2_000.0]), np.array([0.1, 0.5, 0.9])
    utility = Utility()
    whole = utility(plan, Conditions({"s": rates}, {"a": shares, "b": 0.4}))
    alone = [
        utility(plan, Conditions({"s": float(r)}, {"a": float(a), "b": 0.4}))
        for r, a in zip(rates, shares, strict=True)
    ]
    assert np.allclose(whole, alone)


def test_the_four_heuristics() -> None:
    query = ContinuousQuery(
        [Arrive("s", 10.0), Arrive("r", 10.0), Arrive("t", 10.0)],
        [
            Selection("a > 5", "s", "a"),
            Selection("a < 10", "s", "a", speed=1e3),
            Selection("b = 1", "s", "b"),
        ],
        [Projection("s", 4.0)],
        [Equality("sr", "s", "r"), Equality("rt", "r", "t")],
        aggregate="count",
    )
    assert grouped(query.selections) == [("a > 5 and a < 10", 1e3), ("b = 1", 200e3)]
    plans = candidates(query)
    texts = [str(plan) for plan in plans]
    assert all(text.endswith("-> count") for text in texts)  # last
    # Left-deep: s with r, then t; r with t, then s; each with two orders and two projections.
    assert len(plans) == 2 * 2 * 2
    assert not any("(s, (r, t))" in text for text in texts)
    under = Conditions(
        {"s": 100.0, "r": 10.0, "t": 10.0},
        {"a > 5": 0.5, "a < 10": 0.5, "b = 1": 0.1, "sr": 0.01, "rt": 0.01},
    )
    costs = {text: float(Utility()(plan, under)) for text, plan in zip(texts, plans, strict=True)}
    best = min(costs, key=lambda text: costs[text])
    assert "b = 1 -> a > 5 and a < 10 -> columns of s" in best


def test_a_projection_first_pays_when_bytes_count() -> None:
    """In rows select-then-project never loses; in bytes wide rows are best made narrow first."""
    query = ContinuousQuery(
        [Arrive("tcp", width=200.0)], [Selection("dest", "tcp", "dest")], [Projection("tcp", 8.0)]
    )
    plans = candidates(query)

    def best(share: float) -> str:
        under = Conditions({"tcp": 500.0}, {"dest": share})
        return str(min(plans, key=lambda plan: float(Utility()(plan, under))))

    assert best(0.9) == "tcp -> columns of tcp -> dest"
    assert best(0.01) == "tcp -> dest -> columns of tcp"


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(1, 3), st.integers(0, 1_000))
def test_charts_have_the_cheapest_plan_at_every_centre(parts: int, dims: int, seed: int) -> None:
    if parts**dims > 10_000:
        return
    random = np.random.default_rng(seed)
    slopes = random.normal(size=(4, dims))
    axes = [Axis(f"x{i}", 0.0, float(random.uniform(1, 100)), parts) for i in range(dims)]

    def cost_at(point):  # type: ignore[no-untyped-def]
        return np.array([sum(a * point[f"x{i}"] for i, a in enumerate(s)) for s in slopes])

    chart = build(axes, list("abcd"), cost_at)
    cell = tuple(random.integers(0, parts, dims).tolist())
    centre = {
        axis.name: float(axis.centre(np.array(c))) for axis, c in zip(axes, cell, strict=True)
    }
    costs = [sum(a * centre[f"x{i}"] for i, a in enumerate(s)) for s in slopes]
    assert chart.plan_at(centre) == int(np.argmin(costs))
    assert chart.evaluated == parts**dims
    again = Chart.from_dict(chart.to_dict())
    assert again == chart
    assert (again.cells == chart.cells).all()


def test_refined_charts_cost_a_tenth_and_agree() -> None:
    for kind in SPEEDS:
        for seed in range(SEEDS):
            scene = single(0.26, seed, SPEEDS[kind])
            plans = candidates(scene.query)
            whole, refined = (scene.chart(plans, 40, refine) for refine in (False, True))
            assert refined.evaluated <= 160
            assert (whole.cells != refined.cells).mean() <= 0.005


def test_beyond_a_chart_counts_its_border() -> None:
    chart = Chart((Axis("x", 0.0, 10.0, 2),), ("low", "high"), ((1, 0), (1, 1)), 2)
    assert [chart.plan_at({"x": x}) for x in (-5.0, 4.9, 5.0, 99.0)] == [0, 0, 1, 1]


def test_hysteresis_keeps_a_plan_from_flapping() -> None:
    chart = Chart((Axis("x", 0.0, 10.0, 2),), ("low", "high"), ((1, 0), (1, 1)), 2)
    values = [4.8, 5.2] * 10 + [9.0]
    walks = {share: Walk(chart, share) for share in (0.0, 0.25)}
    for walk in walks.values():
        for x in values:
            walk.go({"x": x})
    assert (walks[0.0].moves, walks[0.0].switches) == (19, 19)
    assert (walks[0.25].moves, walks[0.25].switches) == (19, 1)
    assert walks[0.25].plan == 1


def test_fidelity_on_one_stream() -> None:
    for kind, speeds in SPEEDS.items():
        for variation in VARIATIONS:
            for parts, least in ((10, 0.85), (40, 0.97)):
                runs = [
                    follow(single(variation, seed, speeds), parts, parts > 10)
                    for seed in range(SEEDS)
                ]
                mean = np.mean([run.fidelity for run in runs])
                assert mean >= least, (kind, variation, parts)
                assert mean > np.mean([run.rate for run in runs])
                assert mean > np.mean([run.random for run in runs])
                assert {run.decisions for run in runs} == {600}  # in ten minutes


def test_fidelity_of_the_join() -> None:
    for variation in VARIATIONS:
        runs = [follow(joined(variation, seed), 10) for seed in range(SEEDS)]
        mean = np.mean([run.fidelity for run in runs])
        assert mean >= 0.90, variation
        assert mean > np.mean([run.rate for run in runs])
        assert mean > np.mean([run.random for run in runs])


def test_scenes_are_seeded_and_as_erratic_as_told() -> None:
    for variation in VARIATIONS:
        scene = single(variation, 3, (1.0, 1.0))
        rates = scene.series["tcp"]
        assert float(rates.std() / rates.mean()) == pytest.approx(variation, rel=0.02)
        assert (rates == single(variation, 3, (1.0, 1.0)).series["tcp"]).all()
    assert (replace(scene).series["tcp"] != single(0.26, 4, (1.0, 1.0)).series["tcp"]).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Weights(0, 0), "both 0"),
        (lambda: Weights(-1, 1), "rate_weight is a number of at least 0"),
        (lambda: Conditions({}, {}, window=0), "window is a number of seconds above 0"),
        (lambda: Axis("x", 1, 1), "is empty"),
        (lambda: Axis("x", 0, 1, 0), "partitions is a whole number"),
        (lambda: Walk(Chart((), (), ((1, 0),), 0), hysteresis=2), "hysteresis is a share"),
        (lambda: ContinuousQuery([Arrive("s")], [Selection("a", "t", "x")]), 'no stream "t"'),
        (lambda: build([Axis("x", 0, 1, 2_000)] * 2, [], dict), "fewer part"),
    ],
)
def test_bad_input_is_told(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]
