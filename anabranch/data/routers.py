"""Packets at four routers: A-Greedy's own join, the traffic common to all of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

BEGIN = 1_700_000_000_000_000  # microseconds
ROUTERS = ("r1", "r2", "r3", "r4")


@dataclass(frozen=True)
class Routers:
    """Packets of a minute each; a packet passes a router with the share that this one sees.

    Examples
    --------
    >>> minute = next(Routers(packets=10).minutes("r1", 1))
    >>> list(minute.columns)
    ['ts', 'packet', 'source', 'size']
    """

    packets: int = 2_000
    shares: Sequence[float] = (0.9, 0.7, 0.4, 0.2)
    seed: int = 0

    def minutes(self, router: str, count: int) -> Iterator[pd.DataFrame]:
        """What one router sees, minute by minute; a packet is some seconds on its way."""
        place = ROUTERS.index(router)
        for minute in range(count):
            sent = np.random.default_rng([self.seed, minute])  # the same packets for all routers
            since = np.sort((minute + sent.random(self.packets)) * 60)
            source, size = (
                sent.integers(0, 50, self.packets),
                sent.integers(40, 1_500, self.packets),
            )
            own = np.random.default_rng([self.seed, minute, place])
            seen = own.random(self.packets) < self.shares[place]
            late = since + place * 2 + own.random(self.packets)
            micros = (BEGIN + late[seen] * 1e6).astype("datetime64[us]")
            numbers = minute * self.packets + np.arange(self.packets)
            yield pd.DataFrame(
                {
                    "ts": pd.DatetimeIndex(micros).tz_localize("UTC"),
                    "packet": numbers[seen],
                    "source": source[seen],
                    "size": size[seen],
                }
            )
