"""Trades, news and research: the streams of Query Mesh's motivating query.

There is much research on companies of some sectors and hardly any on those of others, where news
are rare instead: which window to probe first depends on the trade.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

BEGIN = 1_700_000_000_000_000  # microseconds
SECTORS = ("energy", "finance", "health", "mining", "retail", "shipping", "software", "telecom")
COMPANIES = 400
# Of trades, news and research.
ROWS = {"trades": 2_000, "news": 60, "research": 120}


@dataclass(frozen=True)
class Market:
    """Rows of a minute each; times are up to `disorder` seconds out of order."""

    scale: float = 1.0
    disorder: float = 5.0
    seed: int = 0

    def minutes(self, stream: str, count: int) -> Iterator[pd.DataFrame]:
        """The rows of one stream, minute by minute.

        >>> minute = next(Market().minutes("news", 1))
        >>> list(minute.columns), len(minute)
        (['ts', 'sector', 'company', 'title'], 60)
        """
        place = list(ROWS).index(stream)
        for minute in range(count):
            random = np.random.default_rng([self.seed, place, minute])
            yield self._minute(random, stream, minute)

    def _minute(self, random: np.random.Generator, stream: str, minute: int) -> pd.DataFrame:
        rows = max(round(ROWS[stream] * self.scale), 1)
        since = (minute + random.random(rows)) * 60 - random.random(rows) * self.disorder
        times = pd.DatetimeIndex((BEGIN + since * 1e6).astype("datetime64[us]")).tz_localize("UTC")
        company = _companies(random, stream, rows)
        table = pd.DataFrame(
            {
                "ts": times,
                "sector": np.array(SECTORS)[company % len(SECTORS)],
                "company": np.char.add("company ", company.astype(str)),
            }
        )
        if stream == "trades":
            return table.assign(price=np.round(random.uniform(1, 500, rows), 2))
        return table.assign(
            title=np.char.add(f"{stream} ", random.integers(0, 9_999, rows).astype(str))
        )


def _companies(random: np.random.Generator, stream: str, rows: int) -> NDArray[np.int64]:
    """Even sectors have news, odd ones research; trades are of all."""
    company = random.integers(0, COMPANIES, rows)
    if stream == "trades":
        return company
    own = 0 if stream == "news" else 1
    usual = random.random(rows) < 0.97
    return np.where(usual & (company % 2 != own), (company + 1) % COMPANIES, company)
