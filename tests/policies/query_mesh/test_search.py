"""The search space and the searches of Query Mesh."""

import time

import numpy as np
import pytest

from anabranch.cost import BestOrders, pattern_costs
from anabranch.model import InputError, Operator, Query
from anabranch.policies.query_mesh.costing import Costing
from anabranch.policies.query_mesh.lattice import (
    bell,
    configuration,
    everything,
    merges,
    random_neighbour,
    show,
    splits,
)
from anabranch.policies.query_mesh.search import SEARCHES, Stop
from anabranch.policies.query_mesh.starts import STARTS
from anabranch.policies.query_mesh.training import Training


def plain_query(count):
    return Query(tuple(Operator(f"o{i}") for i in range(count)))


def problem(seed, tuples, operators=4, rows=40, overhead=0.02):
    """Training tuples of a few hidden classes, each with its own drop rates."""
    random = np.random.default_rng(seed)
    classes = random.integers(0, 3, tuples)
    rates = random.random((3, operators)) ** 2
    owner = np.repeat(np.arange(tuples), rows)
    bits = random.random((tuples * rows, operators)) < rates[classes[owner]]
    content = random.random((tuples, 2))
    training = Training.of(bits, owner, content=content)
    costs = random.uniform(0.5, 2.0, operators)
    return Costing(plain_query(operators), training, costs, 0.01, overhead)


def held_out(seed, tuples=6, doubt=4.0):
    """The same, with rows in two folds; the last tuple has all of its in one."""
    random = np.random.default_rng(seed)
    owner = random.integers(0, tuples, 6_000)  # so many that no two orders cost the same
    bits = random.random((6_000, 4)) < random.random((tuples, 4))[owner]
    folds = np.where(owner == tuples - 1, 0, random.integers(0, 2, 6_000))
    training = Training.of(bits, owner, folds, np.zeros((tuples, 0)))
    return Costing(plain_query(4), training, random.uniform(0.5, 2.0, 4), doubt=doubt)


def by_hand(costing, members):
    """Equation 2 for one subset: chosen by one fold, costed by the other, less the doubt."""
    training, costs = costing.training, costing.costs
    folds = training.counts[:, sorted(members)].sum(axis=1)
    best = BestOrders(training.patterns, costs, costing.query)

    def each(weights):
        order = tuple(best.of(weights[None])[0].tolist())
        return order, pattern_costs(training.patterns, costs, order)

    route, own = each(folds.sum(axis=0))
    if folds.sum(axis=1).all():
        work = sum(folds[f] @ each(folds.sum(axis=0) - folds[f])[1] for f in range(2))
    else:
        work = folds.sum(axis=0) @ own
    weights = folds.sum(axis=0)
    saved = pattern_costs(training.patterns, costs, costing.common) - own
    spread = weights @ (saved - weights @ saved / weights.sum()) ** 2
    return route, (work + costing.doubt * np.sqrt(spread)) / training.weight


@pytest.mark.parametrize("seed", range(5))
def test_subsets_costed_at_once_cost_what_each_costs_by_itself(seed):
    subsets = sorted({members for config in everything(6) for members in config}, key=sorted)
    at_once, one_by_one = held_out(seed), held_out(seed)
    at_once.prepare(subsets)
    for members in subsets:
        route, cost = by_hand(one_by_one, members)
        assert at_once.subset(members).route == one_by_one.subset(members).route == route
        assert at_once.subset(members).cost == pytest.approx(cost)
        assert one_by_one.subset(members).cost == pytest.approx(cost)


def test_four_tuples_have_the_fifteen_configurations_of_the_paper():
    found = [show(config) for config in everything(4)]
    stated = (
        "1234, 1/234, 2/134, 3/124, 4/123, 12/34, 13/24, 14/23, 12/3/4, 1/23/4, 1/2/34, 13/2/4, "
        "14/2/3, 24/1/3, 1/2/3/4"
    )
    by_paper = {
        show(configuration([[int(c) - 1 for c in subset] for subset in text.split("/")]))
        for text in stated.split(", ")
    }
    assert len(found) == len(set(found)) == bell(4) == 15
    assert set(found) == by_paper


@pytest.mark.parametrize("n", range(1, 8))
def test_enumeration_is_as_long_as_the_bell_number(n):
    assert len(set(everything(n))) == bell(n)


