"""Several queries in one pass, without Spark."""

from itertools import permutations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.kernel.rehearse import Clock, Known
from anabranch.kernel.shared import SharedFabric, SharedTally
from anabranch.model import Operator, Query
from anabranch.model.shared import SharedQuery
from anabranch.policies.shared import SharedOrder, greedy_shared, shared_cost


@st.composite
def sharing(draw):
    """Up to five operators, some behind others, and up to four queries that ask for some."""
    count = draw(st.integers(1, 5))
    operators = []
    for i in range(count):
        guards = draw(st.sets(st.integers(0, i - 1), max_size=1)) if i else set()
        operators.append(Operator(f"o{i}", after=tuple(f"o{g}" for g in guards)))
    union = Query(tuple(operators))
    members = {}
    for q in range(draw(st.integers(1, 4))):
        chosen = draw(st.sets(st.integers(0, count - 1)))
        chosen |= {g for i in chosen for g in union.guards[i]}
        members[f"q{q}"] = tuple(f"o{i}" for i in sorted(chosen))
    return SharedQuery(union, members)


def fabric_of(shared, clock, costs, learns=True, seed=0):
    predicates = [(Known(clock, cost), [i]) for i, cost in enumerate(costs)]
    return SharedFabric(shared, predicates, SharedOrder(shared, learns=learns), seed, clock, clock)


def bits_of(random, rows, count):
    return random.random((rows, count)) < random.random(count)


@settings(max_examples=60, deadline=None)
@given(sharing(), st.integers(0, 1000), st.booleans())
def test_every_query_gets_its_rows_and_guards_hold(shared, seed, learns):
    random, clock = np.random.default_rng(seed), Clock()
    drops = bits_of(random, 3_000, len(shared.query))
    wanted = random.integers(0, shared.everyone + 1, 3_000)
    fabric = fabric_of(shared, clock, random.uniform(1e-6, 1e-5, len(shared.query)), learns, seed)
    kept = []
    for begin in range(0, 3_000, 700):
        part = drops[begin : begin + 700]
        kept.append(fabric.process([pa.array(c) for c in part.T], wanted[begin : begin + 700]))
    found = np.concatenate(kept)
    for q, own in enumerate(shared.members.values()):
        places = [shared.query.names.index(name) for name in own]
        expected = ((wanted >> q) & 1 == 1) & ~drops[:, places].any(axis=1)
        assert (((found >> q) & 1 == 1) == expected).all()
    tally = fabric.tally
    assert tally.rows_in == 3_000
    assert tally.out.tolist() == [int(((found >> q) & 1).sum()) for q in range(len(tally.out))]
    assert (tally.counts[0] <= 3_000).all()  # at most once per row
    assert SharedTally.from_dict(tally.to_dict()).to_dict() == tally.to_dict()


def test_what_is_shared_is_evaluated_once_and_the_savings_are_told():
    union = Query((Operator("a"), Operator("b")))
    shared = SharedQuery(union, {"one": ("a", "b"), "two": ("a",), "three": ("a", "b")})
    clock = Clock()
    fabric = fabric_of(shared, clock, [1e-6, 1e-6], learns=False)
    drops = np.zeros((100, 2), bool)
    drops[:50, 0] = True
    fabric.process([pa.array(c) for c in drops.T], np.full(100, shared.everyone))
    assert fabric.tally.counts[0].tolist() == [100, 50]
    assert fabric.tally.counts[3].tolist() == [300, 100]  # one by one


def test_a_guarded_operator_sees_only_what_its_guard_passed():
    union = Query((Operator("guard"), Operator("inside", after=("guard",))))
    shared = SharedQuery(union, {"one": ("guard", "inside"), "two": ("guard", "inside")})
    clock, seen = Clock(), []

    class Watching(Known):
        def judge(self, converted, rows):
            seen.append(converted)
            return super().judge(converted, rows)

    predicates = [(Known(clock, 1e-6), [0]), (Watching(clock, 1e-9), [1])]
    fabric = SharedFabric(shared, predicates, SharedOrder(shared), 0, clock, clock)
    drops = np.zeros((2_000, 2), bool)
    drops[::2, 0] = True
    drops[::2, 1] = True  # it would see True only where the guard drops
    fabric.process([pa.array(c) for c in drops.T], np.full(2_000, 3))
    assert sum(map(len, seen)) == 1_000
    assert not any(part.any() for part in seen)


@settings(max_examples=40, deadline=None)
@given(sharing(), st.integers(0, 1000))
def test_the_greedy_order_is_near_the_best(shared, seed):
    random = np.random.default_rng(seed)
    drops = bits_of(random, 200, len(shared.query))
    for operator, guards in enumerate(shared.query.guards):
        drops[drops[:, list(guards)].any(axis=1), operator] = False  # never asked there
    costs = random.uniform(1, 10, len(shared.query))
    valid = [
        order
        for order in permutations(range(len(shared.query)))
        if shared.query.allows(shared.query.names[i] for i in order)
    ]
    best = min(shared_cost(shared, drops, costs, order) for order in valid)
    found = greedy_shared(shared, drops, costs)
    assert found in valid
    assert shared_cost(shared, drops, costs, found) <= 2 * best + 1e-9


def test_the_order_follows_the_data():
    union = Query((Operator("a"), Operator("b"), Operator("c")))
    shared = SharedQuery(union, {"one": ("a", "b"), "two": ("b", "c")})
    random, clock = np.random.default_rng(1), Clock()
    fabric = fabric_of(shared, clock, [1e-6] * 3)
    # At last "b" is worth asking only where both others have passed.
    for shares, first in (((0.1, 0.9, 0.1), 1), ((0.9, 0.01, 0.95), 2)):
        for _ in range(30):
            drops = random.random((5_000, 3)) < shares
            fabric.process([pa.array(c) for c in drops.T], np.full(5_000, 3))
        assert fabric.learner.order[0] == first
    assert fabric.tally.switches >= 2


def test_profiling_asks_nothing_of_rows_that_no_asker_wanted():
    """Spark may have dropped them for a query by a guard that hides errors."""
    union = Query((Operator("a"), Operator("b")))
    shared = SharedQuery(union, {"one": ("a",), "two": ("b",)})
    clock = Clock()
    fabric = fabric_of(shared, clock, [1e-6, 1e-6])
    wanted = np.where(np.arange(2_000) % 2, 1, 3)
    drops = np.zeros((2_000, 2), bool)
    fabric.process([pa.array(c) for c in drops.T], wanted)
    assert fabric.tally.counts[0].tolist() == [2_000, 1_000]
