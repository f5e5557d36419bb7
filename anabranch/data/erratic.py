"""Series of statistics that wander, as those of network traffic do."""

import numpy as np
from numpy.typing import NDArray

from anabranch.model import InputError

Floats = NDArray[np.float64]
# Rounds that the filter spans: OM smooths its traces, too, to get data of some variation.
SMOOTH = 60


def wandering(
    rounds: int, mean: float, variation: float, seed: int, smooth: int = SMOOTH
) -> Floats:
    """A series with this mean and coefficient of variation, from filtered noise.

    >>> series = wandering(600, mean=500, variation=0.26, seed=1)
    >>> round(float(series.mean())), round(float(series.std() / series.mean()), 2)
    (500, 0.26)
    """
    if rounds < 2 or smooth < 1:
        raise InputError(f"at least two rounds, got {rounds}, and smooth >= 1, got {smooth}")
    random = np.random.default_rng(seed)
    noise = random.normal(size=rounds + 2 * smooth)
    window = np.ones(smooth) / smooth
    smoothed = np.convolve(np.convolve(noise, window, "valid"), window, "valid")[:rounds]
    shape = (smoothed - smoothed.mean()) / smoothed.std()
    return np.asarray(mean * np.maximum(1 + variation * shape, 0.02))
