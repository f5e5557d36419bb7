"""Estimates of OM: decayed means, selectivities of joins by histograms."""

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model import InputError
from anabranch.stats.decayed import Decayed
from anabranch.stats.join_histogram import JoinHistogram, JoinSelectivity

values = st.lists(st.floats(0, 1e6), min_size=1, max_size=40)


@given(values, st.integers(1, 20), st.floats(0, 3))
def test_decayed_is_the_formula(seen, history, decay):
    told = Decayed(history, decay)
    for value in seen:
        told.update(value)
    newest = seen[::-1][:history]
    weights = [exp(-decay * age) for age in range(len(newest))]
    expected = sum(w * v for w, v in zip(weights, newest, strict=True)) / sum(weights)
    assert told.get() == pytest.approx(expected)


@given(values, values)
def test_decayed_merges(one, two):
    left, right, both = Decayed(7, 0.4), Decayed(7, 0.4), Decayed(7, 0.4)
    for told, seen in ((left, one), (right, two), (both, one + two)):
        for value in seen:
            told.update(value)
    assert left.merge(right).get() == pytest.approx(both.get())


def test_histograms_estimate_the_share_of_pairs():
    random = np.random.default_rng(0)
    for keys in (50, 1_000):
        left, right = random.integers(0, keys, 4_000), random.zipf(1.7, 4_000) % keys
        told = JoinHistogram(buckets=256)
        told.update(left, right)
        pairs = np.bincount(left, minlength=keys) @ np.bincount(right, minlength=keys)
        assert told.get() == pytest.approx(pairs / 4_000**2, rel=0.3)


def test_keys_that_were_not_seen_are_allowed_for():
    random = np.random.default_rng(0)
    told = JoinHistogram(buckets=256)
    told.update(random.integers(0, 5_000, 800), random.integers(0, 5_000, 800))
    assert told.get() == pytest.approx(1 / 5_000, rel=0.3)


def test_histograms_merge():
    random = np.random.default_rng(1)
    parts = [(random.integers(0, 99, 500), random.integers(0, 99, 500)) for _ in range(2)]
    one, two, both = JoinHistogram(), JoinHistogram(), JoinHistogram()
    one.update(*parts[0])
    two.update(*parts[1])
    for part in parts:
        both.update(*part)
    assert one.merge(two).get() == pytest.approx(both.get())
    assert JoinHistogram().get() is None


def test_a_selectivity_is_estimated_again_past_the_threshold_only():
    told, keys = JoinSelectivity(threshold=0.2), np.repeat(np.arange(100), 3)
    assert told.update(keys, keys, 0.01)
    first = told.get()
    again = [told.update(keys, keys, first * factor) for factor in (1.0, 1.19, 0.81, 1.21, 0.79)]
    assert again == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Decayed(history=0), "history is a number of rounds"),
        (lambda: Decayed(decay=-1), "decay is a number of at least 0"),
        (lambda: JoinHistogram(buckets=0), "buckets is a whole number"),
        (lambda: JoinSelectivity(threshold=0), "threshold is a share above 0"),
    ],
)
def test_bad_input_is_told(make, message):
    with pytest.raises(InputError, match=message):
        make()
