"""Attributes as numbers, of all rows or of some."""

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from anabranch.kernel.attributes import Attributes

COLUMNS = {
    "whole": pa.array([5, 6, 7, 8]),
    "sliced": pa.array([0, 5, 6, 7, 8]).slice(1),
    "real": pa.array([0.5, float("nan"), float("inf"), -1.0]),
    "some": pa.array([1, None, 3, None]),
    "flag": pa.array([True, False, True, True]),
    "day": pa.array([date(2013, 1, day) for day in (1, 2, 3, 4)]),
    "time": pa.array([datetime(2013, 1, 1, hour) for hour in (1, 2, 3, 4)]),
    "none": pa.array([None] * 4, pa.float64()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_some_rows_have_the_values_that_they_have_among_all(name):
    rows = np.array([3, 1])
    picked = Attributes(COLUMNS).of(name, rows)
    assert picked.dtype == np.float64
    np.testing.assert_array_equal(picked, Attributes(COLUMNS).get(name)[rows])
