"""Partitions of attribute values: every value has one, whatever it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model import (
    NULL,
    Attribute,
    HashPartition,
    InputError,
    RangePartition,
    ValuePartition,
    pair_of,
)
from anabranch.model.attribute import partition_from
from anabranch.stats import RunningRange, is_stale, partition_by, pruned

SPECIAL = [NULL, np.nan, -np.inf, np.inf]
anything = st.lists(st.floats() | st.sampled_from(SPECIAL), max_size=200)
PARTITIONS = [
    HashPartition("a", 24),
    RangePartition("a", (-1.0, 0.0, 5.5)),
    RangePartition("a", ()),
    ValuePartition("a", (-3.0, 0.0, 7.0)),
]
each = pytest.mark.parametrize("partition", PARTITIONS, ids=str)


@each
@given(values=anything)
def test_every_value_has_a_partition_and_equal_values_the_same(partition, values):
    column = np.array(values, float)
    codes = partition.code([column])
    assert ((codes >= 0) & (codes < partition.size)).all()
    again = partition.code([column[::-1].copy()])[::-1]
    assert (codes == again).all()


@each
def test_null_nan_and_infinities_have_their_own(partition):
    codes = partition.code([np.array([*SPECIAL, 0.0, -0.0])])
    assert codes[:4].tolist() == [partition.regular + i for i in range(4)]
    assert codes[4] == codes[5] < partition.regular


@each
def test_survives_json(partition):
    assert partition_from(partition.to_dict()) == partition
    both = pair_of(partition, PARTITIONS[0])
    assert partition_from(both.to_dict()) == both
    assert both.size == partition.size * PARTITIONS[0].size


def test_what_cannot_be_is_refused():
    for broken in (
        lambda: HashPartition("a", 0),
        lambda: RangePartition("a", (2.0, 1.0)),
        lambda: ValuePartition("a", ()),
    ):
        with pytest.raises(InputError):
            broken()
    with pytest.raises(ValueError, match="no partition"):
        partition_from({"kind": "tea leaves"})


@given(anything, anything)
def test_running_range_merges(one, two):
    left, right, both = RunningRange(), RunningRange(), RunningRange()
    left.update(np.array(one, float))
    right.update(np.array(two, float))
    both.update(np.array(one + two, float))
    assert left.merge(right).get() == both.get()


@given(anything, st.sampled_from(["number", "word"]), st.none() | st.integers(1, 40))
def test_a_partition_can_be_made_of_anything_seen(values, kind, count):
    attribute = Attribute("a", kind)
    column = np.array(values, float)
    pruned(attribute, column)
    partition = partition_by(attribute, column, count)
    codes = partition.code([column])
    assert ((codes >= 0) & (codes < partition.size)).all()
    assert partition.regular <= max(count or 0, 65)
    is_stale(partition, codes)


def test_ranges_of_equal_width_or_of_equal_shares():
    skewed = np.random.default_rng(0).lognormal(0, 2, 2_000)
    fixed = partition_by(Attribute("a"), skewed, 10)
    assert np.ptp(np.diff(fixed.borders)) < 1e-6
    auto = partition_by(Attribute("a"), skewed, None)
    shares = np.bincount(auto.code([skewed]), minlength=auto.regular)[: auto.regular]
    assert shares.max() < 1.3 * shares.min()


def test_one_partition_per_value_where_there_are_few():
    seen = np.tile([1.0, 5.0, 9.0], 50)
    assert partition_by(Attribute("a"), seen, None) == ValuePartition("a", (1.0, 5.0, 9.0))


@pytest.mark.parametrize(
    ("attribute", "values", "reason"),
    [
        (Attribute("t"), np.arange(200.0), "monotone"),
        (Attribute("t"), -np.arange(200.0), "monotone"),
        (Attribute("c"), np.full(200, 3.0), "constant"),
        (Attribute("w", "word"), np.random.default_rng(0).permutation(200) + 10.0, "near-unique"),
        (Attribute("w", "word"), np.where(np.arange(200) % 3, -1.0, 5.0), "long"),
        (Attribute("x"), np.random.default_rng(0).random(200), None),  # continuous: ranges
        (Attribute("h"), np.repeat(np.arange(8.0), 25), None),  # rises, but repeats
        (Attribute("n"), np.where(np.arange(200) % 2, NULL, 1.0), None),  # NULL or not tells
    ],
)
def test_attributes_that_are_left_out(attribute, values, reason):
    assert pruned(attribute, values) == reason


@pytest.mark.parametrize("size", [1, 64, 65, 300])
def test_many_borders_and_values_are_found_as_few_are(size):
    known = tuple(np.sort(np.random.default_rng(size).choice(1_000, size, replace=False)) * 1.0)
    values = np.arange(-5.0, 1_005.0)
    ranges = RangePartition("a", known).code([values])
    assert ranges.tolist() == [sum(value >= border for border in known) for value in values]
    places = ValuePartition("a", known).code([values])
    expected = [known.index(value) if value in known else size for value in values]
    assert places.tolist() == expected


def test_few_rows_do_not_make_a_partition_stale():
    ranges = RangePartition("a", (1.0, 2.0, 3.0))
    assert not is_stale(ranges, ranges.code([np.array([5.0])]))
    assert is_stale(ranges, ranges.code([np.full(100, 5.0)]))
