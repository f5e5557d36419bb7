"""A tree of joins as Spark's own stream-stream joins, in its shape.

A frame may carry one column of event time only, and state is given up by conditions on it: each
part goes on with that of one of its streams, and the times of the others are plain fields.
"""

from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.cost.rate import JoinTree, Node
from anabranch.model import InputError
from anabranch.spark.joins.batch import carried, equal, near
from anabranch.spark.joins.inputs import MOMENT, Input
from anabranch.spark.joins.operator import EVENT_TIME
from anabranch.spark.joins.run import Plan
from anabranch.spark.tables import quoted

TIME = "__anabranch_time"


@dataclass(frozen=True)
class Part:
    """What is joined already: its streams, and whose time it goes on with."""

    frame: DataFrame
    names: tuple[str, ...]
    timed: str

    @property
    def time(self) -> str:
        return f"{TIME}_{self.timed}"


def native(plan: Plan, tree: JoinTree) -> DataFrame:
    """One row per combination, as the one operator gives; the event time has no watermark."""
    if plan.idle is not None:
        raise InputError('idle= is for how="probe": Spark\'s own joins wait for every stream')
    frame = _part(plan, tree).frame
    latest = F.greatest(*(one.when() for one in plan.inputs))
    streams = [carried(one, plan) for one in plan.inputs]
    return plan.finished(frame.select(*streams, latest.alias(EVENT_TIME)))


def _part(plan: Plan, node: Node) -> Part:
    if not isinstance(node, JoinTree):
        return _source(plan, node.name)
    left, right = _part(plan, node.left), _part(plan, node.right)
    given = {one.name: one for one in plan.inputs}
    windows = {stream.name: stream.window for stream in plan.query.streams}
    conditions = [
        _within(left, right, windows[left.timed]),
        _within(right, left, windows[right.timed]),
    ]
    if not any(equal(plan.query, name, left.names) for name in right.names):
        raise InputError(
            f"{node}: no predicate links {', '.join(left.names)} with {', '.join(right.names)}, "
            "and Spark's own stream-stream joins need one; take another tree"
        )
    for name in right.names:
        conditions += [
            *equal(plan.query, name, left.names),
            *near(plan.query, given, name, left.names),
        ]
    joined = left.frame.join(right.frame, reduce(Column.__and__, conditions)).drop(right.time)
    return replace(left, frame=joined, names=(*left.names, *right.names))


def _within(one: Part, other: Part, window: int) -> Column:
    """Spark gives up rows of a part by this: the other's time is at most a window later."""
    return F.col(other.time) <= F.col(one.time) + F.expr(f"INTERVAL {window} MICROSECONDS")


def _source(plan: Plan, name: str) -> Part:
    given = next(one for one in plan.inputs if one.name == name)
    delay = next(stream.delay for stream in plan.query.streams if stream.name == name)
    keys = [e for key in plan.query.keys for stream, e in key if stream == name]
    alone = [*equal(plan.query, name, []), *(F.expr(key).isNotNull() for key in keys)]
    # Rows that join with none move no watermark.
    rows = reduce(DataFrame.filter, [*given.conditions, *alone], _timed(given))
    marked = rows.withWatermark(f"{TIME}_{name}", f"{delay + MOMENT} microseconds")
    return Part(marked, (name,), name)


def _timed(given: Input) -> DataFrame:
    """The rows as one struct, and their time beside it.

    Inside the struct the time is computed: what is a field alone would be taken out, as a second
    column of event time.
    """
    columns = [F.col(quoted(name)) for name in given.df.columns]
    place = given.df.columns.index(given.time)
    computed = F.timestamp_micros(F.unix_micros(columns[place]))
    columns[place] = computed.alias(given.time, metadata=given.df.schema[given.time].metadata)
    time = F.col(quoted(given.time)).alias(f"{TIME}_{given.name}")
    return given.df.select(F.struct(*columns).alias(given.name), time)
