"""Equations 1 to 5 of content-based routing, against their definitions row by row."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.stats.gain import (
    entropy,
    evidence,
    gain_ratio,
    information_gain,
    outlier,
    split_information,
    surprise,
    variance_explained,
)

tables = st.lists(
    st.integers(0, 50).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))),
    min_size=1,
    max_size=8,
).filter(lambda rows: sum(n for n, _ in rows) > 0)


def by_hand(rows):
    """Equations 2 to 5 as printed."""

    def h(p):
        return -sum(q * log2(q) for q in (p, 1 - p) if q > 0)

    total = sum(n for n, _ in rows)
    gain = h(sum(out for _, out in rows) / total)
    gain -= sum(n / total * h(out / n) for n, out in rows if n)
    split = -sum(n / total * log2(n / total) for n, _ in rows if n)
    return gain, split


@given(tables)
def test_gain_and_split_follow_the_equations(rows):
    rows_in, rows_out = (np.array(side, float) for side in zip(*rows, strict=True))
    gain, split = by_hand(rows)
    assert information_gain(rows_in, rows_out) == pytest.approx(gain, abs=1e-9)
    assert split_information(rows_in) == pytest.approx(split, abs=1e-9)
    ratio = gain / split if split > 1e-12 else 0.0
    assert gain_ratio(rows_in, rows_out) == pytest.approx(ratio, abs=1e-6)


def test_example_3_2_ranks_the_operators_as_the_paper_does():
    table = np.array([[32, 10, 55], [31, 20, 65], [27, 90, 60]], float).T
    ratios = gain_ratio(np.full((3, 3), 100.0), table)
    assert ratios.round(3).tolist() == [0.001, 0.264, 0.003]
    assert np.argsort(-ratios).tolist() == [1, 2, 0]


def test_all_attributes_in_one_call_as_one_by_one():
    random = np.random.default_rng(0)
    rows_in = random.integers(0, 30, (5, 7)).astype(float)
    rows_out = np.floor(rows_in * random.random((5, 7)))
    for function in (information_gain, gain_ratio, surprise, outlier):
        one_by_one = [float(function(a, b)) for a, b in zip(rows_in, rows_out, strict=True)]
        assert function(rows_in, rows_out) == pytest.approx(one_by_one)


def test_entropy_is_greatest_at_one_half():
    assert entropy(0.5) == 1.0
    assert entropy(0.0) == entropy(1.0) == 0.0


def test_a_constant_attribute_has_no_gain_ratio():
    assert gain_ratio(np.array([10.0, 0.0]), np.array([3.0, 0.0])) == 0.0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=2, max_size=60))
def test_variance_explained_is_the_share_between_groups(rows):
    groups, produced = (np.array(side) for side in zip(*rows, strict=True))
    rows_in = np.bincount(groups, minlength=4).astype(float)
    sums = np.bincount(groups, produced, 4)
    squares = np.bincount(groups, produced**2, 4)
    overall = ((produced - produced.mean()) ** 2).sum()
    means = np.array([produced[groups == g].mean() for g in groups])
    expected = ((means - produced.mean()) ** 2).sum() / overall if overall else 0.0
    assert variance_explained(rows_in, sums, squares) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("passed", [0.3, 0.6, 0.9])
def test_chance_is_seldom_a_surprise(passed):
    random = np.random.default_rng(1)
    rows_in = np.full((4_000, 12), 25.0)
    rows_out = random.binomial(25, passed, rows_in.shape).astype(float)
    assert (surprise(rows_in, rows_out) > 3).mean() < 0.006  # a normal score: 0.0013
    assert (outlier(rows_in, rows_out) > 4).mean() < 0.004  # 12 partitions, two sides: 0.0008


def test_one_partition_that_differs_is_seen_early():
    rows_in = np.full(8, 37.0)
    rows_out = np.array([13, 27, 27, 28, 27, 26, 28, 27], float)
    assert outlier(rows_in, rows_out) > 4 > surprise(rows_in, rows_out)


@given(st.integers(0, 999))
def test_evidence_is_all_of_them_at_once(seed):
    random = np.random.default_rng(seed)
    rows_in = random.integers(0, 50, (3, 4, 7)) * random.integers(0, 2, (3, 4, 7)) * 1.0
    rows_out = random.binomial(rows_in.astype(int), 0.4) * 0.9  # counts fade
    told = evidence(rows_in, rows_out)
    assert told.gain == pytest.approx(information_gain(rows_in, rows_out), abs=1e-9)
    assert told.ratio == pytest.approx(gain_ratio(rows_in, rows_out), abs=1e-9)
    assert told.surprise == pytest.approx(surprise(rows_in, rows_out), abs=1e-6)
    assert told.outlier == pytest.approx(outlier(rows_in, rows_out), abs=1e-6)
    assert (told.cells == (rows_in > 0).sum(axis=-1)).all()
    one = told.of(1, [2, 0])
    assert one.gain.tolist() == told.gain[1, [2, 0]].tolist()
