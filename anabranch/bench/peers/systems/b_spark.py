"""PySpark: as anybody writes it, and tuned by hand by somebody who knows the best order."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from anabranch.bench.peers.peer import Peer, arrow_udf_of, counted, looked_up, register
from anabranch.bench.peers.task import Predicate, Result, Task


def _condition(predicate: Predicate, barrier: bool = False) -> Column:
    if predicate.native:
        return F.expr(predicate.spark)
    udf: Any
    if predicate.row is not None:
        udf = F.udf(predicate.row, "boolean", useArrow=True)
    else:
        udf = arrow_udf_of(predicate)
    if barrier:
        udf = udf.asNondeterministic()
    condition: Column = udf(*predicate.columns)
    return condition


@register
class Plain(Peer):
    """One filter with all conditions: Spark evaluates every Python function on every row."""

    name = "PySpark"

    def run(self, task: Task) -> Result:
        df = self.spark.read.parquet(str(task.files))
        whole = reduce(lambda a, b: a & b, [_condition(p) for p in task.predicates])
        return counted(looked_up(self.spark, df.filter(whole), task))


@register
class Nested(Peer):
    """Lookups first, inside Spark, then a filter for each condition, in the best order; Spark moves
    nothing across a function that it takes for random, so that each sees only what is left."""

    name = "PySpark, best order, barriers"

    def run(self, task: Task) -> Result:
        df = looked_up(self.spark, self.spark.read.parquet(str(task.files)), task)
        for predicate in task.ordered():
            df = df.filter(_condition(predicate, barrier=True))
        return counted(df)


@register
class OneFunction(Peer):
    """Lookups first, then all functions of a row in one, `a(x) and b(y) and ...` in the best order;
    those of arrays behind it."""

    name = "PySpark, best order, one function"

    def cannot(self, task: Task) -> str:
        rows = [predicate for predicate in task.predicates if predicate.row is not None]
        return "" if len(rows) > 1 else "for functions of a row only"

    def run(self, task: Task) -> Result:
        df = looked_up(self.spark, self.spark.read.parquet(str(task.files)), task)
        ordered = task.ordered()
        rows = [predicate for predicate in ordered if predicate.row is not None]
        columns = list(dict.fromkeys(c for predicate in rows for c in predicate.columns))
        whole = F.udf(_conjunction(rows, columns), "boolean", useArrow=True)
        df = df.filter(whole.asNondeterministic()(*columns))
        for predicate in ordered:
            if predicate not in rows:
                df = df.filter(_condition(predicate, barrier=True))
        return counted(df)


def _conjunction(rows: Sequence[Predicate], columns: Sequence[str]) -> Callable[..., bool]:
    """What somebody would write by hand: a lambda with one call after the other.

    >>> even, small = (Predicate("even", ("x",), row=lambda x: x % 2 == 0),
    ...                Predicate("less", ("x", "y"), row=lambda x, y: x < y))
    >>> judge = _conjunction([even, small], ["x", "y"])
    >>> judge(2, 3), judge(3, 4), judge(4, 1)
    (True, False, False)
    """
    names = {column: f"v{place}" for place, column in enumerate(columns)}
    calls = [
        f"f{place}({', '.join(names[c] for c in predicate.columns)})"
        for place, predicate in enumerate(rows)
    ]
    known = {f"f{place}": predicate.row for place, predicate in enumerate(rows)}
    judge: Callable[..., bool] = eval(
        f"lambda {', '.join(names.values())}: {' and '.join(calls)}", known
    )
    return judge
