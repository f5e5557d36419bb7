"""Condensing: sampled rows become a few weighted training tuples (Query Mesh, Section 4.3)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]
Rows = NDArray[np.int64]

# A cell with few rows is believed to be like all rows: this many of these are added to it.
PRIOR_ROWS = 4.0


def condense(bits: Bits, cells: Rows, most: int, worth: Floats) -> Rows:
    """The training tuple of each row, at most `most` of them, numbered from 0.

    Rows of one cell (one partition of each attribute that tells something) are in one tuple. While
    there are too many tuples, the two that are most alike become one: those that change the drop
    rates least (Ward's criterion, weighted by rows and by what each operator is worth).

    >>> bits = np.array([[1, 0], [1, 0], [0, 1], [1, 0]], bool)
    >>> condense(bits, np.array([7, 7, 8, 9]), 2, np.ones(2)).tolist()
    [0, 0, 1, 0]
    """
    known, place = np.unique(cells, return_inverse=True)
    rows = np.bincount(place, minlength=len(known)).astype(float)
    drops = np.zeros((len(known), bits.shape[1]))
    np.add.at(drops, place, bits.astype(float))
    overall = bits.mean(axis=0) if len(bits) else np.zeros(bits.shape[1])
    rates = (drops + PRIOR_ROWS * overall) / (rows + PRIOR_ROWS)[:, None]
    return _ward(rates * np.sqrt(worth), rows, most)[place]


def _ward(points: Floats, weights: Floats, most: int) -> Rows:
    """Cluster of each weighted point."""
    points, weights = points.copy(), weights.copy()
    owner = np.arange(len(points))
    apart = _distances(points, weights)
    alive = len(points)
    while alive > most:
        one, two = sorted(np.unravel_index(int(apart.argmin()), apart.shape))
        total = weights[one] + weights[two]
        points[one] = (weights[one] * points[one] + weights[two] * points[two]) / total
        weights[one] = total
        owner[owner == two] = one
        apart[two, :] = apart[:, two] = np.inf
        weights[two] = 0.0
        fresh = weights * total / np.maximum(weights + total, 1e-12)
        fresh = fresh * ((points - points[one]) ** 2).sum(axis=1)
        usable = np.isfinite(apart[one]) | np.isfinite(apart[:, one])
        apart[one] = apart[:, one] = np.where(usable, fresh, np.inf)
        apart[one, one] = np.inf
        alive -= 1
    return np.asarray(np.unique(owner, return_inverse=True)[1], np.int64)


def _distances(points: Floats, weights: Floats) -> Floats:
    heavy = weights[:, None] * weights / np.maximum(weights[:, None] + weights, 1e-12)
    apart = heavy * ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.asarray(apart)
