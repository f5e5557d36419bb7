"""OM and rate-based plans as policies."""

import json

import numpy as np
import pyarrow as pa
import pytest

from anabranch.cost.objectives import soonest
from anabranch.cost.rate import Handling
from anabranch.kernel import Fabric, RowPredicate
from anabranch.kernel.om_rounds import OmBrain
from anabranch.kernel.rehearse import Clock, Known
from anabranch.model import InputError, Operator, Query
from anabranch.model.join import JoinQuery, Stream
from anabranch.policies import OM, Fixed, RateBased
from anabranch.policies.base import Feedback
from anabranch.stats import Reservoir
from tests.simulate import plain_query

SLOW_FAST = Query((Operator("slow"), Operator("fast")))


def test_the_round_example() -> None:
    """Section 3.1: a selection and a projection over windows of 20 seconds."""
    a1 = [10, 7, 8, 25, 10, 8, 9, 26, 11, 7, 20]
    times = [1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    query = Query((Operator("a1 >= 10", ("a1",)),))
    fabric = Fabric(query, [(RowPredicate(lambda a: a >= 10), [0])], Fixed().bind(query))
    rounds = []
    for end in (20, 40, 60):
        # 10 passes twice in the first round: the paper prints sets.
        rows = [a for a, t in zip(a1, times, strict=True) if end - 20 < t <= end]
        kept = fabric.process([pa.array(rows)], len(rows))
        rounds.append([a for a, keep in zip(rows, kept, strict=True) if keep])
    assert [set(one) for one in rounds] == [{10, 25}, {26, 11}, {20}]


def run_rounds(brain: OmBrain, arrivals: list[int], drops: np.ndarray, costs: list[float]) -> list:
    orders = []
    for rows in arrivals:
        sample = Reservoir(0, 2, len(drops))
        sample.update(np.zeros((len(drops), 0)), drops, np.tile(costs, (len(drops), 1)))
        brain.arrived(rows, 1.0)
        orders.append(brain.mesh.routes[0].order)
        brain.measured(len(orders), rows // 10, rows * 1e-4, rows // 2)
        brain.observe(sample)
    return orders


def test_bursts_switch_the_order_and_calm_switches_it_back() -> None:
    policy = OM(window=1.0, partitions=20, history=2, decay=2.0)
    brain = OmBrain(SLOW_FAST, policy)
    drops = np.arange(500)[:, None] % [10, 10] < [9, 5]  # slow passes 0.1, fast 0.5
    arrivals = [20] * 5 + [2_000] * 5 + [20] * 5
    orders = run_rounds(brain, arrivals, drops, [5e-3, 1e-4])
    assert orders[4] == ("slow", "fast")
    assert orders[9] == ("fast", "slow")
    assert orders[14] == ("slow", "fast")
    planner = brain.planner
    assert planner.decisions == 15
    assert planner.walk is not None
    assert planner.walk.switches == 2
    assert planner.rounds[-1].memory == pytest.approx(20 * 20 * 1e-4 + 10)
    assert all(done.expected_memory > 0 for done in planner.rounds)


def test_what_rounds_know_survives_as_plain_data() -> None:
    policy = OM(window=1.0, history=3)
    brain, again = OmBrain(SLOW_FAST, policy), OmBrain(SLOW_FAST, policy)
    drops = np.arange(500)[:, None] % [10, 10] < [9, 5]
    run_rounds(brain, [20, 30, 2_000], drops, [5e-3, 1e-4])
    assert again.restore(json.loads(json.dumps(brain.to_dict())))
    assert again.mesh == brain.mesh
    for one in (brain, again):
        run_rounds(one, [1_500, 20, 20], drops, [5e-3, 1e-4])
    assert again.mesh == brain.mesh
    assert again.planner.decisions == brain.planner.decisions
    assert again.planner.walk is not None
    assert again.planner.walk.switches == brain.planner.walk.switches


def test_in_flow_the_order_follows_selectivities() -> None:
    random, clock = np.random.default_rng(0), Clock()
    query = plain_query(2)
    learner = OM(p=0.2).bind(query)
    predicates = [(Known(clock, 1e-5), [i]) for i in range(2)]
    fabric = Fabric(query, predicates, learner, 0, clock, clock)
    for shares, first in (((0.9, 0.1), "f0"), ((0.1, 0.9), "f1")):
        for _ in range(20):
            drops = random.random((5_000, 2)) < shares
            fabric.process([pa.array(c) for c in drops.T], 5_000)
        assert learner.plan().routes[0].order[0] == first
    assert learner.chart is not None
    assert "f0 x f1 x arrival rate" in str(learner.chart)


def test_many_operators_have_a_coarser_chart() -> None:
    query = plain_query(7)
    random, clock = np.random.default_rng(0), Clock()
    learner = OM(p=0.2).bind(query)
    predicates = [(Known(clock, 1e-5), [i]) for i in range(7)]
    fabric = Fabric(query, predicates, learner, 0, clock, clock)
    drops = random.random((5_000, 7)) < np.linspace(0.1, 0.9, 7)
    fabric.process([pa.array(c) for c in drops.T], 5_000)
    assert learner.chart is not None
    assert learner.chart.cells.size <= 20_000
    order = learner.plan().routes[0].order
    assert order.index("f6") < order.index("f0")


def test_a_seventh_operator_that_changes_makes_another_chart() -> None:
    planner = OM().planner(plain_query(7))
    names = planner.query.names
    shares = dict.fromkeys(names, 0.9) | {"f6": 0.01}
    planner.observe(100, 1.0, shares, [1e-4] * 7)
    assert planner.order[0] == 6
    for _ in range(5):
        planner.observe(100, 1.0, dict.fromkeys(names, 0.1) | {"f6": 0.99}, [1e-4] * 7)
    assert planner.order[-1] == 6


def test_rounds_of_any_length_expect_what_they_hold() -> None:
    brain = OmBrain(SLOW_FAST, OM())
    drops = np.arange(500)[:, None] % [10, 10] < [5, 5]
    sample = Reservoir(0, 2, 500)
    sample.update(np.zeros((500, 0)), drops, np.tile([1e-4, 1e-4], (500, 1)))
    for number in range(5):
        brain.arrived(1_000, 10.0)
        brain.measured(number, 250, 0.15, 500 + 250)
        brain.observe(sample)
    last = brain.planner.rounds[-1]
    assert last.expected_memory == pytest.approx(last.memory, rel=0.1)
    assert last.expected_utils == pytest.approx(last.utils, rel=0.1)


def test_workers_side_by_side_are_as_fast_as_all_of_them() -> None:
    brain = OmBrain(SLOW_FAST, OM(window=1.0))
    sample = Reservoir(0, 2, 500)
    sample.update(np.zeros((500, 0)), np.zeros((500, 2), bool), np.tile([1e-2, 1e-3], (500, 1)))
    brain.arrived(100, 1.0, workers=4)
    brain.observe(sample)
    told, _ = brain.planner.expected((0, 1))
    assert told.rate == pytest.approx(100)  # one of them would pass a hundred per second at most
    assert told.memory < 100 * (100 / 100) + 300


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate_weight": 0, "memory_weight": 0}, "both 0"),
        ({"rate_weight": -1}, "rate_weight is a number of at least 0"),
        ({"partitions": 0}, "partitions is a number of parts"),
        ({"history": 0}, "history is a number of rounds"),
        ({"decay": -1}, "decay is a number"),
        ({"hysteresis": 2}, "hysteresis is a share"),
        ({"window": 0}, "window is a number of seconds above 0"),
        ({"p": 0}, "p is a share"),
    ],
)
def test_bad_parameters_are_refused(arguments, message) -> None:
    with pytest.raises(InputError, match=message):
        OM(**arguments)


