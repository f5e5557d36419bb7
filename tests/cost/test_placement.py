"""Where native predicates run: against all ways to run them."""

from itertools import chain, combinations, permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anabranch.cost import order_cost
from anabranch.cost.placement import SHIPPING, place
from anabranch.model import Operator, Query


@given(st.integers(0, 10_000))
def test_it_is_the_cheapest_of_all_ways(seed):
    random = np.random.default_rng(seed)
    query = Query(tuple(map(Operator, "abcd")))
    bits = random.random((40, 4)) < random.random(4)
    costs = 10 ** random.uniform(-7, -4, 4)
    python, native = [0, 1], [2, 3]
    placed = place(query, bits, costs, python, native)

    def cost(late):
        before = [i for i in native if i not in late]
        total, alive = 0.0, np.ones(len(bits), bool)
        for stage in (before, python, list(late)):
            rows = bits[alive]
            if len(rows):
                best = min(order_cost(rows, costs, o) if o else 0.0 for o in permutations(stage))
                total += len(rows) / len(bits) * (best + (SHIPPING if stage is python else 0.0))
            alive &= ~bits[:, stage].any(axis=1)
        return total

    ways = chain.from_iterable(combinations(native, n) for n in range(3))
    assert np.isclose(placed.cost, min(map(cost, ways)))


def test_what_was_declared_after_a_late_one_is_late_too():
    query = Query((Operator("python"), Operator("dear"), Operator("cheap", after=("dear",))))
    bits = np.array([[1, 0, 1]] * 9 + [[0, 0, 0]], bool)
    placed = place(query, bits, np.array([1e-6, 1e-3, 1e-8]), inside=[0], movable=[1, 2])
    assert placed.behind == (1, 2)
