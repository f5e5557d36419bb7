"""Rows to chunks and back: what the stateful operator is given, and what it gives.

Spark hands a stateful operator rows; a chunk of many is one row, so that hardly anything is paid
per row.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.kernel.joins.grid import Grid, key_of
from anabranch.kernel.joins.wire import PAYLOAD, TIME, code, from_bytes, to_bytes
from anabranch.model import InputError

# Columns of a packed row; a chunk that is NULL only tells the greatest time seen.
CELL, STREAM, SEEN, CHUNK = "cell", "stream", "seen", "chunk"
PACKED = pa.schema(
    [(CELL, pa.int32()), (STREAM, pa.int32()), (SEEN, pa.int64()), (CHUNK, pa.binary())]
)


@dataclass(frozen=True)
class Pack:
    """Sends rows of one stream to their cells: a chunk for each that a batch has rows for."""

    grid: Grid
    stream: str
    kind: pa.StructType | None = None  # of what is carried, in whichever zone the session is

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        own = self.grid.query.keys_of[self.stream]
        place = self.grid.query.names.index(self.stream)
        seen: int | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            first, last = pc.min_max(batch.column(TIME)).as_py().values()
            if first <= 0:
                raise InputError(
                    f"{self.stream} has a row of {np.datetime64(first, 'us')}: Spark knows no "
                    "watermark before 1970, filter such rows out"
                )
            batch = self._plain(batch)
            seen = last if seen is None else max(seen, last)
            codes = {
                key: np.asarray(batch.column(code(key)).to_numpy(zero_copy_only=False), np.int64)
                for key in own
            }
            for cell, rows in self.grid.cells_of(self.stream, codes).items():
                part = batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))
                yield _packed(cell, place, last, to_bytes(part))
        if seen is not None:
            # Every cell learns how far the stream is.
            for cell in range(len(self.grid)):
                yield _packed(cell, place, seen, None)

    def _plain(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """With times in UTC: what is kept must not depend on the session."""
        if self.kind is None:
            return batch
        place = batch.schema.get_field_index(PAYLOAD)
        return batch.set_column(place, PAYLOAD, batch.column(PAYLOAD).cast(self.kind))


def _packed(cell: int, stream: int, seen: int, chunk: bytes | None) -> pa.RecordBatch:
    return pa.record_batch([[key_of(cell)], [stream], [seen], [chunk]], schema=PACKED)


@dataclass(frozen=True)
class Unpack:
    """Gives the rows of chunks: the first row of a chunk has it, the others stand behind it."""

    kind: pa.StructType

    def __call__(self, batches: Iterator[Any]) -> Iterator[pa.Array]:
        waiting: deque[pa.StructArray] = deque()
        for batch in batches:
            chunks = batch if isinstance(batch, pa.Array) else batch[0]
            for chunk in chunks.drop_null():
                waiting.append(_struct(from_bytes(chunk.as_py()), self.kind))
            yield _first(waiting, len(chunks), self.kind)


def _struct(batch: pa.RecordBatch, kind: pa.StructType) -> pa.StructArray:
    columns = [batch.column(field.name).cast(field.type) for field in kind]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def _first(waiting: deque[pa.StructArray], rows: int, kind: pa.StructType) -> pa.Array:
    """So many rows from the front."""
    parts: list[pa.Array] = []
    while rows:
        whole = waiting.popleft()
        parts.append(whole.slice(0, rows))
        if len(whole) > rows:
            waiting.appendleft(whole.slice(rows))
        rows -= len(parts[-1])
    return pa.concat_arrays(parts) if parts else pa.array([], kind)


def sent(payloads: Sequence[tuple[str, pa.Array]]) -> bytes:
    """The rows of combinations as one chunk: a column per stream."""
    return to_bytes(pa.record_batch([p for _, p in payloads], [name for name, _ in payloads]))