CHAIN = JoinQuery.on(
    [Stream(name, 10_000_000) for name in ("a", "b", "c", "d")],
    [(("a", "x"), ("b", "x")), (("b", "y"), ("c", "y")), (("c", "z"), ("d", "z"))],
)
RATES = {"a": 10.0, "b": 20.0, "c": 30.0, "d": 40.0}


def test_probes_follow_the_tree_and_their_guards() -> None:
    planned = RateBased(tree="((a, b), (c, d))").for_join(CHAIN, None)
    orders = {name: planned.order(name, CHAIN.tree(name).operators()) for name in RATES}
    for name, order in orders.items():
        probes = CHAIN.tree(name).operators()
        assert probes.allows(order)
        learner = planned.of_stream(name, probes).bind(probes)
        assert learner.plan().routes[0].order == order


def test_a_plan_for_the_first_results_is_replaced_in_time() -> None:
    star = JoinQuery.on(
        [Stream(name, 3_600_000_000) for name in ("a", "b", "c")],
        [(("a", "x"), ("b", "x")), (("a", "y"), ("c", "y"))],
    )
    policy = RateBased(
        {"a": 50.0, "b": 500.0, "c": 100.0},
        {"a = b": 2e-3, "a = c": 5e-3},
        {"a = c": 5e-3},
        Handling(move=3.75e-3),
        soonest(results=20_000),
    ).for_join(star, None)
    assert [str(tree) for _, tree in policy.stages] == ["((a, b), c)", "((a, c), b)"]
    crossing = policy.stages[1][0]
    probes = star.tree("a").operators()
    learner = policy.of_stream("a", probes).bind(probes)
    assert learner.plan().routes[0].order == ("b", "c")
    told = [
        learner.observe(Feedback(10, (), np.zeros((0, 2), bool), now=100.0 + after))
        for after in (0.0, crossing - 0.1, crossing + 0.1, crossing + 5)
    ]
    assert [len(events) for events in told] == [0, 0, 1, 0]
    assert told[2][0].after == ("c", "b")
    assert learner.plan().routes[0].order == ("c", "b")


