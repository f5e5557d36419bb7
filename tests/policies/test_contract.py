"""What every registered policy must do."""

import json
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.data.correlated import correlated_bits
from anabranch.data.mesh_streams import xor
from anabranch.kernel import Fabric
from anabranch.kernel.rehearse import Clock, Known
from anabranch.model import InputError, Mesh, Operator, PlanError, Query
from anabranch.policies import (
    POLICIES,
    AGreedy,
    ContentLearns,
    Fixed,
    Independent,
    LocalSwaps,
    Optimal,
    QueryMesh,
    Sweep,
)
from anabranch.policies.query_mesh import Auto
from anabranch.policies.registry import resolve
from tests.simulate import plain_query, simulate
from tests.strategies import costs, queries

every = pytest.mark.parametrize("policy", POLICIES, ids=lambda p: p.name)


@every
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_right_rows_valid_order_and_guards_honoured(policy, data):
    query = data.draw(queries())
    rates = data.draw(st.lists(st.floats(0, 1), min_size=len(query), max_size=len(query)))
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    bits = random.random((3000, len(query))) < np.array(rates)
    cost = data.draw(costs(len(query)))
    outcome = simulate(policy(), bits, cost, query, batch=700)
    assert (outcome.keep == ~bits.any(axis=1)).all()
    assert query.allows(outcome.fabric.learner.plan().routes[0].order)
    for i, predicate in enumerate(outcome.predicates):
        assert max(predicate.seen.values(), default=0) <= 1
        for guard in query.guards[i]:
            seen = np.array(sorted(predicate.seen), int)
            assert not bits[seen, guard].any()


@every
def test_same_seed_same_decisions(policy):
    bits = correlated_bits(20_000, [0.3, 0.5, 0.4, 0.6], 2, seed=3)
    one, two = (simulate(policy(), bits, [1, 2, 3, 4], seed=5) for _ in range(2))
    assert one.events == two.events
    assert one.per_batch == two.per_batch


@every
def test_a_learner_pickles_and_goes_on_as_before(policy):
    bits = correlated_bits(10_000, [0.3, 0.5, 0.4, 0.6], 2, seed=3)
    outcome = simulate(policy(), bits)
    copy = pickle.loads(pickle.dumps(outcome.fabric.learner))
    assert copy.plan() == outcome.fabric.learner.plan()
    assert copy.sampling().rate == outcome.fabric.learner.sampling().rate


@every
def test_memory_stays_bounded(policy):
    query = plain_query(4)
    learner = simulate(policy(), correlated_bits(5_000, [0.5] * 4), query=query).fabric.learner
    early = len(pickle.dumps(learner))
    later = simulate(policy(), correlated_bits(200_000, [0.5] * 4), query=query).fabric.learner
    assert len(pickle.dumps(later)) < early + 40_000


@every
def test_the_plan_survives_json_and_starts_another_run(policy):
    bits = correlated_bits(10_000, [0.1, 0.6, 0.2, 0.4], 2, seed=1)
    outcome = simulate(policy(), bits)
    mesh = Mesh.from_dict(outcome.fabric.learner.plan().to_dict())
    again = policy().bind(outcome.fabric.query, mesh)
    assert again.plan().routes == mesh.routes


@every
def test_a_plan_of_another_query_is_refused(policy):
    mesh = Mesh.single(Query((Operator("x"),)), ("x",))
    with pytest.raises(PlanError, match="another query"):
        policy().bind(plain_query(2), mesh)


@every
@pytest.mark.parametrize("count", [0, 1])
def test_none_and_one_operator(policy, count):
    bits = correlated_bits(2_000, [0.5] * 2)[:, :count]
    outcome = simulate(policy(), bits)
    assert (outcome.keep == ~bits.any(axis=1)).all()
    assert outcome.evaluations == 2_000 * count


def routed(policy, rows):
    """A learner that has seen rows whose classes two attributes tell, and what it decided."""
    stream, clock = xor(rows), Clock()
    drops, values = stream.drops(), stream.values().astype(float)
    learner = policy().bind(stream.query)
    predicates = [(Known(clock, 5e-6, 30e-6), [j]) for j in range(6)]
    places = {name: 6 + i for i, name in enumerate(stream.names)}
    fabric = Fabric(stream.query, predicates, learner, 0, clock, clock, places)
    columns = [pa.array(column) for column in (*drops.T, *values.T)]
    for begin in range(0, rows, 5_000):
        fabric.process([column.slice(begin, 5_000) for column in columns], 5_000)
    return learner, fabric.take_ledger()


@pytest.mark.parametrize("policy", [ContentLearns, QueryMesh, Auto], ids=lambda p: p.__name__)
def test_the_same_holds_for_learners_with_several_routes(policy):
    learner, ledger = routed(policy, 60_000)
    plan = learner.learned()
    assert len(plan.routes) > 1
    assert routed(policy, 60_000)[1].events == ledger.events  # the same seed
    copy = pickle.loads(pickle.dumps(learner))
    assert copy.plan() == learner.plan()
    assert copy.sampling().rate == learner.sampling().rate
    later = len(pickle.dumps(routed(policy, 400_000)[0]))
    assert later < len(pickle.dumps(learner)) + 100_000
    mesh = Mesh.from_dict(json.loads(json.dumps(plan.to_dict())))
    again = policy().bind(learner.query, mesh).plan()
    assert again.routes == plan.routes
    assert again.classifier == plan.classifier


@every
def test_no_rows(policy):
    assert len(simulate(policy(), np.zeros((0, 3), bool)).keep) == 0


@every
def test_has_a_name_and_a_summary(policy):
    assert resolve(policy.name) == policy()
    assert policy.summary
    assert policy.__doc__


@pytest.mark.parametrize("policy", [AGreedy, Sweep, Independent, LocalSwaps])
@pytest.mark.parametrize(
    "arguments",
    [{"p": 0}, {"p": 1.5}, {"alpha": 0}, {"alpha": 2}, {"window": 0}, {"first_rows": 0}],
)
def test_bad_parameters_are_refused(policy, arguments):
    with pytest.raises(InputError, match=r"at (most|least) 1"):
        policy(**arguments)


def test_bad_names():
    with pytest.raises(InputError, match='did you mean "agreedy"'):
        resolve("agredy")
    with pytest.raises(InputError, match="valid names"):
        resolve(7)
    with pytest.raises(InputError, match='"auto"'):
        AGreedy(p="always")


def test_optimal_takes_eight_operators_at_most():
    with pytest.raises(InputError, match="at most 8 operators"):
        Optimal().bind(plain_query(9))


def test_a_fixed_order_must_be_valid():
    with pytest.raises(InputError, match="not a valid order"):
        Fixed(order=["f0"]).bind(plain_query(2))
