import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.kernel.probe import KeyIndex, Probe

VALUES = {
    pa.int32(): [1, 2, -3],
    pa.int64(): [2**62, 5, -1],
    pa.float64(): [1.5, float("nan"), 0.0],
    pa.string(): ["a\0b", "a\0c", "ä"],
    pa.binary(): [b"x", b"", b"\x00"],
    pa.bool_(): [True, False, True],
    pa.date32(): [dt.date(2020, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 1, 1)],
    pa.timestamp("us", "UTC"): [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 3,
    pa.timestamp("us"): [dt.datetime(2020, 1, 1), dt.datetime(1960, 1, 1), dt.datetime(2021, 1, 1)],
    pa.decimal128(10, 2): [Decimal("1.50"), Decimal("-2.00"), Decimal("0.00")],
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_every_key_type_finds_itself_and_null_finds_nothing(kind):
    keys = pa.array(VALUES[kind], kind)
    index = KeyIndex([keys])
    assert index.contains([keys]).all()
    assert not index.contains([pa.nulls(2, kind)]).any()
    assert KeyIndex([pa.nulls(1, kind)]).contains([keys]).tolist() == [False] * 3
    assert KeyIndex([keys.slice(0, 0)]).contains([keys]).tolist() == [False] * 3


def test_zero_has_one_sign_and_nan_equals_nan():
    index = KeyIndex([pa.array([0.0, float("nan")])])
    probe = pa.array([-0.0, float("nan"), 1.0, None])
    assert index.contains([probe]).tolist() == [True, True, False, False]


keys = st.lists(
    st.tuples(
        st.one_of(st.none(), st.sampled_from("abc")), st.one_of(st.none(), st.integers(0, 3))
    ),
    max_size=12,
)


def columns(rows):
    return [pa.array([r[0] for r in rows], pa.string()), pa.array([r[1] for r in rows], pa.int64())]


@given(keys, keys)
def test_compound_keys_match_as_in_sql(table, stream):
    known = {row for row in table if None not in row}
    found = KeyIndex(columns(table)).contains(columns(stream))
    assert found.tolist() == [row in known for row in stream]


def test_many_key_columns_of_many_values():
    random = np.random.default_rng(0)
    table = [pa.array(random.permutation(100_000)) for _ in range(5)]
    index = KeyIndex(table)
    assert index.contains(table).all()
    assert index.contains([*table[:4], pa.array(np.roll(table[4].to_numpy(), 1))]).sum() == 0


def test_anti_keeps_what_has_no_partner_null_included():
    probe = Probe(KeyIndex([pa.array([1, 2])]), anti=True)
    column = pa.array([1, 3, None])
    assert probe.judge(probe.convert([column], 3), 3).tolist() == [False, True, True]
    assert isinstance(probe.judge([column], 3), np.ndarray)