def test_neighbours_are_splits_and_merges():
    start = configuration([[0], [1, 2, 3]])
    around = {*map(show, merges(start)), *map(show, splits(start))}
    assert around == {"0123", "0/1/23", "0/13/2", "0/12/3"}
    random = np.random.default_rng(0)
    drawn = {show(random_neighbour(start, random)) for _ in range(200)}
    assert drawn == around


def test_every_configuration_can_be_reached():
    random = np.random.default_rng(1)
    config, seen = configuration([range(4)]), set()
    for _ in range(3_000):
        config = random_neighbour(config, random)
        seen.add(config)
    assert len(seen) == 15


def test_costs_follow_equation_2():
    costing = problem(3, tuples=5)
    config = configuration([[0, 1], [2], [3, 4]])
    bits, costs = costing.training.patterns, costing.costs
    work, routes = 0.0, set()
    for members in config:
        weights = costing.training.folds([members])[0, 0]
        route = costing.subset(members).route
        routes.add(route)
        work += weights @ pattern_costs(bits, costs, route)
    expected = work / costing.training.weight + len(routes) * 0.02 + (len(routes) > 1) * 0.01
    assert costing.total(config) == pytest.approx(expected)


def test_a_move_costs_only_the_subsets_that_it_touches():
    costing = problem(4, tuples=30)
    config = STARTS["extreme_n"](costing, np.random.default_rng(0))
    costing.total(config)
    random = np.random.default_rng(0)
    for _ in range(50):
        before = costing.subsets
        config = random_neighbour(config, random)
        costing.total(config)
        assert costing.subsets - before <= 2


@pytest.mark.parametrize("name", ["sa", "ii"])
def test_close_to_the_optimum_on_small_training_sets(name):
    ratios = []
    for seed in range(200):
        costing = problem(seed, tuples=3 + seed % 6)
        best = SEARCHES["opt"](costing).run()
        found = SEARCHES[name](costing, seed=seed).run()
        ratios.append(costing.total(found) / costing.total(best))
    assert min(ratios) > 1 - 1e-9
    assert np.mean(ratios) <= 1.03


def test_annealing_on_a_hundred_tuples():
    costing = problem(0, tuples=100, operators=8, rows=10)
    search = SEARCHES["sa"](costing, start="content_driven")
    found = search.run()
    assert search.moves <= 2_000  # about half a millisecond each: a second, however busy we are
    start = STARTS["content_driven"](costing, np.random.default_rng(0))
    assert costing.total(found) <= costing.total(start)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", ["sa", "ii"])
def test_every_start_ends_no_worse_and_the_same_way_twice(start, name):
    first, again = (SEARCHES[name](problem(7, tuples=8), start=start, seed=3) for _ in range(2))
    assert first.run() == again.run()
    costs = [cost for _, cost in first.trace]
    assert costs == sorted(costs, reverse=True)
    assert first.best_cost == first.costing.total(first.best) == costs[-1]


def test_a_route_that_fits_noise_shows_no_gain():
    """Rows that are all alike: held-out rows tell that splitting them gains nothing."""
    random = np.random.default_rng(5)
    single = 0
    for seed in range(20):
        bits = random.random((1_000, 6)) < 0.5
        owner, folds = random.integers(0, 10, 1_000), random.integers(0, 2, 1_000)
        training = Training.of(bits, owner, folds)
        costing = Costing(plain_query(6), training, np.ones(6), 0.01, 0.01, doubt=4.0)
        found = SEARCHES["sa"](costing, seed=seed).run()
        single += len(costing.routes(found)) == 1
    assert single >= 18


@pytest.mark.parametrize(
    ("stop", "reached"),
    [
        (Stop(iterations=2), lambda s: s.iterations == 2),
        (Stop(plateau=3), lambda s: s.iterations >= 3),
        (Stop(subsets=60), lambda s: 60 <= s.costing.subsets <= 80),
        (Stop(seconds=5.0), lambda s: s.moves == 5),
    ],
)
def test_stop_conditions(stop, reached):
    ticks = iter(range(10_000))
    clock = (lambda: next(ticks) * 1.0) if stop.seconds else time.perf_counter
    search = SEARCHES["ii"](problem(2, tuples=20), stop=stop, clock=clock)
    search.run()
    assert reached(search)


def test_exhaustive_search_is_refused_with_the_bell_number():
    with pytest.raises(InputError, match=r"115,975 \(the Bell number B_10\)"):
        SEARCHES["opt"](problem(0, tuples=10))
    with pytest.raises(InputError, match="content_driven, route_driven"):
        SEARCHES["sa"](problem(0, tuples=3), start="lucky")
