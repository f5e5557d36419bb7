"""One bounded look at an input: what native predicates make of sampled rows, and what they take."""

import math
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model import NULL, Query
from anabranch.spark.attributes import numbers
from anabranch.spark.catalyst import Conditions, chain
from anabranch.spark.sampling import Sample, heads, megabytes, tells_its_rows
from anabranch.spark.session import cores, is_connect
from anabranch.spark.stopwatch import (
    Bits,
    Floats,
    Timed,
    enough,
    glance,
    lotted,
    share_of,
    timed,
    usual,
)
from anabranch.stats import Reservoir

# Of the seconds, this share goes into comparing plans.
COMPARING = 0.3
# So many times these seconds reading the sample may take.
READING = 2.0


@dataclass(frozen=True)
class Look:
    """A cached sample, and every native predicate timed on every row of it."""

    source: DataFrame
    some: DataFrame
    query: Query
    timed: Timed
    values: Mapping[str, Floats]  # of the attributes
    seed: int
    begun: float
    budget: float = 0.0  # seconds for timing, plans that are compared included
    reason: str = ""  # why there are no rows

    @classmethod
    def at_nothing(
        cls, source: DataFrame, whole: DataFrame, query: Query, seed: int, begun: float
    ) -> "Look":
        none = np.zeros((0, len(query)))
        return cls(source, whole, query, Timed(none.astype(bool), none), {}, seed, begun)

    @property
    def rows(self) -> int:
        return len(self.timed.passed)

    @property
    def learned(self) -> NDArray[np.bool_]:
        """Which rows are there to learn from; the others are there to compare by."""
        return np.asarray(np.random.default_rng(self.seed).permutation(self.rows) % 2 == 0)

    def reservoir(self, query: Query) -> Reservoir:
        """The rows to learn from, for a query of some of the predicates."""
        rows = self.learned
        places = [self.query.index(name) for name in query.names]
        values = [self.values[attribute.name] for attribute in query.attributes]
        sample = Reservoir(len(values), len(query), max(int(rows.sum()), 1))
        stacked = np.column_stack(values) if values else np.zeros((self.rows, 0))
        seconds = usual(self.timed.seconds)
        dropped = ~self.timed.passed[:, places]
        sample.update(stacked[rows], dropped[rows], seconds[:, places][rows])
        return sample

    @property
    def measurable(self) -> DataFrame:
        """Where the code of a plan can be measured.

        On the sample, whose code is the plan's alone, and for which nothing has to run. A Connect
        server only tells of plans that it does not adapt, as those over the input may be.
        """
        return self.source if is_connect(self.source) else self.some

    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.begun


@contextmanager
def looking(
    source: DataFrame, query: Query, conditions: Conditions, spec: Sample, seed: int
) -> Iterator[Look]:
    """The sample is cached meanwhile."""
    begun = time.monotonic()
    # In one partition: the JVM's compilers need processors of their own, and there is one JVM to
    # warm up.
    whole = lotted(heads(source, spec.rows, seed).repartition(1), seed).persist()
    try:
        yield _looked(Look.at_nothing(source, whole, query, seed, begun), conditions, spec)
    finally:
        whole.unpersist()


def _looked(nothing: Look, conditions: Conditions, spec: Sample) -> Look:
    """At as many rows, and for as long, as the job is worth."""
    source, whole, query = nothing.source, nothing.some, nothing.query
    rows = _counted(whole, READING * spec.seconds)
    if rows is None:
        return replace(nothing, reason="reading a sample takes too long")
    if not rows:
        return nothing
    predicates = guarded(query, conditions)
    seen = glance(whole, predicates, rows, spec.seconds)
    many = _expected(nothing, rows, spec) if spec.share is not None else math.inf
    job = many * cost_as_written(query, seen) / cores(source.sparkSession)
    budget = spec.worth(job)
    if not budget:
        return replace(nothing, reason=f"they are expected to take {job:.1f} s")
    some = share_of(whole, enough(seen, rows, (1 - COMPARING) * budget))
    looked = timed(some, predicates, (1 - COMPARING) * budget)
    values = _values(some, [attribute.name for attribute in query.attributes])
    seconds = without_guards(query, looked.passed, looked.seconds)
    known = replace(looked, seconds=seconds)
    return replace(nothing, some=some, timed=known, values=values, budget=budget)


