"""From a sample to a mesh."""

import numpy as np
import pytest

from anabranch.cost import order_cost
from anabranch.model import Attribute, Operator, Query
from anabranch.policies.query_mesh.condense import condense
from anabranch.policies.query_mesh.optimise import QUICK, THOROUGH, Settings, Task, optimise
from anabranch.policies.query_mesh.search import Stop
from anabranch.stats import Reservoir

NAMES = ("a", "b", "noise", "row")


def query_of(operators):
    return Query(
        tuple(Operator(f"o{i}") for i in range(operators)), tuple(Attribute(n) for n in NAMES)
    )


def sampled(rows, rates, seed=0):
    """Rows whose class is the XOR of two categories, with the drop rates of each class."""
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 4, (2, rows))
    kind = (a + b) % 2
    values = np.column_stack([a, b, random.random(rows), np.arange(rows)]).astype(float)
    bits = random.random((rows, rates.shape[1])) < rates[kind]
    sample = Reservoir(len(NAMES), rates.shape[1], rows)
    sample.update(values, bits, np.ones(bits.shape))
    return sample, kind


RATES = np.array([[0.9, 0.1, 0.1, 0.1, 0.1, 0.5], [0.1, 0.1, 0.1, 0.1, 0.9, 0.5]])


@pytest.mark.parametrize("settings", [QUICK, THOROUGH])
def test_classes_by_two_attributes_together(settings):
    sample, _ = sampled(1_000, RATES)
    solution = optimise(Task(sample, query_of(6), np.ones(6), settings, 0.01, 0.01))
    assert len(solution.mesh.routes) == 2
    assert solution.cost < 0.85 * solution.single
    fresh, kind = sampled(5_000, RATES, seed=1)
    columns = dict(zip(NAMES, fresh.values.T, strict=True))
    classifier = solution.mesh.classifier
    routes = classifier.classify(columns.__getitem__, 5_000, np.random.default_rng(0)).routes
    cost = oracle = 0.0
    for place, route in enumerate(solution.mesh.routes):
        rows = fresh.bits[routes == place]
        cost += len(rows) * order_cost(rows, np.ones(6), route.indexes)
    for own, best in ((0, (0, 5, 1, 2, 3, 4)), (1, (4, 5, 0, 1, 2, 3))):
        rows = fresh.bits[kind == own]
        oracle += len(rows) * order_cost(rows, np.ones(6), best)
    assert cost <= 1.03 * oracle


@pytest.mark.parametrize("seed", range(8))
def test_what_tells_a_little_of_each_operator_does_not_hide_what_tells_most(seed):
    """Each operator compares a number of its own; how strictly depends on two categories."""
    random = np.random.default_rng(seed)
    x, y = random.integers(0, 2, (2, 300))
    own = random.integers(0, 1_000, (4, 300))
    bits = np.column_stack([own[j] >= np.where((x ^ y) == j % 2, 100, 900) for j in range(4)])
    names = ("x", "y", "own0", "own1", "own2", "own3")
    query = Query(tuple(Operator(f"o{j}") for j in range(4)), tuple(Attribute(n) for n in names))
    sample = Reservoir(6, 4, 300)
    sample.update(np.column_stack([x, y, *own]).astype(float), bits, np.ones(bits.shape))
    solution = optimise(Task(sample, query, np.ones(4), QUICK, 0.01, 0.01))
    assert set(solution.mesh.classifier.attributes) >= {"x", "y"}
    assert solution.cost < 0.85 * solution.single


@pytest.mark.parametrize("settings", [QUICK, THOROUGH])
def test_uniform_data_gives_one_route(settings):
    for seed in range(20):
        sample, _ = sampled(1_000, np.full((2, 6), 0.5), seed)
        solution = optimise(Task(sample, query_of(6), np.ones(6), settings, 0.001, 0.001))
        assert len(solution.mesh.routes) == 1
        assert solution.mesh.classifier is None


def test_overhead_per_route_counts():
    sample, _ = sampled(1_000, RATES)
    dear = optimise(Task(sample, query_of(6), np.ones(6), QUICK, 0.01, overhead=1.0))
    assert len(dear.mesh.routes) == 1


def test_guards_hold_in_every_route():
    operators = (*(Operator(f"o{i}") for i in range(5)), Operator("o5", after=("o2",)))
    query = Query(operators, tuple(Attribute(n) for n in NAMES))
    sample, _ = sampled(1_000, RATES)
    solution = optimise(Task(sample, query, np.ones(6)))
    for route in solution.mesh.routes:
        assert route.order.index("o2") < route.order.index("o5")


def test_a_sample_of_few_rows_is_no_error():
    settings = Settings(search="opt", condensed=5, stop=Stop())
    for rows in (0, 1, 5):
        sample, _ = sampled(rows, RATES)
        assert len(optimise(Task(sample, query_of(6), np.ones(6), settings)).mesh.routes) == 1


def test_condensing_keeps_unlike_cells_apart():
    random = np.random.default_rng(0)
    cells = random.integers(0, 40, 4_000)
    rates = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])[cells % 3]
    bits = random.random((4_000, 2)) < rates
    tuples = condense(bits, cells, 3, np.ones(2))
    assert len(np.unique(tuples)) == 3
    for cell in range(40):
        assert len(np.unique(tuples[cells == cell])) == 1
    assert [len(np.unique(tuples[cells % 3 == k])) for k in range(3)] == [1, 1, 1]
    many = condense(bits, cells, 100, np.ones(2))
    assert len(np.unique(many)) == 40
