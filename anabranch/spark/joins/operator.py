"""The stateful operator: a group is a cell, its state are chunks and a book."""

import json
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import (
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
    ValueState,
)
from pyspark.sql.types import (
    BinaryType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from anabranch.kernel.joins.cell import NEVER, Combined
from anabranch.kernel.joins.custody import Custody, JoinSpec
from anabranch.kernel.joins.grid import key_of
from anabranch.kernel.joins.wire import PAYLOAD
from anabranch.spark.joins.inputs import MOMENT
from anabranch.spark.joins.pack import CHUNK, SEEN, STREAM, sent
from anabranch.spark.worker import WORKER

EVENT_TIME, STATS = "event_time", "stats"
OUTPUT = StructType(
    [
        StructField(EVENT_TIME, TimestampType()),
        StructField(CHUNK, BinaryType()),
        StructField(STATS, BinaryType()),
    ]
)
PAGES = "book"
BOOK = StructType([StructField(PAGES, StringType())])
NAME = StructType([StructField("stream", StringType()), StructField("name", StringType())])
DATA = StructType([StructField("data", BinaryType())])
# Joins that a worker remembers, the least recently used going first.
MOST_JOINS = 16

_custodies: OrderedDict[str, Custody] = OrderedDict()


@dataclass
class Shelf:
    """The state of a cell in Spark's state store."""

    pages: ValueState
    chunks: MapState

    def book(self) -> str | None:
        told = self.pages.get()
        return None if told is None else str(told[0])

    def write_book(self, text: str) -> None:
        self.pages.update((text,))

    def chunk(self, stream: str, name: str) -> bytes:
        told = self.chunks.getValue((stream, name))
        assert told is not None
        return bytes(told[0])

    def write_chunk(self, stream: str, name: str, data: bytes) -> None:
        self.chunks.updateValue((stream, name), (data,))

    def remove_chunk(self, stream: str, name: str) -> None:
        self.chunks.removeKey((stream, name))


class Joining(StatefulProcessor):
    """Joins what arrives in a cell with what its windows hold."""

    def __init__(self, spec: JoinSpec, cells: int) -> None:
        self._spec = spec
        self._cells = {key_of(cell): cell for cell in range(cells)}

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._shelf = Shelf(
            handle.getValueState(PAGES, BOOK), handle.getMapState("chunks", NAME, DATA)
        )

    def handleInputRows(  # noqa: N802  (Spark's name)
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        begin = time.perf_counter()
        names = self._spec.query.names
        parts: dict[str, list[bytes]] = {}
        seen: dict[str, int] = {}
        for frame in rows:
            for stream, last, chunk in zip(frame[STREAM], frame[SEEN], frame[CHUNK], strict=True):
                name = names[int(stream)]
                seen[name] = max(seen.get(name, int(last)), int(last))
                if chunk is not None:
                    parts.setdefault(name, []).append(bytes(chunk))
        told = timerValues.getCurrentWatermarkInMs()
        # Nothing is late as long as there is none.
        mark = told * 1000 + MOMENT if told > 0 else NEVER
        custody = _custody(self._spec)
        figures: Counter[str] = Counter()
        cell = self._cells[int(key[0])]
        for found in custody.process(cell, self._shelf, parts, seen, mark, figures):
            if len(found):
                yield self._frame(found)
        figures["microseconds"] += int((time.perf_counter() - begin) * 1e6)
        yield _told(self._letter(cell, custody, figures))

    def close(self) -> None:
        """What is kept stays for the next micro-batch."""

    def _frame(self, found: Combined) -> pd.DataFrame:
        """A row per combination; the first carries them all."""
        payloads = [(n, found.payloads[n].column(PAYLOAD)) for n in self._spec.query.names]
        chunks = np.full(len(found), None, object)
        chunks[0] = sent(payloads)
        times = pd.DatetimeIndex(found.times.view("datetime64[us]")).tz_localize("UTC")
        return pd.DataFrame({EVENT_TIME: times, CHUNK: chunks, STATS: None})

    def _letter(self, cell: int, custody: Custody, figures: Counter[str]) -> bytes:
        context = TaskContext.get()
        ledgers = {name: prober.take_ledger() for name, prober in custody.probers.items()}
        letter = {
            "run": self._spec.run,
            "worker": WORKER,
            "stage": context.stageId() if context else 0,
            "partition": context.partitionId() if context else 0,
            "attempt": context.taskAttemptId() if context else 0,
            "call": uuid.uuid4().hex[:8],
            "number": 1,
            "last": True,
            "cell": cell,
            "figures": dict(figures),
            "ledgers": {name: ledger.to_dict() for name, ledger in ledgers.items()},
        }
        return json.dumps(letter).encode()


def _told(letter: bytes) -> pd.DataFrame:
    """A row that has no combination, only what happened."""
    return pd.DataFrame({EVENT_TIME: [pd.NaT], CHUNK: [None], STATS: [letter]})


def _custody(spec: JoinSpec) -> Custody:
    known = _custodies.pop(spec.run, None)
    if known is None:
        known = Custody(spec)
    _custodies[spec.run] = known
    while len(_custodies) > MOST_JOINS:
        _custodies.popitem(last=False)
    return known
