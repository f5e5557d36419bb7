"""A uniform sample of profiled rows: what they are like, and what every operator makes of them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]


@dataclass
class Reservoir:
    """A seeded reservoir of rows: values of attributes, drop bits, seconds per operator.

    Query Mesh, Section 4.2. Every row offered has the same chance to be in the sample (Vitter's
    algorithm R, a batch at a time).

    Examples
    --------
    >>> sample = Reservoir(attributes=1, operators=2, size=100)
    >>> rows = np.arange(1_000.0)[:, None]
    >>> bits = np.column_stack([rows[:, 0] % 2 == 0, rows[:, 0] > 900])
    >>> sample.update(rows, bits, np.ones((1_000, 2)))
    >>> len(sample), bool(abs(sample.values.mean() - 500) < 100), sample.seen
    (100, True, 1000)
    """

    attributes: int
    operators: int
    size: int = 1000
    seed: int = 0
    seen: int = field(init=False, default=0)
    values: Floats = field(init=False, repr=False)
    bits: Bits = field(init=False, repr=False)
    times: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(self.seed)
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.seen = 0
        self.values = np.zeros((0, self.attributes))
        self.bits = np.zeros((0, self.operators), bool)
        self.times = np.zeros((0, self.operators))

    def __len__(self) -> int:
        return len(self.values)

    def update(self, values: Floats, bits: Bits, times: Floats) -> None:
        """Offer rows: attributes, which operators drop them, and the seconds that each took."""
        room = min(self.size - len(self), len(values))
        self._append(values[:room], bits[:room], times[:room])
        late = np.arange(room, len(values))
        self.seen += room
        # Row number t takes a random one of t places; only those inside the reservoir matter.
        places = (self._random.random(len(late)) * (self.seen + 1 + np.arange(len(late)))).astype(
            np.int64
        )
        inside = places < self.size
        self.values[places[inside]] = values[late[inside]]
        self.bits[places[inside]] = bits[late[inside]]
        self.times[places[inside]] = times[late[inside]]
        self.seen += len(late)

    def _append(self, values: Floats, bits: Bits, times: Floats) -> None:
        self.values = np.concatenate([self.values, values])
        self.bits = np.concatenate([self.bits, bits])
        self.times = np.concatenate([self.times, times])

    def copy(self) -> "Reservoir":
        """The rows as they are now; others that come do not change them."""
        return self.part(np.arange(len(self)))

    def part(self, rows: NDArray[np.int64]) -> "Reservoir":
        """Some of the rows."""
        taken = Reservoir(self.attributes, self.operators, self.size, self.seed)
        taken._append(self.values[rows], self.bits[rows], self.times[rows])
        taken.seen = self.seen
        return taken

    def grow(self, size: int) -> None:
        """Have room for more rows; those that come next fill it."""
        self.size = max(self.size, size)

    def merge(self, other: "Reservoir") -> "Reservoir":
        """A sample of both inputs: rows are drawn from each by how many it has seen.

        Where one has seen much more than the other, not all rows of the other are taken.
        """
        merged = Reservoir(self.attributes, self.operators, self.size, self.seed)
        merged.seen = self.seen + other.seen
        share = self.seen / max(merged.seen, 1)
        # As many rows as leave the shares right; if these are few, as many as the larger sample
        # has, of which the smaller one gives what it can.
        wanted = min(len(self) / max(share, 1e-9), len(other) / max(1 - share, 1e-9))
        wanted = min(max(wanted, len(self), len(other)), self.size)
        mine = min(round(wanted * share), len(self))
        theirs = min(round(wanted * (1 - share)), len(other))
        for source, rows in ((self, mine), (other, theirs)):
            drawn = merged._random.permutation(len(source))[:rows]
            merged._append(source.values[drawn], source.bits[drawn], source.times[drawn])
        return merged
