"""Rows that have arrived, on their way past the windows of the other streams.

A-Greedy, Section 8: first drop-probing, where a row only asks each window whether there is a match
and leaves at the first that has none; then output generation, for the rows that are left. What
probes have found is kept from the one for the other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anabranch.kernel.joins.module import Ranges, Rows, StateModule
from anabranch.kernel.joins.run import Ints
from anabranch.model.join import ProbeTree

Bits = NDArray[np.bool_]
Modules = Mapping[str, StateModule]

# Combinations that are made at a time, about: in any case, and by the bytes that they carry.
MOST_COMBINATIONS, MOST_BYTES = 500_000, 1 << 26


@dataclass(eq=False)
class Level:
    """Matches of arrived rows down to one stream of the tree: every entry is a path of rows."""

    parent: Ints  # the entry of the level above
    rows: dict[str, Ints]  # stream -> the number of the row
    alive: Bits

    def __len__(self) -> int:
        return len(self.parent)


class Arrivals:
    """Rows of the source, each with matches in the streams that all paths lead over.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from anabranch.model.join import JoinQuery, Stream
    >>> query = JoinQuery.on([Stream("a", 10), Stream("b", 10)], [(("a", "k"), ("b", "k"))])
    >>> def rows(keys, times):
    ...     return Rows({0: np.array(keys)}, np.array(times), pa.record_batch({"k": keys}))
    >>> windows = {"a": StateModule(()), "b": StateModule(((0,),))}
    >>> windows["b"].append(rows([1, 1, 2], [5, 6, 99]))
    >>> arrived = Arrivals(query.tree("a"), windows, rows([1, 2], [9, 9]))
    >>> arrived.probe("b", np.arange(2)).tolist()  # that of key 2 is too late
    [True, False]
    >>> [(c["a"].tolist(), c["b"].tolist()) for c in arrived.combinations(np.array([0]))]
    [([0, 0], [0, 1])]
    """

    def __init__(self, tree: ProbeTree, modules: Modules, rows: Rows) -> None:
        self.tree, self.modules, self.rows = tree, modules, rows
        self._windows = {stream.name: stream.window for stream in tree.query.streams}
        places = np.arange(len(rows))
        self._tops = Level(places, {tree.source: places}, np.ones(len(rows), bool))
        for stream in tree.bound[1:]:
            found = self._search(stream, self._tops, np.arange(len(self._tops)))
            entry, number = found.expand()
            self._tops = Level(
                entry,
                {**{name: n[entry] for name, n in self._tops.rows.items()}, stream: number},
                np.ones(len(entry), bool),
            )
            self._tops = self._exact(self._tops, stream)
        self._levels: dict[str, Level] = {}
        self._expanded: dict[str, Bits] = {}
        self._found: dict[str, Ranges] = {}

    def __len__(self) -> int:
        return len(self._tops)

    @property
    def owner(self) -> Ints:
        """The arrived row of each tuple that is probed with."""
        return self._tops.rows[self.tree.source]

    def probe(self, stream: str, places: Ints) -> Bits:
        """Drop-probing: which of the tuples have a match in a stream's window?"""
        level, entries, owners = self._above(stream, places)
        found = self._search(stream, level, entries)
        self._keep(stream, found, len(level), entries)
        hit = found.counts > 0
        if level is self._tops:
            return hit
        level.alive[entries[~hit]] = False
        reached = np.zeros(len(self), bool)
        reached[owners[hit]] = True
        return reached[places]

    def _above(self, stream: str, places: Ints) -> tuple[Level, Ints, Ints]:
        """The level that a stream is probed from, the entries of these tuples there, and whose."""
        parent = self.tree.parents[stream]
        if parent in self.tree.bound:
            return self._tops, places, places
        self._expand(parent, places)
        level, wanted = self._levels[parent], np.zeros(len(self), bool)
        wanted[places] = True
        top = self._top_of(parent, level)
        entries = np.flatnonzero(wanted[top] & level.alive)
        return level, entries, top[entries]

    def _top_of(self, stream: str, level: Level) -> Ints:
        """The tuple that each entry of a level came from."""
        entries, parent = level.parent, self.tree.parents[stream]
        while parent not in self.tree.bound:
            entries, parent = self._levels[parent].parent[entries], self.tree.parents[parent]
        return entries

    def _expand(self, stream: str, places: Ints) -> None:
        """Have the level of a stream for these tuples: what it was probed for becomes entries."""
        done = self._expanded.setdefault(stream, np.zeros(len(self), bool))
        fresh = places[~done[places]]
        done[fresh] = True
        above, entries, _ = self._above(stream, fresh)
        entry, number = self._found[stream].take(entries).expand()
        entry = entries[entry]
        grown = Level(
            entry,
            {**{name: n[entry] for name, n in above.rows.items()}, stream: number},
            np.ones(len(entry), bool),
        )
        grown = self._exact(grown, stream)
        before = self._levels.get(stream)
        self._levels[stream] = grown if before is None else _both(before, grown)

    def _search(self, stream: str, level: Level, entries: Ints) -> Ranges:
        """Where the matches of entries of a level are in a stream's window."""
        known = self.tree.known(stream)
        keys, window = self.tree.keys(stream), self._windows[stream]
        codes = [self._codes(key, level, known, entries) for key in keys]
        times = {name: self._times(name, level.rows[name][entries]) for name in known}
        # max(all times) - time <= window for all of them: pair by pair, one way and the other.
        earliest = np.max([times[name] - window for name in known], axis=0)
        latest = np.min([times[name] + self._windows[name] for name in known], axis=0)
        return self.modules[stream].probe(keys, codes, earliest, latest)

    def _codes(self, key: int, level: Level, known: tuple[str, ...], entries: Ints) -> Ints:
        name = next(name for name in known if key in self.tree.query.keys_of[name])
        return self._code(name, key, level.rows[name][entries])

    def _code(self, stream: str, key: int, numbers: Ints) -> Ints:
        if stream == self.tree.source:
            return self.rows.codes[key][numbers]
        return self.modules[stream].codes(key, numbers)

    def _times(self, stream: str, numbers: Ints) -> Ints:
        if stream == self.tree.source:
            return self.rows.times[numbers]
        return self.modules[stream].times(numbers)

    def _keep(self, stream: str, found: Ranges, size: int, entries: Ints) -> None:
        """Keep what was found for the output."""
        kept = self._found.get(stream)
        start, stop = (np.zeros((len(found.runs), size), np.int64) for _ in range(2))
        if kept is not None:
            start[:, : kept.start.shape[1]] = kept.start
            stop[:, : kept.stop.shape[1]] = kept.stop
        start[:, entries], stop[:, entries] = found.start, found.stop
        self._found[stream] = Ranges(found.runs, start, stop)

    def _exact(self, level: Level, stream: str) -> Level:
        """Without entries whose keys are only mixed into the same number."""
        keys, known = self.tree.keys(stream), self.tree.known(stream)
        if len(keys) == 1:
            return level
        fine, all_entries = np.ones(len(level), bool), np.arange(len(level))
        for key in keys:
            mine = self._code(stream, key, level.rows[stream])
            fine &= mine == self._codes(key, level, known, all_entries)
        return _some(level, fine)

    def combinations(self, places: Ints) -> Iterator[dict[str, Ints]]:
        """Output generation: of the tuples that no window drops, all combinations of rows.

        By stream, the rows of each combination: of the source places, of others numbers.
        """
        for part in self._parts(places):
            combined = self._combined(part)
            if len(combined[self.tree.source]):
                yield combined

    def _parts(self, places: Ints) -> Iterator[Ints]:
        """Tuples that make about as many combinations as fit."""
        if not len(places):
            return
        wide = sum(module.width for module in self.modules.values())
        fit = max(min(MOST_COMBINATIONS, MOST_BYTES // max(wide, 1)), 1)
        most = np.ones(len(places))
        for stream, found in self._found.items():
            if self.tree.parents[stream] in self.tree.bound:
                most *= np.maximum(found.counts[places], 1)
        parts = (np.cumsum(most) // fit).astype(np.int64)
        yield from np.split(places, np.flatnonzero(np.diff(parts)) + 1)

    def _combined(self, places: Ints) -> dict[str, Ints]:
        rows = {name: numbers[places] for name, numbers in self._tops.rows.items()}
        entries = dict.fromkeys(self.tree.bound, places)
        for stream in self.tree.operators().written():
            above = entries[self.tree.parents[stream]]
            level = self._levels.get(stream)
            if level is not None:  # others were probed from its rows
                entry, own = _children(level, above)
                entries[stream], numbers = own, level.rows[stream][own]
            else:
                entry, numbers = self._found[stream].take(above).expand()
            rows = {**{name: n[entry] for name, n in rows.items()}, stream: numbers}
            fine = self._fits(stream, rows)
            rows = {name: n[fine] for name, n in rows.items()}
            entries = {
                name: e[fine] if name == stream else e[entry][fine] for name, e in entries.items()
            }
        return rows

    def _fits(self, stream: str, rows: dict[str, Ints]) -> Bits:
        """Whether a new row fits with those that it was not probed by: windows, and other keys."""
        known = self.tree.known(stream)
        fine = np.ones(len(rows[stream]), bool)
        mine = self._times(stream, rows[stream])
        probed = self.tree.keys(stream)
        for name in rows:
            if name == stream:
                continue
            if name not in known:
                ahead = mine - self._times(name, rows[name])
                fine &= (ahead <= self._windows[name]) & (-ahead <= self._windows[stream])
            if name not in known or len(probed) > 1:
                for key in self.tree.query.shared(stream, [name]):
                    theirs = self._code(name, key, rows[name])
                    fine &= self._code(stream, key, rows[stream]) == theirs
        return fine

    def event_times(self, rows: Mapping[str, Ints]) -> Ints:
        """Of each combination, the greatest time."""
        times = [self._times(name, numbers) for name, numbers in rows.items()]
        return np.asarray(np.max(times, axis=0), np.int64)


def _both(first: Level, second: Level) -> Level:
    return Level(
        np.concatenate([first.parent, second.parent]),
        {name: np.concatenate([first.rows[name], second.rows[name]]) for name in first.rows},
        np.concatenate([first.alive, second.alive]),
    )


def _some(level: Level, fine: Bits) -> Level:
    rows = {name: numbers[fine] for name, numbers in level.rows.items()}
    return Level(level.parent[fine], rows, level.alive[fine])


def _children(level: Level, above: Ints) -> tuple[Ints, Ints]:
    """Pairs of a place in `above` and a living entry of the level that came from it."""
    living = np.flatnonzero(level.alive)
    order = living[np.argsort(level.parent[living], kind="stable")]
    parents = level.parent[order]
    start, stop = (np.searchsorted(parents, above, side) for side in ("left", "right"))
    counts = stop - start
    place = np.repeat(np.arange(len(above)), counts)
    within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place, order[np.repeat(start, counts) + within]
