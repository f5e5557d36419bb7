"""The same join of bounded inputs: Spark's own joins, with the windows as conditions."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model.join import JoinQuery
from anabranch.spark.joins.inputs import Input
from anabranch.spark.joins.operator import EVENT_TIME
from anabranch.spark.joins.run import Plan


def batched(plan: Plan) -> DataFrame:
    """One row per combination, as the join of the streams gives."""
    given = {one.name: one for one in plan.inputs}
    source = plan.inputs[0]
    alone = equal(plan.query, source.name, [])
    frame, there = reduce(DataFrame.filter, alone, source.passing()), [source.name]
    for name in plan.query.tree(source.name).parents:
        conditions = [*equal(plan.query, name, there), *near(plan.query, given, name, there)]
        frame = frame.join(given[name].passing(), reduce(Column.__and__, conditions))
        there.append(name)
    latest = F.greatest(*(one.when() for one in plan.inputs))
    streams = [carried(one, plan) for one in plan.inputs]
    return plan.finished(frame.select(*streams, latest.alias(EVENT_TIME)))


def carried(given: Input, plan: Plan) -> Column:
    """What the result has of a stream."""
    columns = [F.col(given.name).getField(c).alias(c) for c in plan.columns[given.name]]
    return F.struct(*columns).alias(given.name)


def equal(query: JoinQuery, name: str, there: Sequence[str]) -> list[Column]:
    """A stream's keys are those of the streams that are there."""
    found = []
    for key in query.keys:
        own = [expression for stream, expression in key if stream == name]
        known = [expression for stream, expression in key if stream in there]
        found += [F.expr(mine) == F.expr(known[0]) for mine in own if known]
        found += [F.expr(mine) == F.expr(own[0]) for mine in own[1:] if not known]
    return found


def near(
    query: JoinQuery, given: dict[str, Input], name: str, there: Sequence[str]
) -> list[Column]:
    """max(all times) - time <= window, pair by pair."""
    windows = {stream.name: stream.window for stream in query.streams}
    times = {other: F.unix_micros(given[other].when()) for other in (*there, name)}
    found = []
    for other in there:
        found.append(times[name] - times[other] <= F.lit(windows[other]))
        found.append(times[other] - times[name] <= F.lit(windows[name]))
    return found
