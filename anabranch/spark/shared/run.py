"""Several queries in one pass: over a batch, or round by round over a stream."""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from anabranch.kernel.shared import SharedTally
from anabranch.report.shared import SharedReport
from anabranch.spark.collector import Letters, Postman
from anabranch.spark.compiled import Compiled
from anabranch.spark.predicates import Conversion
from anabranch.spark.rounds.handle import Handle, Listener, check_stream
from anabranch.spark.rounds.observed import Count, counted
from anabranch.spark.rounds.runner import Round
from anabranch.spark.shared.frame import SharedFused, judged, orders, parted
from anabranch.spark.shared.union import Union

Frames = dict[str, DataFrame]
WriteAll = Callable[[Frames, int], Any]


class SharedCollector(Letters):
    """All that workers told."""

    def __init__(self, union: Union) -> None:
        super().__init__()
        self._shape = len(union.shared.query), len(union.shared.members)
        self._sum = SharedTally(*self._shape)
        self._orders: dict[str, tuple[int, ...]] = {}

    def absorb(self, letter: dict[str, Any]) -> None:
        self._sum = self._sum.merge(SharedTally.from_dict(letter["ledger"]))
        self._orders[letter["worker"]] = self._sum.order

    def tally(self) -> SharedTally:
        """Over all actions so far."""
        with self._lock:
            told = SharedTally(*self._shape).merge(self._sum)
            for letter in self.kept():
                told = told.merge(SharedTally.from_dict(letter["ledger"]))
            return told

    def order(self) -> tuple[int, ...]:
        """The order that most workers follow."""
        with self._lock:
            newest = dict(self._orders)
            for letter in self.kept():
                if letter["ledger"]["order"]:
                    newest[letter["worker"]] = tuple(letter["ledger"]["order"])
            return orders(newest)


@dataclass
class Shared:
    """Queries compiled together, ready for a DataFrame."""

    union: Union
    compiled: Compiled
    learns: bool
    seed: int
    run: str = field(default_factory=lambda: f"anabranch-shared-{uuid.uuid4().hex}")

    def __post_init__(self) -> None:
        self.collector = SharedCollector(self.union)
        self.start: tuple[int, ...] = ()

    def frame(self, df: DataFrame) -> DataFrame:
        """Rows that some query wants."""
        self.start = self.collector.order() or self.start
        fused = SharedFused(
            self.run,
            self.union.shared,
            self.compiled.predicates,
            self.start,
            self.learns,
            self.seed,
        )
        Postman.of(df.sparkSession).subscribe(self.run, self.collector)
        return judged(df, self.union, self.compiled, fused)

    def frames(self, df: DataFrame) -> Frames:
        return parted(df, self.union, self.compiled)

    def report(
        self, scope: str, served: Mapping[str, int], out: Mapping[str, int] | None = None
    ) -> SharedReport:
        return SharedReport.of(self.union.shared, self.collector.tally(), scope, served, out)

    @classmethod
    def of(cls, source: DataFrame, union: Union, learns: bool, seed: int) -> "Shared":
        compiled = union.compiled(Conversion.of(source.sparkSession.conf.get))
        return cls(union, compiled, learns, seed)


class SharedRun:
    """Several queries over one DataFrame; nothing has run yet.

    `dfs` has the rows of each query. Every action on one of them is a pass over the input, so take
    one pass for all by `persist()` first, and `unpersist()` when done.
    """

    def __init__(self, source: DataFrame, union: Union, learns: bool, seed: int) -> None:
        self._shared = Shared.of(source, union, learns, seed)
        self._whole = self._shared.frame(source)
        self._postman = Postman.of(source.sparkSession)
        self.dfs = self._shared.frames(self._whole)

    def persist(self) -> "SharedRun":
        """Keep what some query wants, so that all queries read it from one pass."""
        self._whole.persist(StorageLevel.MEMORY_AND_DISK)
        return self

    def unpersist(self) -> None:
        self._whole.unpersist()

    def report(self) -> SharedReport:
        """What happened so far, over all actions."""
        self._postman.wait()
        done = self._shared.collector.deliveries
        scope = f"{done} pass{'' if done == 1 else 'es'}"
        return self._shared.report(scope, dict.fromkeys(self._shared.union.own, done))


@dataclass
class SharedRunner:
    """One round after the other; in each of them every query is served, from one pass."""

    shared: Shared
    write: WriteAll
    postman: Postman
    served: Counter[str] = field(default_factory=Counter)
    out: Counter[str] = field(default_factory=Counter)  # rows of each query

    def run(self, batch: DataFrame, number: int) -> Round:
        begin = time.monotonic()
        name = f"anabranch-round-{uuid.uuid4().hex}"
        counts = {part: Count() for part in ("", *self.shared.union.own)}
        for part, count in counts.items():
            self.postman.subscribe(f"{name}-{part}", count)
        before = self.shared.collector.tally()
        whole = self.shared.frame(counted(batch, f"{name}-"))
        whole = whole.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            frames = self.shared.frames(whole)
            self.write({n: counted(df, f"{name}-{n}") for n, df in frames.items()}, number)
        finally:
            whole.unpersist()
        self.postman.wait()
        self.served.update(list(self.shared.union.own))
        rows = counts.pop("").rows or 0
        kept = {part: count.rows or 0 for part, count in counts.items()}
        self.out.update(kept)
        return self._done(number, before, rows, sum(kept.values()), time.monotonic() - begin)

    def _done(self, number: int, before: SharedTally, rows: int, out: int, seconds: float) -> Round:
        tally = self.shared.collector.tally()
        names = self.shared.union.shared.query.names
        evaluated = int(tally.counts[0].sum() - before.counts[0].sum())
        between = max(evaluated - (tally.rows_in - before.rows_in), 0) + out
        return Round(
            number,
            ", ".join(names[i] for i in tally.order),
            rows,
            out,
            evaluated,
            seconds,
            tally.order != before.order,
            "",
            out / max(seconds, 1e-9),
            float(rows + between),
        )

    def state(self) -> dict[str, Any]:
        return {"order": list(self.shared.collector.order() or self.shared.start)}

    def restore(self, state: Mapping[str, Any]) -> bool:
        order = tuple(int(i) for i in state["order"])
        known = not order or sorted(order) == list(range(len(self.shared.union.shared.query)))
        if known and self.shared.learns:
            self.shared.start = order
        return known

    def close(self) -> None:
        """Nothing is left to end."""


class SharedRounds(Handle[SharedRunner]):
    """Several queries in rounds; every round serves all of them."""

    def __init__(
        self,
        source: DataFrame,
        union: Union,
        write: WriteAll,
        checkpoint: str,
        learns: bool,
        trigger: str | Mapping[str, Any] | None,
        seed: int,
        listener: Listener | None,
    ) -> None:
        check_stream(source, write, checkpoint)

        def make(postman: Postman) -> tuple[SharedRunner, DataFrame]:
            shared = Shared.of(source, union, learns, seed)
            return SharedRunner(shared, write, postman), source

        super().__init__(source, checkpoint, union.identity(), make, trigger, listener)

    def report(self) -> SharedReport:
        """What happened so far in this process, over all rounds."""
        done = max(self._runner.served.values(), default=0)
        scope = f"{done} round{'' if done == 1 else 's'}"
        return self._runner.shared.report(scope, self._runner.served, self._runner.out)

    def order(self) -> tuple[str, ...]:
        """The order of the shared operators in the next round."""
        shared = self._runner.shared
        names = shared.union.shared.query.names
        told = shared.collector.order() or shared.start
        return tuple(names[i] for i in told) if told else shared.union.shared.query.written()
