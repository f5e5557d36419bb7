"""Who has the windows of a cell: the state, written with every micro-batch, and a worker's copy.

A worker may be given any cell at any time, and a micro-batch may be run again. So the copy counts
only if it is the one that the state speaks of; otherwise it is made again from the state.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from anabranch.kernel.joins.book import Book, Chunk
from anabranch.kernel.joins.cell import NEVER, Cell, Combined, watermark
from anabranch.kernel.joins.module import Rows
from anabranch.kernel.joins.prober import Prober
from anabranch.kernel.joins.store import Store
from anabranch.kernel.joins.wire import SMALL, arrived, batch_of, from_bytes, rows_of, to_bytes
from anabranch.model import Attribute, Mesh
from anabranch.model.join import JoinQuery
from anabranch.policies import Policy

# Cells that a worker has copies of, the least recently used going first.
MOST_COPIES = 64


@dataclass(frozen=True)
class JoinSpec:
    """A join as a worker runs it.

    `policies` and `attributes` are by source, `identity` is what a checkpoint must agree with,
    `inexact` are the keys whose codes may be equal though their values are not.
    """

    run: str
    query: JoinQuery
    policies: Mapping[str, Policy]
    identity: Mapping[str, Any]
    inexact: tuple[int, ...] = ()
    attributes: Mapping[str, tuple[Attribute, ...]] = field(default_factory=dict)
    idle: int | None = None
    seed: int = 0


@dataclass
class Copy:
    """The windows of a cell in a worker, and the chunks and the page that they are made of."""

    cell: Cell
    page: str = ""
    mark: int = NEVER  # what is older was forgotten
    chunks: dict[str, dict[str, int]] = field(default_factory=dict)  # with their last times


@dataclass
class Custody:
    """All that a worker keeps of a join from micro-batch to micro-batch; only a cache."""

    spec: JoinSpec
    copies: OrderedDict[int, Copy] = field(default_factory=OrderedDict)
    probers: dict[str, Prober] = field(default_factory=dict)

    def process(
        self,
        number: int,
        store: Store,
        parts: Mapping[str, Sequence[bytes]],
        seen: Mapping[str, int],
        mark: int,
        figures: Counter[str],
    ) -> Iterator[Combined]:
        """Join what has arrived in a cell, and write the state that follows.

        `seen` are the greatest times of this micro-batch by stream, `mark` is Spark's watermark.
        """
        book = self._book(store)
        if self.spec.idle is not None:
            mark = max(mark, watermark(self.spec.query, book.seen, self.spec.idle))
        copy = self._copy(number, book, store, mark, figures)
        self._evict(book, copy, store, mark, figures)
        for stream in self.spec.query.streams:
            if parts.get(stream.name):
                rows, values = self._arrived(stream.name, parts[stream.name], mark, figures)
                prober = self._prober(stream.name, book)
                for found in copy.cell.arrive(stream.name, rows, values, prober):
                    figures["results"] += len(found)
                    yield found
                self._append(book, copy, store, stream.name, rows)
                book.plans[stream.name] = {
                    "by": self._learned_by(stream.name),
                    "plan": prober.learner.learned().to_dict(),
                }
        for name, time in seen.items():
            book.seen[name] = max(book.seen.get(name, NEVER), time)
        book.turn()
        store.write_book(book.to_json())
        self._count(book, copy, figures)
        # Only now: what a failed attempt leaves behind is of no use.
        copy.page = book.name
        self.copies[number] = copy
        while len(self.copies) > MOST_COPIES:
            self.copies.popitem(last=False)

    def _book(self, store: Store) -> Book:
        text = store.book()
        if text is None:
            return Book(self.spec.identity)
        book = Book.from_json(text)
        book.check(self.spec.identity)
        return book

    def _copy(
        self, number: int, book: Book, store: Store, mark: int, figures: Counter[str]
    ) -> Copy:
        """The windows as the state has them; they are out of the cache as long as they change."""
        copy = self.copies.pop(number, None)
        figures["hits" if copy is not None and copy.page == book.name else "misses"] += 1
        if copy is None or not self._is_part(copy, book, mark):
            copy = Copy(Cell(self.spec.query, self.spec.inexact))
        if copy.page != book.name:
            self._read(copy, book, store)
        return copy

    def _is_part(self, copy: Copy, book: Book, mark: int) -> bool:
        """Whether the state has all that a copy has, except for rows behind their windows.

        Chunks that are gone may have been put together with others, or never been there.
        """
        if mark < copy.mark:
            return False
        for stream in self.spec.query.streams:
            there = {chunk.name for chunk in book.chunks.get(stream.name, ())}
            for name, last in copy.chunks.get(stream.name, {}).items():
                if name not in there and last >= mark - stream.window:
                    return False
        return True

    def _read(self, copy: Copy, book: Book, store: Store) -> None:
        """Bring a copy to what the state says."""
        for stream in self.spec.query.names:
            known = copy.chunks.get(stream, {})
            chunks = book.chunks.get(stream, ())
            for chunk in chunks:
                if chunk.name not in known:
                    batch = from_bytes(store.chunk(stream, chunk.name))
                    rows = rows_of(batch, self.spec.query.keys_of[stream])
                    copy.cell.windows[stream].append(rows)
            copy.chunks[stream] = {chunk.name: chunk.last for chunk in chunks}

    def _evict(
        self, book: Book, copy: Copy, store: Store, mark: int, figures: Counter[str]
    ) -> None:
        copy.cell.evict(mark)
        copy.mark = mark
        for stream in self.spec.query.streams:
            for chunk in book.expired(stream.name, mark - stream.window):
                store.remove_chunk(stream.name, chunk.name)
                copy.chunks[stream.name].pop(chunk.name, None)
                figures[f"evicted {stream.name}"] += chunk.rows

    def _arrived(
        self, stream: str, parts: Sequence[bytes], mark: int, figures: Counter[str]
    ) -> tuple[Rows, Mapping[str, pa.Array]]:
        """The rows that are not late, and the values of their attributes."""
        names = [attribute.name for attribute in self.spec.attributes.get(stream, ())]
        come = arrived(parts, self.spec.query.keys_of[stream], names)
        fine = come.rows.times >= mark
        figures[f"rows {stream}"] += len(fine)
        figures[f"late {stream}"] += int((~fine).sum())
        if fine.all():
            return come.rows, come.values
        kept = pa.array(fine)
        return come.rows.take(fine), {name: v.filter(kept) for name, v in come.values.items()}

    def _prober(self, source: str, book: Book) -> Prober:
        known = self.probers.get(source)
        if known is None:
            told = book.plans.get(source, {})
            if told.get("by") != self._learned_by(source):
                told = {}  # another policy's, or from other attributes: it is learned anew
            known = self.probers[source] = Prober(
                self.spec.query.tree(source),
                self.spec.policies[source],
                self.spec.attributes.get(source, ()),
                Mesh.from_dict(told["plan"]) if told else None,
                self.spec.seed,
            )
        return known

    def _learned_by(self, source: str) -> list[str]:
        attributes = self.spec.attributes.get(source, ())
        return [self.spec.policies[source].name, *(attribute.name for attribute in attributes)]

    def _append(self, book: Book, copy: Copy, store: Store, stream: str, rows: Rows) -> None:
        """Write new rows, with their neighbours if these are small."""
        if not len(rows):
            return
        chunks = book.chunks.setdefault(stream, [])
        held = copy.chunks.setdefault(stream, {})
        chunks.append(_described("", rows, 0))
        window = next(s.window for s in self.spec.query.streams if s.name == stream)
        count = max(book.neighbours(stream, window), 1)
        old = chunks[-count:-1]
        keys = self.spec.query.keys_of[stream]
        stored = [rows_of(from_bytes(store.chunk(stream, chunk.name)), keys) for chunk in old]
        whole = Rows.concat([*stored, rows])
        data = to_bytes(batch_of(whole), SMALL)
        for chunk in old:
            store.remove_chunk(stream, chunk.name)
            held.pop(chunk.name, None)
        written = _described(Chunk.fresh_name(), whole, len(data))
        store.write_chunk(stream, written.name, data)
        held[written.name] = written.last
        chunks[-count:] = [written]

    def _count(self, book: Book, copy: Copy, figures: Counter[str]) -> None:
        for stream in self.spec.query.names:
            chunks = book.chunks.get(stream, ())
            figures[f"held {stream}"] = sum(chunk.rows for chunk in chunks)
            figures["bytes"] += sum(chunk.bytes for chunk in chunks)
            figures["memory"] += copy.cell.windows[stream].bytes


def _described(name: str, rows: Rows, size: int) -> Chunk:
    return Chunk(name, len(rows), int(rows.times.min()), int(rows.times.max()), size)
