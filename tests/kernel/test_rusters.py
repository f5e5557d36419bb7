"""Several routes at once: every row on its own, few calls, every operator once per row."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.kernel import ArrowPredicate, Fabric
from anabranch.model import (
    NULL,
    Attribute,
    Cells,
    HashPartition,
    Lottery,
    Mesh,
    Operator,
    Query,
    Route,
    ValuePartition,
)
from anabranch.policies import Policy, Sampling
from tests.strategies import queries


class Steady(Policy):
    """Follows one mesh, profiles as it is told, remembers what it hears."""

    name, summary = "steady", "for tests"

    def __init__(self, mesh, sampling=None):
        self.query, self.mesh, self.heard = mesh.query, mesh, []
        self._sampling = sampling or Sampling()

    def begin(self, start):
        pass

    def plan(self):
        return self.mesh

    def sampling(self):
        return self._sampling

    def observe(self, feedback):
        self.heard.append(feedback)
        return ()


def fabric_of(query, policy, bits, values, seen):
    """Operator i drops rows whose bit i is set, and notes the rows that it sees."""

    def predicate(i):
        def judge(ids):
            rows = ids.to_numpy()
            seen[i].update(rows.tolist())
            return pa.array(~bits[rows, i])

        return ArrowPredicate(judge), [0]

    fabric = Fabric(query, [predicate(i) for i in range(len(query))], policy, attributes={"x": 1})
    return fabric, [pa.array(np.arange(len(bits))), pa.array(values)]


def valid_orders(query, count, random):
    orders = []
    for _ in range(count):
        order = []
        while len(order) < len(query):
            order.append(int(random.choice(query.eligible(order))))
        orders.append(Route.of(query, tuple(order)))
    return tuple(orders)


@settings(max_examples=40)
@given(st.data())
def test_right_rows_whatever_the_routes_and_the_profile(data):
    query = data.draw(queries(least=1))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = data.draw(st.integers(0, 300))
    bits = random.random((rows, len(query))) < 0.4
    values = random.choice([0.0, 1.0, 2.0, np.nan, np.inf], rows)
    routes = valid_orders(query, 3, random)
    part = ValuePartition("x", (0.0, 1.0, 2.0))
    classifier = data.draw(st.sampled_from([Cells((part,), ((0, 1), (5, 2))), Lottery(3)]))
    full = np.ones((len(query), len(query)), bool)
    sampling = data.draw(
        st.sampled_from(
            [Sampling(), Sampling(0.3, full), Sampling(0.3, first=0), Sampling(1.0, first=0)]
        )
    )
    policy = Steady(Mesh(query, routes, classifier=classifier), sampling)
    seen = [Counter() for _ in query.operators]
    fabric, columns = fabric_of(query, policy, bits, values, seen)
    keep = fabric.process(columns, rows)
    assert (keep == ~bits.any(axis=1)).all()
    for i, counted in enumerate(seen):
        assert max(counted.values(), default=0) <= 1
        for guard in query.guards[i]:
            assert not bits[sorted(counted), guard].any()
    if rows:
        told = policy.heard[-1]
        assert sum(len(visit.rows) for visit in told.visits) == sum(c.total() for c in seen)
        profiled = bits[told.profiled]
        assert not (told.dropped & ~profiled).any()
        assert not (told.passed & profiled).any()


def two_routes(rows=1000):
    query = Query((Operator("a"), Operator("b"), Operator("c")))
    routes = Route(query, ("a", "b", "c")), Route(query, ("c", "a", "b"))
    mesh = Mesh(query, routes, classifier=Cells((ValuePartition("x", (0.0, 1.0)),), ((1, 1),)))
    bits = np.zeros((rows, 3), bool)
    return query, mesh, bits, np.arange(rows) % 2.0


def test_each_row_takes_its_own_route():
    query, mesh, bits, values = two_routes()
    bits[:, 0] = values == 0
    bits[:, 2] = values == 1
    seen = [Counter() for _ in range(3)]
    fabric, columns = fabric_of(query, Steady(mesh), bits, values, seen)
    fabric.process(columns, len(bits))
    assert [len(counted) for counted in seen] == [500, 0, 500]  # dropped at the first stop
    assert dict(fabric.ledger.routes) == {(0, 1, 2): 500, (2, 0, 1): 500}


def test_rusters_that_wait_for_one_operator_share_a_call():
    query, mesh, bits, values = two_routes()
    fabric, columns = fabric_of(query, Steady(mesh), bits, values, [Counter() for _ in range(3)])
    fabric.process(columns, len(bits))
    # Six calls if every ruster went alone.
    assert sum(tally.calls for tally in fabric.ledger.operators) == 5
    assert [tally.evaluated for tally in fabric.ledger.operators] == [1000, 1000, 1000]


def test_profiled_rows_meet_their_operator_first_and_nothing_twice():
    query, mesh, bits, values = two_routes()
    bits[:, 1] = True  # b drops all
    policy = Steady(mesh, Sampling(0.5, first=1))
    seen = [Counter() for _ in range(3)]
    fabric, columns = fabric_of(query, policy, bits, values, seen)
    fabric.process(columns, len(bits))
    told = policy.heard[-1]
    assert told.dropped[:, 1].all()
    assert not set(told.profiled.tolist()) & (set(seen[0]) | set(seen[2]))
    assert fabric.ledger.operators[1].extra == len(told.profiled)
    assert fabric.ledger.routing[1, "*"] == len(told.profiled)


@pytest.mark.parametrize("partition", [ValuePartition("x", (1.0,)), HashPartition("x", 8)])
def test_null_nan_and_infinities_never_crash_routing(partition):
    query = Query((Operator("a"), Operator("b")), (Attribute("x"),))
    routes = Route(query, ("a", "b")), Route(query, ("b", "a"))
    special = range(partition.regular, partition.size)
    cells = Cells((partition,), tuple((code, 1) for code in special))
    policy = Steady(Mesh(query, routes, classifier=cells))
    bits = np.zeros((5, 2), bool)
    values = [None, float("nan"), float("inf"), float("-inf"), 1.0]
    fabric, columns = fabric_of(query, policy, bits, values, [Counter(), Counter()])
    assert fabric.process(columns, 5).all()
    assert policy.heard[-1].values("x")[0] == NULL
    assert dict(fabric.ledger.routes) == {(0, 1): 1, (1, 0): 4}
