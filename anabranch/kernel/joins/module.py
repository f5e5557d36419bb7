"""State modules: the window of one stream in one cell, indexed by what it is probed with.

Query Mesh, Section 5.2, and the SteMs of Eddies: a module is built into and probed, and knows
nothing of the order in which that happens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.kernel.joins.grown import Grown
from anabranch.kernel.joins.run import Ints, SortedRun

# A run is merged with the one before it unless that has so many times its rows.
RATIO = 3
# Pieces that rows are taken from, at most; neighbours are put together.
MOST_PIECES = 16
# Odd numbers whose products mix several keys into one.
MIXERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)

TIME = None  # in place of a key

Keys = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a stream: the codes of its keys, their times, and all that they carry."""

    codes: dict[int, Ints]
    times: Ints
    payload: pa.RecordBatch

    def __len__(self) -> int:
        return len(self.times)

    def take(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> "Rows":
        """Some of the rows, by place or by mask."""
        where = np.flatnonzero(places) if places.dtype == bool else places
        codes = {key: values[where] for key, values in self.codes.items()}
        return Rows(codes, self.times[where], self.payload.take(pa.array(where)))

    @classmethod
    def concat(cls, parts: Sequence["Rows"]) -> "Rows":
        """All rows of several, in this order."""
        if len(parts) == 1:
            return parts[0]
        codes = {key: np.concatenate([part.codes[key] for part in parts]) for key in parts[0].codes}
        payload = pa.concat_batches([part.payload for part in parts])
        return cls(codes, np.concatenate([part.times for part in parts]), payload)


def mixed(codes: Sequence[Ints]) -> Ints:
    """One number for several keys; that two are equal is seen from the keys themselves."""
    if len(codes) == 1:
        return codes[0]
    whole = np.zeros(len(codes[0]), np.uint64)
    for place, code in enumerate(codes):
        whole ^= code.view(np.uint64)
        whole *= np.uint64(MIXERS[place % len(MIXERS)])
        whole ^= whole >> np.uint64(29)
    return whole.view(np.int64)


@dataclass(frozen=True, eq=False)
class Ranges:
    """Of each row that probes, the matches: in every run from `start` to `stop`."""

    runs: tuple[SortedRun, ...]
    start: Ints  # one row per run
    stop: Ints

    @property
    def counts(self) -> Ints:
        return np.asarray((self.stop - self.start).sum(axis=0), np.int64)

    def take(self, places: Ints) -> "Ranges":
        """Of some of the rows."""
        return Ranges(self.runs, self.start[:, places], self.stop[:, places])

    def expand(self) -> tuple[Ints, Ints]:
        """All pairs of a probing row's place and a row of the module."""
        here, there = [], []
        for run, start, stop in zip(self.runs, self.start, self.stop, strict=True):
            counts = stop - start
            place = np.repeat(np.arange(len(counts)), counts)
            within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
            here.append(place)
            there.append(run.rows[np.repeat(start, counts) + within])
        if not here:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate(here), np.concatenate(there)


@dataclass(frozen=True, eq=False)
class Piece:
    """What rows carry that came together, and the last of their times."""

    payload: pa.RecordBatch
    last: int

    def __len__(self) -> int:
        return int(self.payload.num_rows)

    def with_next(self, other: "Piece") -> "Piece":
        """Both as one."""
        payload = pa.concat_batches([self.payload, other.payload])
        return Piece(payload, max(self.last, other.last))


@dataclass
class StateModule:
    """The rows of a window that are held, and sorted runs of them for every set of keys asked for.

    Rows have numbers that never change. Those from before `since` cannot match any more, and go
    when runs are merged, or pieces are all of them.

    Examples
    --------
    >>> module = StateModule(((0,),))
    >>> batch = pa.record_batch({"v": ["x", "y"]})
    >>> module.append(Rows({0: np.array([7, 8])}, np.array([10, 20]), batch))
    >>> probing = np.array([8, 9])
    >>> found = module.probe((0,), [probing], np.array([0, 0]), np.array([50, 50]))
    >>> found.counts.tolist(), module.payload(found.expand()[1]).column("v").to_pylist()
    ([1, 0], ['y'])
    """

    asked: tuple[Keys, ...]
    since: int = -(1 << 62)
    runs: dict[Keys, list[SortedRun]] = field(init=False)
    pieces: list[Piece] = field(init=False, default_factory=list)
    base: int = field(init=False, default=0)  # number of the first row held
    columns: dict[int | None, Grown] = field(init=False, default_factory=dict)  # keys, and times

    def __post_init__(self) -> None:
        self.runs = {keys: [] for keys in self.asked}

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    @property
    def bytes(self) -> int:
        """Of what rows carry."""
        return sum(piece.payload.nbytes for piece in self.pieces)

    @property
    def width(self) -> int:
        """Bytes that a row carries, on average."""
        return self.bytes // max(len(self), 1)

    def append(self, rows: Rows) -> None:
        """Hold more rows."""
        if not len(rows):
            return
        numbers = np.arange(len(rows)) + self.base + len(self)
        self.pieces.append(Piece(rows.payload, int(rows.times.max())))
        for key, values in ((TIME, rows.times), *rows.codes.items()):
            self.columns.setdefault(key, Grown()).append(values)
        if len(self.pieces) > MOST_PIECES:
            self._join_pieces()
        for keys, runs in self.runs.items():
            runs.append(SortedRun.of(mixed([rows.codes[k] for k in keys]), rows.times, numbers))
            while len(runs) > 1 and len(runs[-2]) < RATIO * len(runs[-1]):
                last = runs.pop()
                runs[-1] = runs[-1].merged(last, self.since)

    def _join_pieces(self) -> None:
        """Neighbours become one, the smaller half of them."""
        sizes = [len(a) + len(b) for a, b in zip(self.pieces, self.pieces[1:], strict=False)]
        place = int(np.argmin(sizes))
        self.pieces[place : place + 2] = [self.pieces[place].with_next(self.pieces[place + 1])]

    def evict(self, since: int) -> int:
        """Forget what is from before a time; how many rows went."""
        self.since = max(self.since, since)
        gone = 0
        while self.pieces and self.pieces[0].last < self.since:
            gone += len(self.pieces.pop(0))
        self.base += gone
        for column in self.columns.values():
            column.drop(gone)
        for runs in self.runs.values():
            runs[:] = [run for run in runs if len(run) and int(run.times.max()) >= self.since]
        return gone

    def probe(self, keys: Keys, codes: Sequence[Ints], earliest: Ints, latest: Ints) -> Ranges:
        """Where the matches of rows with these keys stand, from the earliest to the latest time."""
        runs, whole = tuple(self.runs[keys]), mixed(codes)
        found = [run.ranges(whole, np.maximum(earliest, self.since), latest) for run in runs]
        shape = (len(runs), len(whole))
        start = np.array([start for start, _ in found], np.int64).reshape(shape)
        stop = np.array([stop for _, stop in found], np.int64).reshape(shape)
        return Ranges(runs, start, stop)

    def times(self, numbers: Ints) -> Ints:
        """Of some rows."""
        return self.columns[TIME].take(numbers - self.base)

    def codes(self, key: int, numbers: Ints) -> Ints:
        """Of some rows, the codes of a key."""
        return self.columns[key].take(numbers - self.base)

    def _places(self, numbers: Ints) -> list[tuple[Ints, Ints]]:
        """Of each piece, which of the numbers it has, and where."""
        edges = np.cumsum([self.base, *map(len, self.pieces)])
        which = np.searchsorted(edges, numbers, "right") - 1
        if len(self.pieces) == 1:
            return [(np.arange(len(numbers)), numbers - self.base)]
        return [
            (where := np.flatnonzero(which == i), numbers[where] - edges[i])
            for i in range(len(self.pieces))
        ]

    def payload(self, numbers: Ints) -> pa.RecordBatch:
        """What some rows carry, in this order."""
        taken, order = [], []
        for piece, (where, places) in zip(self.pieces, self._places(numbers), strict=True):
            if len(where):
                taken.append(piece.payload.take(pa.array(places)))
                order.append(where)
        if not taken:
            return self.pieces[0].payload.slice(0, 0)
        if len(taken) == 1:
            return taken[0]
        back = np.empty(len(numbers), np.int64)
        back[np.concatenate(order)] = np.arange(len(numbers))
        return pa.concat_batches(taken).take(pa.array(back))
