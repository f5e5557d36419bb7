from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cost import choose_routes, promoted, rank_orders, route_costs
from tests.simulate import plain_query
from tests.strategies import costs, queries

TABLE_1 = np.array([[0.32, 0.10, 0.55], [0.31, 0.20, 0.65], [0.27, 0.90, 0.60]])


def test_table_1_yields_the_orders_that_the_paper_states():
    orders = rank_orders(TABLE_1, np.ones(3), plain_query(3)) + 1
    assert orders.tolist() == [[2, 1, 3], [2, 1, 3], [1, 3, 2]]  # for a, b and c
    overall = rank_orders(np.array([[0.30, 0.40, 0.60]]), np.ones(3), plain_query(3)) + 1
    assert overall.tolist() == [[1, 2, 3]]


@given(st.data())
def test_by_rank_is_the_cheapest_order_of_independent_operators(data):
    count = data.draw(st.integers(1, 5))
    passed = np.array([data.draw(st.lists(st.floats(0, 0.99), min_size=count, max_size=count))])
    each = data.draw(costs(count))
    ranked = rank_orders(passed, each, plain_query(count))
    every = np.array(list(permutations(range(count))))
    best = route_costs(passed, each, every).min()
    assert route_costs(passed, each, ranked)[0, 0] == pytest.approx(best)


@given(st.data())
def test_orders_keep_the_guards(data):
    query = data.draw(queries(least=1))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    passed = random.random((6, len(query)))
    for order in rank_orders(passed, np.ones(len(query)), query):
        assert query.allows([query.names[i] for i in order])
        for first in range(len(query)):
            early = promoted(tuple(order.tolist()), first, query)
            assert query.allows([query.names[i] for i in early])
            assert early.index(first) == len(query.guards[first])


@given(st.integers(2, 6), st.integers(1, 40), st.integers(1, 8), st.integers(0, 999))
def test_few_routes_serve_many_classes(count, classes, most, seed):
    random = np.random.default_rng(seed)
    passed, weights = random.random((classes, count)), random.random(classes) + 0.1
    each = random.random(count) + 0.1
    query = plain_query(count)
    routes = choose_routes(passed, weights, each, query, most, 0.0)
    assert 1 <= len(routes.orders) <= most
    assert sorted(set(routes.chosen.tolist())) == list(range(len(routes.orders)))
    table = route_costs(passed, each, routes.orders)
    assert (table[np.arange(classes), routes.chosen] <= table.min(axis=1) + 1e-12).all()
    one = choose_routes(passed, weights, each, query, 1, 0.0)
    own = route_costs(passed, each, rank_orders(passed, each, query)).min(axis=1)
    floor = float(np.average(own, weights=weights))
    assert floor - 1e-9 <= routes.cost <= one.cost + 1e-9


def test_a_route_must_pay_for_its_calls():
    passed = np.array([[0.1, 0.9], [0.9, 0.1]])
    arguments = passed, np.array([99.0, 1.0]), np.ones(2), plain_query(2), 8
    assert len(choose_routes(*arguments, overhead=0.0).orders) == 2
    assert len(choose_routes(*arguments, overhead=0.01).orders) == 1  # saves 0.8 % of a row


def test_without_classes_that_differ_there_is_one_route():
    passed = np.full((5, 3), 0.5)
    routes = choose_routes(passed, np.ones(5), np.array([1.0, 2.0, 3.0]), plain_query(3), 8, 0.0)
    assert routes.orders.tolist() == [[0, 1, 2]]
