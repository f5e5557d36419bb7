"""A star of streams: rows of a hub have a key for each satellite, and may find no match there."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.kernel.joins.module import Rows
from anabranch.kernel.joins.run import Ints
from anabranch.model.join import JoinQuery, Stream

SECOND = 1_000_000


@dataclass(frozen=True)
class Constellation:
    """Chunks of rows of a hub and its satellites.

    `hits` are, by class of hub rows, the shares that have a match in a satellite's window, `copies`
    how many matches these have on average. Classes are in `kind`. Neighbours (the first and second
    satellite, the third and fourth) have one draw for a share of `together` of the rows, so that
    their outcomes are correlated.

    Examples
    --------
    >>> star = Constellation(((0.5, 0.2),), (1.0, 3.0))
    >>> star.query.names
    ('hub', 's0', 's1')
    >>> chunk = next(star.chunks(1))
    >>> len(chunk["hub"]), len(chunk["s0"]), len(chunk["s1"])
    (1000, 400, 1200)
    """

    hits: tuple[tuple[float, ...], ...]
    copies: tuple[float, ...]
    together: float = 0.0
    rows: int = 1_000  # of the hub, per chunk
    keys: int = 4_000  # of each satellite
    window: int = 10 * SECOND  # of event time
    seed: int = 0

    @property
    def names(self) -> list[str]:
        return [f"s{i}" for i in range(len(self.copies))]

    @property
    def query(self) -> JoinQuery:
        streams = [Stream(name, self.window) for name in ("hub", *self.names)]
        return JoinQuery.on(streams, [(("hub", n), (n, "key")) for n in self.names])

    def chunks(self, count: int) -> Iterator[dict[str, Rows]]:
        """One second of event time each."""
        random, query = np.random.default_rng(self.seed), self.query
        for number in range(count):
            chunk = {"hub": self._hub(random, query, number)}
            for name, copies in zip(self.names, self.copies, strict=True):
                seconds = self.window // SECOND
                size = max(round(self.keys * copies / seconds), 1)
                times = self._times(random, number, size)
                key = query.keys_of[name][0]
                chunk[name] = _rows({key: random.integers(0, self.keys, size)}, times)
            yield chunk

    def _hub(self, random: np.random.Generator, query: JoinQuery, number: int) -> Rows:
        kind = random.integers(0, len(self.hits), self.rows)
        draws = random.random((self.rows, len(self.copies)))
        same = random.random(self.rows) < self.together
        for second in range(1, len(self.copies), 2):
            draws[same, second] = draws[same, second - 1]
        codes = {}
        for place, name in enumerate(self.names):
            key = next(k for k, fields in enumerate(query.keys) if (name, "key") in fields)
            hit = draws[:, place] < self._there(place)[kind]
            some = random.integers(0, self.keys, self.rows)
            codes[key] = np.where(hit, some, some + self.keys)
        return _rows(codes, self._times(random, number, self.rows), kind)

    def _there(self, place: int) -> NDArray[np.float64]:
        """How many hub rows have a key that satellites have, as not all of them are in a window."""
        hits = np.array([told[place] for told in self.hits])
        return np.asarray(np.minimum(hits / (1.0 - np.exp(-self.copies[place])), 1.0))

    def _times(self, random: np.random.Generator, number: int, size: int) -> Ints:
        return np.sort(number * SECOND + random.integers(0, SECOND, size))


def _rows(codes: dict[int, Ints], times: Ints, kind: Ints | None = None) -> Rows:
    kinds = np.zeros(len(times), np.int64) if kind is None else kind
    return Rows(codes, times, pa.record_batch({"kind": pa.array(kinds)}))
