"""The rate model against the paper, brute force and the simulation."""

from dataclasses import replace
from functools import cache
from math import inf, isclose

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.cost.crossing import crossings, schedule
from anabranch.cost.flow import Flow, full_rate, rows_between
from anabranch.cost.objectives import (
    LocalRate,
    LocalTime,
    MostResults,
    Objective,
    Soonest,
    SteadyRate,
    most_results,
    soonest,
    steady_rate,
)
from anabranch.cost.queueing import Simulated, simulate
from anabranch.cost.rate import (
    Handling,
    JoinTree,
    Source,
    join_rate,
    projection_rate,
    selection_rate,
)
from anabranch.cost.stream_join import Link, StreamJoin
from anabranch.cost.traditional import handled_bytes
from anabranch.cost.trees import all_trees
from anabranch.data.stream_specs import five_way, random_join, three_way
from anabranch.model import InputError

SPECS = 500
SLOW_SPECS = 40  # all of them: anabranch bench rates search


def test_figure_1() -> None:
    slow_first = selection_rate(selection_rate(500, 1 / 50, 0.1), 0.0, 0.1)
    slow_last = selection_rate(selection_rate(500, 0.0, 0.1), 1 / 50, 0.1)
    assert (slow_first, slow_last) == (pytest.approx(0.5), pytest.approx(5.0))


def test_both_regimes() -> None:
    assert projection_rate(100, 0.01) == 100  # just in time
    assert projection_rate(100, 0.0125) == 80
    assert projection_rate(100, 0.01, transmission=0.01) == 50
    assert join_rate(0.1, 10, 10, 0.05, 0.05, at=2) == 20  # just in time
    assert join_rate(0.1, 10, 10, 0.1, 0.1, at=2) == 10
    assert join_rate(1.0, 3, 4, 0.0, 0.0, at=2) == 24  # a product


def test_loops_get_slower_with_time() -> None:
    loops = JoinTree(
        Source("a", 10), Source("b", 10), 0.1, Handling(compare=1e-3, algorithm="loops")
    )
    hashed = JoinTree(Source("a", 10), Source("b", 10), 0.1, Handling(probe=1e-3))
    assert loops.rate(1) == hashed.rate(1)
    # Equation 2: pairs per second that there is time to compare.
    assert loops.rate(1000) == pytest.approx(0.1 * 100 * 1000 / (2 * 100 * 1000 * 1e-3))
    assert loops.rate(1000) < hashed.rate(1000)


def test_results_are_the_integral_and_time_to_its_inverse() -> None:
    tree = JoinTree(Source("a", 7), JoinTree(Source("b", 5), Source("c", 3), 0.2), 0.1)
    steps = np.linspace(0, 20, 20_001)
    rates = np.array([tree.rate(t) for t in steps])
    brute = float(((rates[1:] + rates[:-1]) / 2).sum() * (steps[1] - steps[0]))
    assert tree.results(20) == pytest.approx(brute, rel=1e-6)
    assert tree.time_to(tree.results(20)) == pytest.approx(20, rel=1e-6)


