"""The workloads are what they say."""

import numpy as np
import pytest

from anabranch.data.lab import POSSIBLE, SENSORS, made_up_lab
from anabranch.data.stream_star import CLASS, UNRELATED, StreamStar, random_table, skewed
from anabranch.model import InputError


@pytest.mark.parametrize("joins", [2, 8])
def test_stream_star_has_the_selectivities_of_its_table(joins):
    star = StreamStar(skewed(joins, 0.3), rows=50_000, seed=4)
    drops, columns = star.drops(), star.columns()
    for which, row in enumerate(star.table):
        passed = 1 - drops[star.classes() == which].mean(axis=0)
        assert passed == pytest.approx(row, abs=0.03)
    assert (~drops.any(axis=1)).mean() == pytest.approx(0.05, abs=0.01)
    assert set(columns) == {CLASS, *UNRELATED, *(f"fkd{j + 1}" for j in range(joins))}
    for j in range(joins):  # even keys have a partner
        assert ((columns[f"fkd{j + 1}"] % 2 == 1) == drops[:, j]).all()


def test_one_seed_one_stream():
    one, two, other = (StreamStar(skewed(2, 0.3), 1_000, seed) for seed in (1, 1, 2))
    assert (one.drops() == two.drops()).all()
    assert (one.drops() != other.drops()).any()


def test_tables_that_cannot_be():
    with pytest.raises(InputError, match="at least 2 joins"):
        skewed(1, 0.5)
    assert random_table(4, 1).shape == (4, 4)


def test_the_made_up_lab_has_the_labs_schema_and_possible_values():
    lab = made_up_lab(days=1, every=600)
    assert len(set(lab["sensorID"])) == SENSORS
    for name, (low, high) in POSSIBLE.items():
        assert ((lab[name] >= low) & (lab[name] <= high)).all()
    noon = lab["hour"] == 12
    window, corner = (lab["light"][noon & (lab["sensorID"] % 3 == place)] for place in (1, 0))
    assert np.median(window) > 5 * np.median(corner)
