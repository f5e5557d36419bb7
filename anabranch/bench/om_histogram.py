"""OM's estimate of a join's selectivity, made again only past a threshold."""

import numpy as np

from anabranch.bench.figure import Figure
from anabranch.bench.size import Size
from anabranch.stats.join_histogram import Codes, JoinHistogram, JoinSelectivity

ROUNDS = 600
ROWS = 500
# Keys of the streams, and how skewed these are: both wander with the time of day, as hosts do.
KEYS = (200, 2_000)
THRESHOLDS = (0.05, 0.1, 0.2, 0.5)


def keys_of(round_number: int, seed: int) -> tuple[Codes, Codes]:
    """Of the rows of a round of both streams."""
    random = np.random.default_rng([seed, round_number])
    swing = (1 + np.sin(2 * np.pi * round_number / ROUNDS)) / 2
    count = int(KEYS[0] + swing * (KEYS[1] - KEYS[0]))
    return random.integers(0, count, ROWS), random.integers(0, count, ROWS)


def observed(left: Codes, right: Codes) -> float:
    """The share of pairs that are equal."""
    most = int(max(left.max(), right.max())) + 1
    pairs = np.bincount(left, minlength=most) @ np.bincount(right, minlength=most)
    return float(pairs) / (len(left) * len(right))


def histogram(size: Size) -> Figure:
    """How often it is estimated again, and how far off it is meanwhile."""
    rows = []
    for threshold in THRESHOLDS:
        told, again, off = JoinSelectivity(threshold, JoinHistogram(buckets=512)), 0, []
        for number in range(ROUNDS):
            left, right = keys_of(number, seed=0)
            truth = observed(left, right)
            estimate = told.get()
            if estimate is not None:
                off.append(abs(estimate - truth) / truth)
            again += told.update(left, right, truth)
        rows.append((threshold, again, float(np.median(off)), float(np.mean(off))))
        size.tick()
    default = next(row for row in rows if row[0] == JoinSelectivity().threshold)
    return Figure(
        "histogram",
        f"selectivity of a join over {ROUNDS} rounds of {ROWS} rows, {KEYS[0]} to {KEYS[1]:,} keys",
        "re-estimated when observed and estimated values differ by a threshold",
        f"estimated {default[1]} times in {ROUNDS} rounds, {default[2]:.1%} off on the median",
        ("threshold", "times estimated", "median error", "mean error"),
        rows,
    )
