"""Attributes as numbers, of all rows or of some."""

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from anabranch.kernel.attributes import Attributes
from anabranch.kernel.lexicon import MOST_WORDS, Lexicon
from anabranch.model.attribute import LONG_WORD

COLUMNS = {
    "whole": pa.array([5, 6, 7, 8]),
    "sliced": pa.array([0, 5, 6, 7, 8]).slice(1),
    "real": pa.array([0.5, float("nan"), float("inf"), -1.0]),
    "some": pa.array([1, None, 3, None]),
    "flag": pa.array([True, False, True, True]),
    "day": pa.array([date(2013, 1, day) for day in (1, 2, 3, 4)]),
    "time": pa.array([datetime(2013, 1, 1, hour) for hour in (1, 2, 3, 4)]),
    "none": pa.array([None] * 4, pa.float64()),
    "word": pa.array(["a", None, "", "a"]),
    "wide": pa.array(["a", "b" * 64, "b" * 65, "é" * 33], pa.large_string()),
    "broken": pa.array([b"a", b"\xff", b"a", None]).view(pa.string()),  # is no UTF-8
    "no word": pa.array([None] * 4, pa.string()),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_some_rows_have_the_values_that_they_have_among_all(name):
    rows = np.array([3, 1])
    picked = Attributes(COLUMNS).of(name, rows)
    assert picked.dtype == np.float64
    np.testing.assert_array_equal(picked, Attributes(COLUMNS).get(name)[rows])


def test_words_that_are_too_long_are_one_class_by_their_bytes():
    numbers = Attributes(COLUMNS).get("wide")
    assert (numbers == LONG_WORD).tolist() == [False, False, True, True]
    assert numbers[0] != numbers[1]


def test_a_lexicon_tells_each_word_once_and_not_too_many():
    lexicon = Lexicon()
    lexicon.numbers("w", pa.array(["a", "b" * 65, None]))
    assert list(lexicon.take()["w"].values()) == ["a"]
    numbers = lexicon.numbers("w", pa.array([f"word {i}" for i in range(2 * MOST_WORDS)]))
    assert len(set(numbers.tolist())) == 2 * MOST_WORDS
    assert len(lexicon.take()["w"]) == MOST_WORDS - 1
    assert lexicon.take() == {}
