"""R-tokens and uncertain routes (Query Mesh, Sections 5.2 and 5.4)."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.kernel.token import show, taken
from anabranch.kernel.wheel import Wheels
from anabranch.model import AtMost, InputError, Leaf, Mesh, Operator, Query, Route, Tree
from anabranch.policies import Sampling
from tests.kernel.test_rusters import Steady, fabric_of
from tests.strategies import queries


def test_the_stack_of_the_paper():
    token = ((3,), (2,), (1,))
    assert show(token) == "<3,2,1>"
    for operator, left in ((3, "<2,1>"), (2, "<1>"), (1, "<>")):
        token = taken(token, operator)
        assert show(token) == left


def test_uncertain_tokens_of_section_5_4():
    token = taken(((2,), (3, 1), (4,)), 2)
    assert show(token) == "<3|1,4>"
    assert show(taken(token, 3)) == "<1,4>"
    assert show(taken(token, 1)) == "<3,4>"
    assert show(taken(((3, 1, 4),), 3)) == "<1|4>"


def test_routes_with_uncertain_parts():
    query = Query((Operator("a"), Operator("b"), Operator("c"), Operator("d", after=("a",))))
    route = Route(query, ("b", "c", "a", "d"), ((1, 3),))
    assert str(route) == "b, c|a, d"
    assert route.token == ((1,), (2, 0), (3,))
    assert route.to_list() == ["b", ["c", "a"], "d"]
    assert Route.from_list(query, route.to_list()) == route
    mesh = Mesh(query, (route,))
    assert Mesh.from_dict(mesh.to_dict()) == mesh
    with pytest.raises(InputError, match="side by side with its guard"):
        Route(query, ("b", "c", "a", "d"), ((2, 4),))
    for parts in (((0, 1),), ((3, 5),), ((1, 3), (2, 4))):
        with pytest.raises(InputError, match="uncertain parts"):
            Route(query, ("b", "c", "a", "d"), parts)


@settings(max_examples=30)
@given(st.data())
def test_right_rows_and_each_operator_once_on_uncertain_routes(data):
    query = data.draw(queries(least=2))
    random = np.random.default_rng(data.draw(st.integers(0, 999)))
    routes = []
    for _ in range(2):
        order = []
        while len(order) < len(query):
            order.append(int(random.choice(query.eligible(order))))
        begin = int(random.integers(0, len(order) - 1))
        inside = set(order[begin : begin + 2])
        free = not any(query.guards[o] & inside for o in inside)
        routes.append(Route.of(query, order, ((begin, begin + 2),) if free else ()))
    mesh = Mesh(query, tuple(routes), {}, Tree(AtMost("x", Leaf(0), Leaf(1), 0.5)))
    rate = data.draw(st.sampled_from([0.0, 0.3]))
    extra = np.ones((len(query), len(query)), bool)
    policy = Steady(mesh, Sampling(rate, extra if rate else None))
    bits = random.random((300, len(query))) < 0.4
    seen = [Counter() for _ in range(len(query))]
    fabric, columns = fabric_of(query, policy, bits, random.random(300), seen)
    for _ in range(3):
        for counter in seen:
            counter.clear()
        assert (fabric.process(columns, 300) == ~bits.any(axis=1)).all()
        for operator, counter in enumerate(seen):
            assert max(counter.values(), default=0) <= 1
            met = np.array(sorted(counter), int)
            for guard in query.guards[operator]:
                assert not bits[met, guard].any()


def test_the_lottery_learns_which_operator_drops_more():
    """Equal slices at first; the operator of low selectivity is drawn more and more."""
    query = Query((Operator("a"), Operator("b")))
    mesh = Mesh(query, (Route(query, ("a", "b"), ((0, 2),)),))
    random = np.random.default_rng(1)
    bits = random.random((200, 2)) < np.array([0.1, 0.9])
    seen = [Counter(), Counter()]
    fabric, columns = fabric_of(query, Steady(mesh), bits, np.zeros(200), seen)
    ticks = iter(range(10**6))
    fabric.clock = lambda: next(ticks) * 1e-6
    first = []
    for _ in range(200):
        before = sum(seen[1].values())
        fabric.process(columns, 200)
        first.append(sum(seen[1].values()) - before == 200)  # b saw all rows: it was drawn
    assert 0.2 < np.mean(first[:10]) < 1.0
    assert np.mean(first[100:]) > 0.8
    assert not all(first[20:])  # the other one is still tried


def test_wheels_are_few():
    wheels = Wheels()
    for number in range(1_000):
        wheels.update(((number,), ((0, 1),)), 0, 10, 5, 1e-3)
    assert len(wheels._known) <= 256


def test_rusters_with_the_same_uncertain_rest_become_one():
    query = Query(tuple(Operator(n) for n in "abcd"))
    routes = Route.of(query, (0, 1, 2, 3), ((2, 4),)), Route.of(query, (1, 0, 2, 3), ((2, 4),))
    mesh = Mesh(query, routes, {}, Tree(AtMost("x", Leaf(0), Leaf(1), 0.5)))
    bits = np.zeros((100, 4), bool)
    seen = [Counter() for _ in range(4)]
    policy = Steady(mesh)
    fabric, columns = fabric_of(query, policy, bits, np.arange(100) % 2 * 1.0, seen)
    assert fabric.process(columns, 100).all()
    calls = Counter(call.operator for call in policy.heard[0].calls)
    assert calls[2] == calls[3] == 1  # by then all rows are together again


@pytest.mark.parametrize(("least", "routes"), [(0, 2), (30, 1), (20, 2)])
def test_small_rusters_join_the_largest(least, routes):
    query = Query((Operator("a"), Operator("b")))
    both = Route.of(query, (0, 1)), Route.of(query, (1, 0))
    mesh = Mesh(query, both, {}, Tree(AtMost("x", Leaf(0), Leaf(1), 0.5)))
    x = np.where(np.arange(100) < 25, 1.0, 0.0)
    seen = [Counter(), Counter()]
    policy = Steady(mesh, Sampling(least=least))
    fabric, columns = fabric_of(query, policy, np.zeros((100, 2), bool), x, seen)
    assert fabric.process(columns, 100).all()
    assert len(fabric.ledger.routes) == routes
    assert len(np.unique(policy.heard[0].routes)) == routes
