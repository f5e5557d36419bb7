"""One cell of a join: a window per stream, and all that arrives in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.kernel.joins.arrivals import Arrivals
from anabranch.kernel.joins.module import Keys, Rows, StateModule
from anabranch.kernel.joins.prober import Prober
from anabranch.kernel.joins.run import Ints
from anabranch.kernel.joins.wire import spelled
from anabranch.model.join import JoinQuery

NEVER = -(1 << 62)


def modules(query: JoinQuery) -> dict[str, StateModule]:
    """An empty window per stream, with an index for all that it is probed by."""
    asked: dict[str, dict[Keys, None]] = {name: {} for name in query.names}
    for source in query.names:
        tree = query.tree(source)
        for stream in tree.parents:
            asked[stream][tree.keys(stream)] = None
    return {name: StateModule(tuple(keys)) for name, keys in asked.items()}


@dataclass(frozen=True, eq=False)
class Combined:
    """Combinations of rows, one per stream, and the greatest time of each."""

    payloads: dict[str, pa.RecordBatch]
    times: Ints

    def __len__(self) -> int:
        return len(self.times)


def watermark(query: JoinQuery, seen: Mapping[str, int], idle: int | None = None) -> int:
    """The least over the streams of the greatest time seen less the delay.

    A stream that is further behind than `idle` holds nothing back.

    >>> from anabranch.model.join import Stream
    >>> pair = [(("a", "k"), ("b", "k"))]
    >>> query = JoinQuery.on([Stream("a", 10, delay=1), Stream("b", 10)], pair)
    >>> watermark(query, {"a": 50, "b": 20}), watermark(query, {"a": 50, "b": 20}, idle=5)
    (20, 44)
    """
    times = [seen.get(stream.name, NEVER) - stream.delay for stream in query.streams]
    behind = NEVER if idle is None else max(times) - idle
    return max(min(times), behind)


@dataclass
class Cell:
    """The windows of all streams, for the rows that fall into one cell."""

    query: JoinQuery
    inexact: tuple[int, ...] = ()  # keys whose codes may be equal though their values are not
    windows: dict[str, StateModule] = field(init=False)

    def __post_init__(self) -> None:
        self.windows = modules(self.query)

    def arrive(
        self, source: str, rows: Rows, values: Mapping[str, pa.Array], prober: Prober
    ) -> Iterator[Combined]:
        """Join rows of one stream with what the other windows hold, then hold them."""
        if len(rows) and all(len(self.windows[name]) for name in prober.tree.parents):
            arrived = Arrivals(prober.tree, self.windows, rows)
            left = prober.survivors(arrived, values) if len(arrived) else np.zeros(0, np.int64)
            for combined in arrived.combinations(left):
                payloads = {
                    name: self._payload(source, rows, name, n) for name, n in combined.items()
                }
                found = Combined(payloads, arrived.event_times(combined))
                yield _exact(found, self.query, self.inexact)
        self.windows[source].append(rows)

    def _payload(self, source: str, rows: Rows, name: str, numbers: Ints) -> pa.RecordBatch:
        if name == source:
            return rows.payload.take(pa.array(numbers))
        return self.windows[name].payload(numbers)

    def evict(self, mark: int) -> dict[str, int]:
        """Forget rows that no row from the watermark on can match; how many, by stream."""
        return {
            stream.name: self.windows[stream.name].evict(mark - stream.window)
            for stream in self.query.streams
        }


def _exact(found: Combined, query: JoinQuery, inexact: Sequence[int]) -> Combined:
    """Without combinations whose keys only have equal codes."""
    fine = np.ones(len(found), bool)
    for key in inexact:
        column = spelled(key)
        streams = [name for name in query.names if key in query.keys_of[name]]
        first, *others = (found.payloads[name].column(column) for name in streams)
        for other in others:
            fine &= np.asarray(pc.equal(first, other).to_numpy(zero_copy_only=False), bool)
    if fine.all():
        return found
    kept = pa.array(np.flatnonzero(fine))
    payloads = {name: payload.take(kept) for name, payload in found.payloads.items()}
    return Combined(payloads, found.times[fine])
