from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cost import conditional_drops, greedy_order, optimal_order, order_cost, survival
from tests.strategies import costs, profiles, queries


def row_by_row(bits, costs, order):
    total = 0.0
    for row in bits:
        for i in order:
            total += costs[i]
            if row[i]:
                break
    return total / len(bits)


@given(st.data())
def test_equation_1_equals_running_every_row(data):
    count = data.draw(st.integers(1, 5))
    bits, cost = data.draw(profiles(count)), data.draw(costs(count))
    order = data.draw(st.permutations(range(count)))
    if len(bits):
        assert order_cost(bits, cost, order) == pytest.approx(row_by_row(bits, cost, order))


@given(st.data())
def test_survival_is_the_product_of_what_conditional_drops_leave(data):
    count = data.draw(st.integers(1, 5))
    bits = data.draw(profiles(count))
    order = data.draw(st.permutations(range(count)))
    if len(bits):
        left = np.cumprod(1 - conditional_drops(bits, order))
        assert survival(bits, order)[1:] == pytest.approx(left[:-1])


@given(st.data())
def test_optimal_is_the_cheapest_order_that_the_guards_allow(data):
    query = data.draw(queries(least=1, most=4))
    bits, cost = data.draw(profiles(len(query))), data.draw(costs(len(query)))
    best = optimal_order(bits, cost, query)
    allowed = [
        order
        for order in permutations(range(len(query)))
        if query.allows(tuple(query.names[i] for i in order))
    ]
    assert best in allowed
    cheapest = min(order_cost(bits, cost, order) for order in allowed)
    assert order_cost(bits, cost, best) == pytest.approx(cheapest)


@given(st.data())
def test_greedy_is_within_four_times_the_optimum(data):
    count = data.draw(st.integers(1, 6))
    from tests.simulate import plain_query

    query = plain_query(count)
    bits, cost = data.draw(profiles(count)), data.draw(costs(count))
    greedy = order_cost(bits, cost, greedy_order(bits, cost, query))
    assert greedy <= 4 * order_cost(bits, cost, optimal_order(bits, cost, query)) + 1e-9