def test_what_is_told_of_a_pair_is_of_all_its_predicates() -> None:
    pair = JoinQuery.on(
        [Stream("a", 10), Stream("b", 10)],
        [(("a", "x"), ("b", "x")), (("a", "y"), ("b", "y"))],
    )
    rates = {"a": 1.0, "b": 1.0}
    told = RateBased(rates, {"a = b": 0.002}, {"a = b": 1e-3}).spec(pair)
    assert [(link.selectivity, link.cost) for link in told.links] == [(0.002, 1e-3)]


def test_pairs_of_one_key_are_alike_unless_told_otherwise() -> None:
    names = ("a", "b", "c")
    same = [((one, "k"), (other, "k")) for one, other in (("a", "b"), ("b", "c"))]
    star = JoinQuery.on([Stream(name, 1_000_000) for name in names], same)
    spec = RateBased(dict.fromkeys(names, 1.0), {"a = b": 0.1}).spec(star)
    assert [link.selectivity for link in spec.links] == pytest.approx([0.1] * 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RateBased(RATES, {"a.x = b.x": 0.1}).for_join(CHAIN, None), "without columns"),
        (lambda: RateBased().for_join(CHAIN, None), "rates: a, b, c, d missing"),
        (lambda: RateBased({**RATES, "e": 1.0}).for_join(CHAIN, None), 'no stream "e"'),
        (lambda: RateBased({**RATES, "a": -1.0}).for_join(CHAIN, None), "rate of a is a number"),
        (lambda: RateBased(RATES, {"a = c": 0.1}).for_join(CHAIN, None), 'nothing joins "a = c"'),
        (lambda: RateBased(RATES, {"a = b": 1.1}).for_join(CHAIN, None), "a share from 0 to 1"),
        (lambda: RateBased(tree="((a, b), c)").for_join(CHAIN, None), "spans all streams, d"),
        (lambda: RateBased(how="fast"), 'how is "probe" or "native"'),
        (lambda: RateBased(objective="fast"), "objective is steady_rate"),
        (lambda: RateBased(RATES).bind(plain_query(2)), "is for joins of streams"),
    ],
)
def test_rates_that_cannot_be(make, message) -> None:
    with pytest.raises(InputError, match=message):
        make()
