"""How much an attribute tells about an operator: Equations 1 to 5 of content-based routing.

P. Bizarro, S. Babu, D. DeWitt, J. Widom: Content-Based Routing: Different Plans for Different Data,
VLDB 2005, Sections 3 and 4.5. All functions take arrays whose last axis runs over the partitions of
an attribute, so that all attributes of a profile are judged in one call.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def entropy(passed: Floats | float) -> Floats:
    """Bits of information in whether an operator passes a row, by its selectivity (Equation 2).

    >>> entropy(np.array([0.0, 0.5, 1.0])).tolist()
    [0.0, 1.0, 0.0]
    """
    p = np.asarray(passed, float)
    return np.asarray(0.0 - _bits(p) - _bits(1 - p))


def _bits(n: Floats) -> Floats:
    """n log n, by which the entropy of n rows is told without dividing."""
    return np.asarray(n * np.log2(np.where(n > 0, n, 1.0)))


def _mixed(rows: Floats, passed: Floats) -> Floats:
    """Rows times the entropy of their outcome."""
    return np.asarray(_bits(rows) - _bits(passed) - _bits(rows - passed))


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0))


def information_gain(rows_in: Floats, rows_out: Floats) -> Floats:
    """What knowing the partition tells of the outcome, in bits per row (Equation 3).

    `rows_in` and `rows_out` are a row of the paper's In and Out matrices: per partition the sampled
    rows, and of these the rows that the operator passed.

    >>> round(float(information_gain(np.array([10.0, 10.0]), np.array([10.0, 0.0]))), 3)
    1.0
    """
    total = rows_in.sum(axis=-1)
    overall = _mixed(total, rows_out.sum(axis=-1))
    within = _mixed(rows_in, rows_out).sum(axis=-1)
    return np.asarray(np.maximum(_ratio(overall - within, total), 0.0))


def split_information(rows_in: Floats) -> Floats:
    """Bits in the partition itself (Equation 4).

    >>> float(split_information(np.array([4.0, 4.0, 4.0, 4.0])))
    2.0
    """
    total = rows_in.sum(axis=-1)
    return np.asarray(np.maximum(_ratio(_bits(total) - _bits(rows_in).sum(axis=-1), total), 0.0))


def gain_ratio(rows_in: Floats, rows_out: Floats) -> Floats:
    """Information gain over split information (Equation 5); 0 for a constant attribute.

    The paper's Table 1, three classes of equal size (the ratios printed in its Example 3.2 do not
    follow from its equations, the ranking does):

    >>> passed = np.array([[32, 31, 27], [10, 20, 90], [55, 65, 60]], float)
    >>> gain_ratio(np.full((3, 3), 100.0), passed).round(3).tolist()
    [0.001, 0.264, 0.003]
    """
    return _ratio(information_gain(rows_in, rows_out), split_information(rows_in))


def variance_explained(rows_in: Floats, produced: Floats, squares: Floats) -> Floats:
    """Share of the variance of an operator's output per row that the partition explains.

    For operators that are not filters (Section 4.5): `produced` is the sum over the sampled rows of
    what each produced, `squares` the sum of the squares. 0 where nothing varies.

    >>> float(variance_explained(np.array([2.0, 2.0]), np.array([2.0, 6.0]), np.array([2.0, 18.0])))
    1.0
    """
    total = rows_in.sum(axis=-1)
    mean = _ratio(produced.sum(axis=-1), total)
    overall = squares.sum(axis=-1) - total * mean**2
    between = (rows_in * (_ratio(produced, rows_in) - mean[..., None]) ** 2).sum(axis=-1)
    # Rounding leaves a trace where there is no variance at all.
    varies = overall > 1e-9 * np.maximum(squares.sum(axis=-1), 1e-300)
    return np.asarray(np.where(varies, np.clip(_ratio(between, overall), 0.0, 1.0), 0.0))


def surprise(rows_in: Floats, rows_out: Floats) -> Floats:
    """How many standard deviations the gain lies above what chance alone would give.

    A small sample split into many partitions always shows some gain. Without correlation
    2 ln 2 * rows * gain follows a chi-square distribution (the G-test); Wilson and Hilferty's cube
    root brings it to a standard normal one, so that the workers need no library for it.

    >>> alike = np.full(8, 30.0), np.array([15, 14, 16, 15, 17, 13, 15, 15.0])
    >>> bool(surprise(*alike) < 1)
    True
    >>> bool(surprise(np.full(8, 30.0), np.array([2, 29, 30, 30, 30, 30, 30, 30.0])) > 5)
    True
    """
    bits = rows_in.sum(axis=-1) * information_gain(rows_in, rows_out)
    return _score(bits, (rows_in > 0).sum(axis=-1))


def _score(bits: Floats, cells: NDArray[np.int64]) -> Floats:
    """A gain over all rows, by as many partitions, as a standard normal score."""
    freedom = np.maximum(cells - 1, 0).astype(float)
    spread = 2 / (9 * np.maximum(freedom, 1))
    statistic = 2 * np.log(2) * bits / np.maximum(freedom, 1)
    normal = (np.cbrt(statistic) - (1 - spread)) / np.sqrt(spread)
    return np.asarray(np.where(freedom > 0, normal, -np.inf))


def outlier(rows_in: Floats, rows_out: Floats) -> Floats:
    """How far the partition that is least like the others lies from them, in standard deviations.

    Often one class of many is different for an operator. `surprise`, which looks at all partitions
    together, needs far more rows to see that. The deviation is the signed root of the likelihood
    ratio, which holds for few rows and for selectivities near 0 or 1, too.

    >>> one_differs = np.full(8, 37.0), np.array([15.0, 27, 28, 27, 29, 26, 28, 27])
    >>> round(float(outlier(*one_differs)), 1), round(float(surprise(*one_differs)), 1)
    (4.0, 2.1)
    """
    return _apart(rows_in, rows_out, _mixed(rows_in, rows_out))


def _apart(rows_in: Floats, rows_out: Floats, within: Floats) -> Floats:
    # Two groups, one partition against the rest: what they tell apart beyond their common mean.
    total, passed = (rows.sum(axis=-1, keepdims=True) for rows in (rows_in, rows_out))
    saved = _mixed(total, passed) - within - _mixed(total - rows_in, passed - rows_out)
    return np.asarray(np.sqrt(2 * np.log(2) * np.maximum(saved.max(axis=-1), 0.0)))


class Evidence(NamedTuple):
    """What partitions tell about outcomes: all of the above, each worked out once."""

    rows: Floats
    cells: NDArray[np.int64]  # partitions that have rows
    gain: Floats
    ratio: Floats
    surprise: Floats
    outlier: Floats

    def of(self, operator: int, places: list[int]) -> "Evidence":
        """That of some attributes about one operator."""
        where = operator, places
        return Evidence(
            self.rows[where],
            self.cells[where],
            self.gain[where],
            self.ratio[where],
            self.surprise[where],
            self.outlier[where],
        )

    def beyond_chance(self, place: int) -> float:
        """The gain without what partitions that tell nothing would be expected to have.

        >>> told = Evidence(*np.array([[1000.0], [11], [0.01], [0.1], [2], [1]]))
        >>> round(told.beyond_chance(0), 4)
        0.0028
        """
        chance = (self.cells[place] - 1) / (2 * np.log(2) * self.rows[place])
        return max(float(self.gain[place] - chance), 0.0)


def evidence(rows_in: Floats, rows_out: Floats) -> Evidence:
    """Judge In and Out of many attributes, or operators, at once.

    >>> passed = np.array([[32.0, 31, 27], [10, 20, 90], [55, 65, 60]])
    >>> told = evidence(np.full((3, 3), 100.0), passed)
    >>> told.ratio.round(3).tolist(), (told.surprise > 3).tolist()
    ([0.001, 0.264, 0.003], [False, True, False])
    """
    rows, within = rows_in.sum(axis=-1), _mixed(rows_in, rows_out)
    cells = (rows_in > 0).sum(axis=-1)
    bits = np.maximum(_mixed(rows, rows_out.sum(axis=-1)) - within.sum(axis=-1), 0.0)
    gain = _ratio(bits, rows)
    ratio = _ratio(gain, split_information(rows_in))
    return Evidence(
        rows, cells, gain, ratio, _score(bits, cells), _apart(rows_in, rows_out, within)
    )
