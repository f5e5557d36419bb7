"""Merging two statistics equals one pass over both."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.kernel.ledger import Ledger, Times
from anabranch.policies import Call, Event
from anabranch.stats import CostFit, ProfileWindow
from tests.strategies import profiles

calls = st.lists(st.tuples(st.integers(0, 5000), st.floats(0, 1)), max_size=20)


@given(calls, calls)
def test_cost_fit_merges(one, two):
    left, right, both = CostFit(), CostFit(), CostFit()
    for fit, items in ((left, one), (right, two), (both, one + two)):
        for rows, seconds in items:
            fit.update(rows, seconds)
    merged = left.merge(right)
    assert merged.calls == both.calls
    assert merged.get(100) == pytest.approx(both.get(100))


def test_cost_fit_tells_the_fixed_part_from_the_part_per_row():
    random = np.random.default_rng(0)
    fit = CostFit()
    for rows in random.integers(10, 10_000, 200):
        fit.update(int(rows), (1e-4 + 2e-6 * rows) * random.normal(1, 0.02))
    assert fit.fixed == pytest.approx(1e-4, rel=0.1)
    assert fit.per_row == pytest.approx(2e-6, rel=0.05)
    assert fit.get(10) == pytest.approx(1.2e-5, rel=0.1)


def test_cost_fit_never_answers_with_a_negative_part():
    fit = CostFit()
    fit.update(100, 0.2)
    fit.update(10_000, 0.1)
    assert fit.per_row == 0
    assert fit.fixed == pytest.approx(0.199, abs=0.001)
    fit = CostFit()
    fit.update(100, 0.001)
    fit.update(10_000, 0.2)
    assert fit.fixed == 0
    assert fit.per_row == pytest.approx(0.201 / 10_100)


def test_cost_fit_knows_nothing_before_the_first_call():
    assert CostFit().get(10) is None


def test_an_aged_cost_follows_the_new_one():
    fit = CostFit()
    for seconds in [1.0] * 20 + [0.1] * 40:
        fit.update(100, seconds, fading=0.9)
    assert fit.get(100) == pytest.approx(0.001, rel=0.2)


@given(st.data())
def test_profile_window_by_rows_merges(data):
    one, two = data.draw(profiles(3)), data.draw(profiles(3))
    size = data.draw(st.integers(1, 50))
    left, right, both = (ProfileWindow(3, size) for _ in range(3))
    left.update(one, 1.0)
    right.update(two, 2.0)
    both.update(one, 1.0)
    both.update(two, 2.0)
    assert (left.merge(right).get() == both.get()).all()


@given(st.data())
def test_profile_window_keeps_the_newest_and_returns_the_rest(data):
    parts = [data.draw(profiles(2)) for _ in range(4)]
    size = data.draw(st.integers(1, 50))
    window = ProfileWindow(2, size)
    gone = [window.update(part) for part in parts]
    everything = np.concatenate(parts)
    assert (np.concatenate([*gone, window.get()]) == everything).all()
    assert (window.get() == everything[max(0, len(everything) - size) :]).all()


def test_profile_window_by_time_forgets():
    window = ProfileWindow(1, size=100, seconds=10)
    row = np.ones((1, 1), bool)
    for now in (0.0, 5.0, 11.0):
        gone = window.update(row, now)
    assert len(gone) == 1
    assert len(window) == 2
    window.update(row[:0], 100.0)
    assert len(window) == 0


def test_profile_window_by_time_merges():
    left, right = ProfileWindow(1, seconds=10), ProfileWindow(1, seconds=10)
    left.update(np.ones((1, 1), bool), 0.0)
    right.update(np.zeros((1, 1), bool), 20.0)
    assert left.merge(right).get().tolist() == [[False]]


call = st.builds(
    Call,
    st.integers(0, 1),
    st.integers(10, 100),
    st.integers(0, 10),
    st.integers(0, 100),
    st.floats(0, 1),
)
slices = st.lists(
    st.tuples(st.integers(0, 100), st.lists(call, max_size=3), st.sampled_from([(0, 1), (1, 0)])),
    max_size=5,
)


@given(slices, slices)
def test_ledger_merges_and_survives_json(one, two):
    left, right, both = (Ledger.empty(2) for _ in range(3))
    for ledger, items in ((left, one), (right, two), (both, one + two)):
        for rows, made, route in items:
            event = Event("switch", rows, ("a", "b"), ("b", "a"), 1.0)
            ledger.update(rows, rows // 2, made, [(route, rows)], (event,), Times(0.5, 0.1))
    merged = Ledger.from_dict(left.merge(right).to_dict())
    assert merged.rows_in == both.rows_in
    assert merged.routes == both.routes
    assert merged.switches == both.switches == len(merged.events)
    assert merged.routing == both.routing
    for mine, theirs in zip(merged.operators, both.operators, strict=True):
        assert mine.get() == pytest.approx(theirs.get())
