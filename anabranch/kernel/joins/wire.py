"""Rows of a join as bytes: on their way to a cell, in its state, and on their way out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anabranch.kernel.joins.module import Rows
from anabranch.kernel.joins.run import Ints

TIME, PAYLOAD = "t", "p"
# State is read once and written once: better small than fast.
SMALL = pa.ipc.IpcWriteOptions(compression="zstd")


def code(key: int) -> str:
    """The column that has the codes of a key."""
    return f"c{key}"


def value(attribute: int) -> str:
    """The column that has the values of an attribute."""
    return f"a{attribute}"


def spelled(key: int) -> str:
    """The column that has the values of a key whose codes may be equal though these are not."""
    return f"k{key}"


def to_bytes(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions | None = None) -> bytes:
    """With its schema."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> pa.RecordBatch:
    """What `to_bytes` made.

    >>> batch = pa.record_batch({"x": [1, 2]})
    >>> from_bytes(to_bytes(batch, SMALL)).equals(batch)
    True
    """
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()


@dataclass(frozen=True)
class Arrived:
    """Rows of one stream as they come to a cell, with values of the attributes that are asked."""

    rows: Rows
    values: Mapping[str, pa.Array]


def arrived(parts: Sequence[bytes], keys: Sequence[int], attributes: Sequence[str]) -> Arrived:
    """The rows of several chunks."""
    whole = pa.concat_batches([from_bytes(part) for part in parts])
    values = {name: whole.column(value(i)) for i, name in enumerate(attributes)}
    return Arrived(rows_of(whole, keys), values)


def rows_of(batch: pa.RecordBatch, keys: Sequence[int]) -> Rows:
    """The rows of a batch."""
    codes = {key: _ints(batch.column(code(key))) for key in keys}
    carried = [name for name in batch.schema.names if name[0] in "pk"]
    # Made anew: rows that come and rows that were kept are then of one schema.
    payload = pa.record_batch([batch.column(name) for name in carried], carried)
    return Rows(codes, _ints(batch.column(TIME)), payload)


def batch_of(rows: Rows) -> pa.RecordBatch:
    """What is kept of rows.

    >>> rows = Rows({0: np.array([7])}, np.array([5]), pa.record_batch({"p": ["x"]}))
    >>> rows_of(batch_of(rows), [0]).times.tolist()
    [5]
    """
    columns = {code(key): pa.array(codes) for key, codes in rows.codes.items()}
    columns[TIME] = pa.array(rows.times)
    carried = dict(zip(rows.payload.schema.names, rows.payload.columns, strict=True))
    return pa.record_batch({**columns, **carried})


def _ints(column: pa.Array) -> Ints:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.int64)
