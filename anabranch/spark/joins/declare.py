"""Windowed joins of streams, as users declare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructField, StructType, TimestampType

from anabranch.cost.shares import Shares, best_shares, copies
from anabranch.kernel.joins.grid import Grid
from anabranch.model import InputError, closest
from anabranch.model.join import JoinQuery, Stream
from anabranch.policies import Policy, RateBased, resolve
from anabranch.spark.joins.batch import batched
from anabranch.spark.joins.checkpoint import book_in
from anabranch.spark.joins.equalities import columns_in, equalities
from anabranch.spark.joins.inputs import Input, key_types
from anabranch.spark.joins.joined import JoinRun
from anabranch.spark.joins.native import native
from anabranch.spark.joins.operator import EVENT_TIME
from anabranch.spark.joins.run import Plan, as_column, check_provider, fresh_run, identity, streamed
from anabranch.spark.session import cores

# Words that have a meaning in within(...) or in the result.
RESERVED = ("time", "delay", "idle", "window", EVENT_TIME)
MOST_CELLS = 4096


def join(**streams: DataFrame) -> Join:
    """Begin a join of streams, each by the name that predicates and the result know it by."""
    for name, df in streams.items():
        if name in RESERVED or name.startswith("__anabranch"):
            raise InputError(f'a stream cannot be named "{name}": that word has a meaning here')
        if not name.isidentifier():
            raise InputError(f'a stream cannot be named "{name}": use letters, digits and _')
        if not isinstance(df, DataFrame):
            raise InputError(f"{name} must be a DataFrame, got {type(df).__name__}")
    if len(streams) < 2:
        raise InputError(f"a join needs two streams or more, got {len(streams)}")
    if len({name.lower() for name in streams}) < len(streams):
        raise InputError(f"names of streams differ by more than case: {', '.join(streams)}")
    kinds = {df.isStreaming for df in streams.values()}
    if len(kinds) > 1:
        bounded = [name for name, df in streams.items() if not df.isStreaming]
        raise InputError(
            f"{', '.join(bounded)}: bounded, the others are streams; join a stream with bounded "
            "tables by query(stream).join(table, on=...)"
        )
    return Join(tuple(streams.items()))


@dataclass(frozen=True)
class Join:
    """Several streams, joined where keys are equal and times are near.

    Each method returns a new join. A combination of one row of each stream is in the result if all
    predicates hold and, for every stream, `max(all times) - time <= window`.
    """

    streams: tuple[tuple[str, DataFrame], ...]
    predicates: tuple[str, ...] = ()
    windows: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, str] = field(default_factory=dict)
    delays: Mapping[str, int] = field(default_factory=dict)
    idle: int | None = None
    conditions: tuple[Column | str, ...] = ()
    selected: tuple[Column | str, ...] = ()

    @property
    def _names(self) -> list[str]:
        return [name for name, _ in self.streams]

    def on(self, *predicates: str) -> Join:
        """Equalities between streams, as `"trades.sector = news.sector"`; several by AND."""
        equalities(predicates, self._names)
        return replace(self, predicates=(*self.predicates, *predicates))

    def within(
        self,
        window: str | None = None,
        *,
        time: str | Mapping[str, str],
        delay: str | Mapping[str, str] = "0 seconds",
        idle: str | None = None,
        **windows: str,
    ) -> Join:
        """How near in time rows must be: one window for all streams, or one for each by its name.

        `time` is the column of event time, `delay` how much later than others a row may come; both
        may be a mapping by stream. Rows later than that are dropped, and counted. With `idle` a
        stream that is further behind the most advanced one holds the watermark back no longer.
        """
        names = self._names
        given = {**(dict.fromkeys(names, window) if window is not None else {}), **windows}
        self._check_names("within", given)
        if missing := [name for name in names if given.get(name) is None]:
            raise InputError(
                f"within() has no window for {', '.join(missing)}; pass one for all, as in "
                f'within("10 minutes", time="ts"), or {missing[0]}="10 minutes"'
            )
        times = dict.fromkeys(names, time) if isinstance(time, str) else dict(time)
        late = dict.fromkeys(names, delay) if isinstance(delay, str) else dict(delay)
        self._check_names("time=", times)
        self._check_names("delay=", late)
        if missing := [name for name in names if name not in times]:
            raise InputError(f"time= has no column for {', '.join(missing)}")
        return replace(
            self,
            windows={name: micros(f"window of {name}", text) for name, text in given.items()},
            times=times,
            delays={n: micros(f"delay of {n}", late.get(n, "0 seconds")) for n in names},
            idle=None if idle is None else micros("idle", idle),
        )

    def where(self, condition: Column | str) -> Join:
        """Keep combinations that pass; what is on one stream alone is asked before the join."""
        if not isinstance(condition, Column | str):
            raise InputError(f"where() takes a Column or an SQL string, got {condition!r}")
        return replace(self, conditions=(*self.conditions, condition))

    def select(self, *columns: Column | str) -> Join:
        """What the result has, instead of a struct per stream and the event time; SQL or Column."""
        if not columns or not all(isinstance(column, Column | str) for column in columns):
            raise InputError(f"select() takes SQL strings or Columns, got {columns!r}")
        return replace(self, selected=columns)

    def run(
        self,
        policy: str | Policy = "auto",
        cells: int | None = None,
        seed: int = 0,
        rates: Mapping[str, float] | None = None,
        attributes: Sequence[str] | None = None,
        checkpoint: str | None = None,
    ) -> JoinRun:
        """Compile the join under a policy; nothing has run yet.

        `cells` are the groups that rows are spread over, by default as many as run at once. `rates`
        are rows per second of the streams: keys are split so that few of them need copies.
        `attributes` are columns, as "stream.column", that a policy which routes by content may tell
        rows of that stream apart by. `checkpoint` is the one that the stream will be given: that of
        another join is refused now, instead of when it has started.
        """
        plan = self._plan()
        self._check_names("rates=", rates or ())
        chosen = resolve(policy).for_join(plan.query, rates)
        if isinstance(attributes, str):
            raise InputError(f'attributes are a list, as in ["{attributes}"]')
        self._check_names("attributes=", [name.split(".")[0] for name in attributes or ()])
        _check_cells(cells)
        if not plan.is_streaming:
            return JoinRun(plan, chosen, batched(plan), {})
        if isinstance(chosen, RateBased) and chosen.how == "native":
            assert chosen.chosen is not None
            return JoinRun(plan, chosen, native(plan, chosen.chosen), {})
        check_provider(plan.inputs[0].df)
        grid, run = Grid(plan.query, _shares(plan, cells, rates, checkpoint)), fresh_run()
        spread = {name: copies(plan.query, grid.shares, name) for name in plan.query.names}
        df = streamed(plan, chosen, grid, seed, run, attributes)
        known = rates or (chosen.rates if isinstance(chosen, RateBased) else None)
        return JoinRun(plan, chosen, df, spread, run, known)

    def explain(self) -> str:
        """The streams, keys, windows, and how rows of each stream reach the others."""
        return "\n".join(self._plan().outline())

    def _check_names(self, where: str, given: Iterable[str]) -> None:
        for name in given:
            if name not in self._names:
                raise InputError(
                    f'{where}: there is no stream "{name}"; {closest(name, self._names)}'
                )

    def _plan(self) -> Plan:
        if not self.predicates:
            raise InputError('a join needs predicates, as in on("trades.sector = news.sector")')
        if not self.windows:
            raise InputError('a join needs windows, as in within("10 minutes", time="ts")')
        streams = [Stream(n, self.windows[n], self.delays[n]) for n in self._names]
        query = JoinQuery.on(streams, equalities(self.predicates, self._names))
        inputs = {name: Input(name, df, self.times[name]) for name, df in self.streams}
        for given in inputs.values():
            given.check()
        kinds, whole = key_types(inputs, query), self._place(inputs)
        carried = self._carried(whole)
        placed = tuple(inputs.values())
        return Plan(placed, query, kinds, self.idle, carried, tuple(whole), self.selected)

    def _place(self, inputs: dict[str, Input]) -> list[Column | str]:
        """Give conditions on one stream to it; those on several are returned."""
        fields = {name: given.frame().schema[0] for name, given in inputs.items()}
        frames = {name: self._empty([field]) for name, field in fields.items() if self.conditions}
        whole: list[Column | str] = []
        for condition in self.conditions:
            alone = [name for name, frame in frames.items() if _fits(frame, condition)]
            if len(alone) == 1:
                own = inputs[alone[0]]
                conditions = (*own.conditions, as_column(condition))
                inputs[alone[0]] = replace(own, conditions=conditions)
            else:
                whole.append(condition)
        last = StructField(EVENT_TIME, TimestampType())
        self._check_columns(self._empty([*fields.values(), last]), whole)
        return whole

    def _empty(self, fields: Sequence[StructField]) -> DataFrame:
        """A frame of these, without rows.

        That of the input would not do: Spark looks for names below what is selected, too.
        """
        return self.streams[0][1].sparkSession.createDataFrame([], StructType(list(fields)))

    def _check_columns(self, combined: DataFrame, conditions: Sequence[Column | str]) -> None:
        """What is selected, and conditions on several streams, can be resolved."""
        for given in (*self.selected, *conditions):
            try:
                _ = combined.select(as_column(given)).schema
            except AnalysisException as error:
                told = ", ".join(f"{name}({', '.join(df.columns)})" for name, df in self.streams)
                raise InputError(
                    f"{given} cannot be resolved; write columns as stream.column, there are {told} "
                    f"and {EVENT_TIME}"
                ) from error

    def _carried(self, conditions: Sequence[Column | str]) -> dict[str, list[str]]:
        """The columns of each stream that the result needs."""
        all_columns = {name: list(df.columns) for name, df in self.streams}
        read: dict[str, set[str]] = {name: set() for name in all_columns}
        for text in (*self.selected, *conditions):
            told = columns_in(text, self._names) if isinstance(text, str) else None
            if told is None:
                return all_columns
            for name, columns in told.items():
                read[name] |= {column.lower() for column in columns}
        if not self.selected:
            return all_columns
        return {
            name: [column for column in known if column.lower() in read[name]]
            for name, known in all_columns.items()
        }


def _fits(frame: DataFrame, condition: Column | str) -> bool:
    """Whether a condition can be asked of a frame."""
    try:
        _ = frame.filter(condition).schema
    except AnalysisException:
        return False
    return True


def _check_cells(cells: int | None) -> None:
    whole = isinstance(cells, int) and not isinstance(cells, bool)
    if cells is not None and not (whole and 1 <= cells <= MOST_CELLS):
        raise InputError(f"cells is a whole number from 1 to {MOST_CELLS}, got {cells!r}")


def _shares(
    plan: Plan, cells: int | None, rates: Mapping[str, float] | None, checkpoint: str | None
) -> Shares:
    """How keys are split over the cells; as before, if a checkpoint is to go on."""
    session = plan.inputs[0].df.sparkSession
    partitions = int(session.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    count = min(cores(session), partitions) if cells is None else cells
    shares = best_shares(plan.query, count, rates or {})
    book = book_in(session, checkpoint) if checkpoint is not None else None
    if book is not None:
        if cells is None and rates is None:  # how many run at once may have changed
            shares = tuple(book.identity.get("shares", shares))
        book.check(identity(plan, shares))
    return shares


def micros(what: str, text: str) -> int:
    """A length of time in microseconds.

    >>> micros("window", "1 hour"), micros("delay", "10 seconds")
    (3600000000, 10000000)
    """
    valid = 'a length of time such as "10 seconds" or "1 hour"'
    if not isinstance(text, str) or text.strip().isdigit():  # which would be nanoseconds
        raise InputError(f"{what} is {valid}, got {text!r}")
    try:
        length = pd.Timedelta(text)
    except ValueError as error:
        raise InputError(f'{what} is {valid}, got "{text}"') from error
    if pd.isna(length) or length < pd.Timedelta(0):
        raise InputError(f'{what} is {valid}, got "{text}"')
    return int(length.value) // 1000