def test_what_never_comes_takes_forever() -> None:
    tree = JoinTree(Source("a", 1, rows=10), Source("b", 1, rows=10), 0.5)
    assert tree.total == 50
    assert tree.time_to(51) == inf
    assert Flow(tree).time_to(51) == inf
    assert Flow(tree).end == pytest.approx(10, rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_flow_is_the_mean_of_simulations(seed: int) -> None:
    tree = all_trees(random_join(seed, most=4))[0]
    by = 30.0
    expected = Flow(tree).results(by)
    if not 200 < expected < 100_000:
        return
    runs = [simulate(tree, by, seed=run).results(by) for run in range(20)]
    error = np.std(runs) / len(runs) ** 0.5
    # Few rows of a slow stream match in clusters, and a queue that is nearly full is not a flow.
    assert abs(np.mean(runs) - expected) < 4 * error + 0.12 * expected


def test_the_simulation_is_seeded() -> None:
    tree = three_way()[0]
    one, same, other = (simulate(tree, 20, seed).times for seed in (1, 1, 2))
    assert one.tolist() == same.tolist()
    assert one.tolist() != other.tolist()


def test_a_queue_of_one_server_by_hand() -> None:
    """Every row of a and b takes a second: done times follow from arrivals one by one."""
    tree = JoinTree(Source("a", 2, rows=20), Source("b", 2, rows=20), 1.0, Handling(move=1.0))
    times = simulate(tree, until=1000, seed=3).times
    assert len(times) == 400  # a product: every pair once
    gaps = np.diff(np.unique(times))
    assert np.allclose(gaps[5:], 1.0)  # busy from early on: a row a second


def test_three_way_plans_cross_where_the_simulation_says() -> None:
    first, many = three_way()
    (predicted,) = crossings(first, many, until=60)
    assert 1_500 < predicted.results < 2_500  # the paper: roughly 2,000
    simulated = []
    for seed in range(9):
        one, other = (simulate(tree, 60, seed).times for tree in (first, many))
        count = min(len(one), len(other))
        ahead = np.flatnonzero(one[:count] < other[:count])
        simulated.append(int(ahead[-1]))
    assert predicted.results == pytest.approx(np.median(simulated), rel=0.25)


def test_a_plan_for_the_first_results_is_replaced_where_plans_cross() -> None:
    plans = three_way()
    stages = schedule(plans, until=60)
    (crossing,) = crossings(*plans, until=60)
    assert [stage.tree for stage in stages] == list(plans)
    assert stages[1].results == pytest.approx(crossing.results, rel=0.1)
    assert soonest(200).search(_join_of(plans[0])).names == plans[0].names
    assert soonest(50_000).search(_join_of(plans[0])).names == plans[1].names


def _join_of(tree: JoinTree) -> StreamJoin:
    from anabranch.data.stream_specs import THREE_WAY, THREE_WAY_COST, paper_join

    assert set(tree.names) == set(THREE_WAY)
    return paper_join(THREE_WAY, THREE_WAY_COST)


@cache
def _runs(name: str) -> list[Simulated]:
    return [simulate(five_way()[name], 360, seed) for seed in range(3)]


@pytest.mark.parametrize("results", [1_000, 20_000, 100_000])
def test_five_way_plans_rank_as_printed(results: int) -> None:
    plans = five_way()
    printed = ["Evenly Spread", "Fast Leaves", "Left Deep"]
    by_model = sorted(plans, key=lambda name: Flow(plans[name]).time_to(results))
    by_paper = sorted(plans, key=lambda name: plans[name].time_to(results))
    told = {name: np.median([run.time_to(results) for run in _runs(name)]) for name in plans}
    assert by_model == by_paper == sorted(told, key=lambda name: told[name]) == printed


def test_the_traditional_model_picks_fast_leaves() -> None:
    plans = five_way()
    ranked = sorted(plans, key=lambda name: handled_bytes(plans[name]))
    assert ranked == ["Fast Leaves", "Evenly Spread", "Left Deep"]


def _unwindowed(join: StreamJoin) -> StreamJoin:
    sources = [replace(source, window=inf) for source in join.sources]
    return replace(join, sources=sources)


def _losses(objective: Objective, join: StreamJoin) -> tuple[float, float]:
    """Of dynamic programming, and of the best of all trees."""
    found = objective.loss(objective.search(join, "bushy"))
    return found, min(objective.loss(tree) for tree in all_trees(join))


def test_dynamic_programming_is_exact_for_rates() -> None:
    for seed in range(SPECS):
        join = random_join(seed)
        for objective in (LocalRate(60.0), SteadyRate()):
            found, best = _losses(objective, join)
            assert isclose(found, best, rel_tol=1e-9), (seed, objective)


def test_dynamic_programming_is_near_for_the_others() -> None:
    for seed in range(SLOW_SPECS):
        join = _unwindowed(random_join(seed))
        some = max(1.0, min(1_000.0, -_losses(MostResults(60.0), join)[1] / 2))
        for objective in (MostResults(60.0), Soonest(some), LocalTime(some)):
            found, best = _losses(objective, join)
            assert isclose(found, best, rel_tol=0.05), (seed, objective)


def test_left_deep_trees_are_no_better_than_bushy_ones() -> None:
    for seed in range(50):
        join = random_join(seed)
        deep, bushy = (LocalRate(60.0).search(join, shape) for shape in ("left-deep", "bushy"))
        assert LocalRate(60.0).loss(bushy) <= LocalRate(60.0).loss(deep) * (1 - 1e-12)
        assert all(
            isinstance(join.right, Source) or isinstance(join.left, Source) for join in deep.joins()
        )


def test_a_steady_rate_is_what_the_flow_tends_to() -> None:
    tree = JoinTree(Source("a", 20, window=5), Source("b", 30, window=8), 0.01)
    later = Flow(tree).results(200) - Flow(tree).results(100)
    assert full_rate(tree) == pytest.approx(later / 100, rel=0.01)
    assert steady_rate().told(tree) == "78 results per second"


def test_every_tree_over_windows_finds_the_same_unless_it_is_busy() -> None:
    for seed in range(50):
        join = random_join(seed)
        idle = [replace(link, cost=0.0) for link in join.links]
        join = replace(join, links=idle, handling=Handling())
        rates = [full_rate(tree) for tree in all_trees(join)]
        assert max(rates) == pytest.approx(min(rates))
        few = steady_rate().search(join)
        most = max(all_trees(join), key=lambda tree: rows_between(tree, 100.0))
        assert rows_between(few, 100.0) <= rows_between(most, 100.0) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Source("a", -5), "rate of a is a number above 0, got -5"),
        (lambda: Source("a", None), "rate of a is a number above 0, got None"),  # type: ignore[arg-type]
        (lambda: Source("a", inf), "rate of a is finite"),
        (lambda: Source("a", 1, window=0), "window of a is a number above 0"),
        (lambda: Link("a", "b", 1.5), "selectivity of a = b is a share from 0 to 1, got 1.5"),
        (lambda: Link("a", "b", -0.1), "selectivity of a = b is a share from 0 to 1"),
        (lambda: Link("a", "b", 0.1, cost=-1), "cost of a = b is a number of at least 0"),
        (lambda: Link("a", "a", 0.1), "links two streams"),
        (lambda: Handling(move=-1), "move is a number of at least 0"),
        (lambda: Handling(algorithm="merge"), 'algorithm is "hash" or "loops"'),  # type: ignore[arg-type]
        (lambda: selection_rate(-1, 0, 0.5), "rate is a number of at least 0"),
        (lambda: selection_rate(1, 0, 2), "selectivity is a share from 0 to 1"),
        (lambda: join_rate(0.5, 1, -1, 0, 0, 1), "right_rate is a number of at least 0"),
        (lambda: StreamJoin([Source("a", 1)], []), "two streams or more"),
        (lambda: _pair().tree("(a, d)"), 'there is no stream "d"; .*valid: a, b, c'),
        (lambda: _pair().tree("(a, b)"), "a tree spans all streams, c missing"),
        (lambda: _pair().tree("((a, b), a)"), "a: on both sides"),
        (lambda: _pair().tree("((a, b) c)"), '"," is expected before c'),
        (lambda: _pair().tree("a"), "a tree joins two parts"),
        (lambda: most_results(by=0), "by is a number above 0"),
        (lambda: soonest(results=-1), "results is a number above 0"),
        (lambda: steady_rate().search(_pair(), "bushy"), "a steady rate needs a window"),
        (lambda: simulate(three_way()[0], until=0), "until is a number of seconds above 0"),
        (
            lambda: StreamJoin([Source(n, 1) for n in "abc"], [Link("a", "b", 0.1)]),
            "nothing links c with a, b",
        ),
        (
            lambda: StreamJoin([Source(n, 1) for n in "ab"], [Link("a", "x", 0.1)]),
            'there is no stream "x"',
        ),
    ],
)
def test_bad_input_is_told(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def _pair() -> StreamJoin:
    return StreamJoin([Source(n, 1) for n in "abc"], [Link("a", "b", 0.1), Link("b", "c", 0.1)])
