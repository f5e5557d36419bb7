"""Other ways to process a tuple along an order: what they probe, against drop-probing.

A-Greedy, Section 8.1: a binary linear processing tree (BLPT) materialises the join of every prefix
of the order, a pipelined processing tree (PPT) is a nested loop over the matches of each window.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anabranch.kernel.joins.module import Rows, StateModule
from anabranch.kernel.joins.run import Ints
from anabranch.model.join import JoinQuery


@dataclass
class Probed:
    """Look-ups in windows, rows of prefixes that were stored, and results."""

    probes: int = 0
    stored: int = 0
    results: int = 0


@dataclass
class Along:
    """A star join along an order of its satellites, from rows of the hub."""

    query: JoinQuery
    windows: Mapping[str, StateModule]
    rows: Rows
    order: Sequence[str]

    def materialising(self, told: Probed) -> None:
        """BLPT: all matches of a prefix, then all matches of the next."""
        owners = np.arange(len(self.rows))
        for place, stream in enumerate(self.order):
            told.probes += len(owners)
            entries, _ = self._found(stream, owners)
            owners = owners[entries]
            if place + 1 < len(self.order):
                told.stored += len(owners)
        told.results += len(owners)

    def looping(self, told: Probed) -> None:
        """PPT: of each row, a loop over its matches, and in it one over those of the next."""
        for row in range(len(self.rows)):
            self._loop(np.array([row]), 0, told)

    def _loop(self, row: Ints, place: int, told: Probed) -> None:
        if place == len(self.order):
            told.results += 1
            return
        told.probes += 1
        _, matches = self._found(self.order[place], row)
        for _ in matches:
            self._loop(row, place + 1, told)

    def _found(self, stream: str, owners: Ints) -> tuple[Ints, Ints]:
        """Pairs of an entry and a match; satellites are not compared with one another."""
        keys = self.query.keys_of[stream]
        window = {one.name: one.window for one in self.query.streams}
        times = self.rows.times[owners]
        codes = [self.rows.codes[key][owners] for key in keys]
        earliest, latest = times - window[stream], times + window["hub"]
        return self.windows[stream].probe(keys, codes, earliest, latest).expand()
