"""Streams of keyed rows in files, one file per micro-batch and stream, with times that go on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from anabranch.data.files import write_stream

BEGIN = 1_700_000_000_000_000  # microseconds


@dataclass(frozen=True)
class Ticking:
    """Rows `ts, k, v, w`: a time, a key out of so many, a number and a short text.

    Every file has the rows of `seconds` of event time; `disorder` of these a row may be late.
    """

    rows: int
    keys: int
    seconds: float = 10.0
    disorder: float = 0.0
    seed: int = 0

    def table(self, stream: int, file: int) -> pd.DataFrame:
        """The rows of one file.

        >>> table = Ticking(rows=3, keys=2).table(0, 1)
        >>> list(table.columns), len(table), table["ts"].min() >= pd.Timestamp(BEGIN + 10_000_000,
        ...     unit="us", tz="UTC")
        (['ts', 'k', 'v', 'w'], 3, True)
        """
        random = np.random.default_rng([self.seed, stream, file])
        since = (file + random.random(self.rows)) * self.seconds
        late = random.random(self.rows) * self.disorder
        micros = BEGIN + ((since - late) * 1e6).astype(np.int64)
        times = pd.DatetimeIndex(np.sort(micros).view("datetime64[us]")).tz_localize("UTC")
        return pd.DataFrame(
            {
                "ts": times,
                "k": random.integers(0, self.keys, self.rows),
                "v": random.integers(0, 1_000, self.rows),
                "w": np.char.add("row ", random.integers(0, 1_000, self.rows).astype(str)),
            }
        )

    def write(self, folder: Path, streams: Sequence[str], files: int) -> None:
        """A folder per stream."""
        for place, name in enumerate(streams):
            write_stream(folder / name, (self.table(place, file) for file in range(files)))