def _expected(nothing: Look, rows: int, spec: Sample) -> float:
    """How many rows the input has, about: files may say, else it is told by what is cached.

    That is too many where only some rows and columns of a file are asked for.
    """
    if tells_its_rows(nothing.source):
        counted = _counted(nothing.source, spec.seconds)
        if counted is not None:
            return counted
    return rows * megabytes(nothing.source) / max(megabytes(nothing.some.select("*")), 1e-6)


def cost_as_written(query: Query, seen: Timed) -> float:
    """Seconds per row if predicates run in the order written; a few dear rows may make most of it.

    >>> from anabranch.model import Operator
    >>> seen = Timed(np.array([[True, True], [False, True]]), np.array([[1.0, 0.0], [1.0, 8.0]]))
    >>> round(cost_as_written(Query((Operator("a"), Operator("b"))), seen), 1)
    3.0
    """
    if not len(seen.passed):
        return 0.0
    alone = usual(without_guards(query, seen.passed, seen.seconds)).mean(axis=0)
    order = [query.index(name) for name in query.written()]
    reached = np.ones((len(seen.passed), len(order)), bool)
    reached[:, 1:] = np.logical_and.accumulate(seen.passed[:, order], axis=1)[:, :-1]
    return float((reached.mean(axis=0) * alone[order]).sum())


def _counted(sample: DataFrame, seconds: float) -> int | None:
    """Count rows, those of a sample into the cache; None if that takes longer than so many seconds.

    The rows of an input may be dear, or rare behind filters.
    """
    session, tag = sample.sparkSession, f"anabranch-look-{uuid.uuid4().hex}"
    # A classic session knows the tags of a thread only in that thread; its context knows all.
    context: Any = session if is_connect(session) else session.sparkContext
    add, remove, cancel = (
        (context.addTag, context.removeTag, context.interruptTag)
        if is_connect(session)
        else (context.addJobTag, context.removeJobTag, context.cancelJobsWithTag)
    )
    late = threading.Event()

    def interrupt() -> None:
        late.set()
        cancel(tag)

    timer = threading.Timer(seconds, interrupt)
    add(tag)
    timer.start()
    try:
        rows = sample.count()
        return None if late.is_set() else rows
    except (Py4JJavaError, PySparkException):
        if not late.is_set():
            raise
        return None
    finally:
        timer.cancel()
        remove(tag)


def _values(some: DataFrame, names: Sequence[str]) -> dict[str, Floats]:
    """The numbers that stand for attributes' values."""
    if not names:
        return {}
    columns = [column.alias(f"v{i}") for i, column in enumerate(numbers(some, names).values())]
    told = some.select(*columns).toArrow()
    return {
        name: np.asarray(told.column(i).fill_null(NULL).to_numpy(), float)
        for i, name in enumerate(names)
    }


def guarded(query: Query, conditions: Conditions) -> list[Column]:
    """Each predicate, asked only where its guards hold; elsewhere it drops nothing."""
    written, predicates = query.written(), []
    for name, guards in zip(query.names, query.guards, strict=True):
        before = [conditions[other] for other in written if query.index(other) in guards]
        own = conditions[name]
        predicates.append(F.when(chain(before), own).otherwise(F.lit(True)) if before else own)
    return predicates


def without_guards(query: Query, passed: Bits, seconds: Floats) -> Floats:
    """What each predicate takes alone; measured was what it takes with its guards.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b", after=("a",)), Operator("c", after=("b",))))
    >>> passed, seconds = np.array([[True, True, True]] * 2), np.array([[1.0, 3.0, 6.0]] * 2)
    >>> without_guards(query, passed, seconds)[0].tolist()
    [1.0, 2.0, 3.0]
    """
    alone = seconds.copy()
    for i in map(query.index, query.written()):  # guards come first
        theirs = sorted(query.guards[i])
        if theirs:
            asked = passed[:, theirs].all(axis=1)
            own = np.maximum(seconds[asked, i] - alone[:, theirs].sum(axis=1)[asked], 0.0)
            alone[asked, i] = own
            alone[~asked, i] = own.mean() if asked.any() else 0.0
    return alone
