"""Exponentially weighted selectivities, In and Out, measured costs: merging and forgetting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.stats import InOut, OperatorCost, Selectivity


def test_row_by_row_it_is_the_papers_formula():
    alpha, random = 0.95, np.random.default_rng(0)
    tracked = Selectivity(1, alpha)
    tracked.update(np.array([1000]), np.array([700]))
    expected = tracked.get()[0]
    for passed in random.random(200) < 0.2:
        tracked.update(np.array([1]), np.array([int(passed)]))
        expected = alpha * expected + (1 - alpha) * passed
        assert tracked.get()[0] == pytest.approx(expected)


def test_few_rows_count_alike():
    tracked = Selectivity(2, 0.999)
    for passed in (1, 0, 0, 1):
        tracked.update(np.array([1, 0]), np.array([passed, 0]))
    assert tracked.get().tolist() == [0.5, 0.5]
    assert tracked.rows.tolist() == [4.0, 0.0]


def test_it_follows_a_change():
    tracked = Selectivity(1, 0.99)
    tracked.update(np.array([5000]), np.array([5000]))
    tracked.update(np.array([500]), np.array([0]))
    assert tracked.get()[0] < 0.01


counts = st.lists(st.integers(0, 40), min_size=3, max_size=3)


@given(counts, counts)
def test_selectivities_merge(one, two):
    left, right, both = (Selectivity(3, 0.999) for _ in range(3))
    a, b = np.array(one), np.array(two)
    left.update(a, a // 2)
    right.update(b, b // 3)
    both.update(a, a // 2)
    both.update(b, b // 3)
    assert left.merge(right).get() == pytest.approx(both.get())
    assert left.merge(right).rows == pytest.approx(both.rows)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 99))
def test_in_and_out_count_and_merge(first, second, seed):
    random = np.random.default_rng(seed)
    codes = random.integers(0, 5, (first + second, 3))
    passed, saw = random.random((2, first + second, 2)) < 0.5
    left, right, both = (InOut(2, 3, 5) for _ in range(3))
    left.update(codes[:first], passed[:first], saw[:first])
    right.update(codes[first:], passed[first:], saw[first:])
    both.update(codes, passed, saw)
    merged = left.merge(right)
    for o, j, i in np.ndindex(2, 3, 5):
        rows = saw[:, o] & (codes[:, j] == i)
        assert merged.rows_in[o, j, i] == both.rows_in[o, j, i] == rows.sum()
        assert merged.rows_out[o, j, i] == both.rows_out[o, j, i] == (rows & passed[:, o]).sum()
    assert merged.rows.tolist() == both.rows.tolist() == saw.sum(axis=0).tolist()
    assert merged.passed.tolist() == both.passed.tolist()


def test_in_and_out_forget_what_is_old():
    matrices = InOut(2, 1, 2, size=100)
    one, saw = np.zeros((100, 1), np.int64), np.tile([True, False], (100, 1))
    matrices.update(one, np.ones((100, 2), bool), np.ones((100, 2), bool))
    for _ in range(10):
        matrices.update(one, np.zeros((100, 2), bool), saw)
    assert matrices.rows.tolist() == [100, 100]
    assert matrices.passed[0] < 0.2
    assert matrices.passed[1] == 100  # saw nothing since
    matrices.update(one[:61], np.ones((61, 2), bool), np.ones((61, 2), bool))
    assert matrices.rows.tolist() == [100, 100]  # not a rounding error less
    matrices.clear(0)
    assert matrices.rows_in.sum(axis=(1, 2)) == pytest.approx([0, 100])


def test_operator_costs_merge():
    one, two, both = OperatorCost(), OperatorCost(), OperatorCost()
    for cost in (one, both):
        cost.update(10, 1.0, 0.9)
    for cost in (two, both):
        cost.update(20, 5.0, 0.1)
    assert one.merge(two).get(10) == pytest.approx(both.get(10))
