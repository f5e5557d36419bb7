"""PySpark: as anybody writes it, and tuned by hand by somebody who knows the best order."""

from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
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
    """A filter for each condition, in the best order; Spark moves nothing across a function that it
    takes for random, so that each sees only the rows that are left."""

    name = "PySpark, best order, barriers"

    def cannot(self, task: Task) -> str:
        return "" if task.best else "no order is known to be the best"

    def run(self, task: Task) -> Result:
        df = self.spark.read.parquet(str(task.files))
        lookups = {lookup.name: lookup for lookup in task.lookups}
        predicates = {predicate.name: predicate for predicate in task.predicates}
        for name in task.best:
            if name in lookups:
                table = self.spark.read.parquet(str(lookups[name].path))
                df = df.join(F.broadcast(table), lookups[name].column, "leftsemi")
            else:
                df = df.filter(_condition(predicates[name], barrier=True))
        return counted(df)


@register
class OneFunction(Peer):
    """All functions of a row in one, in the best order, which stops at the first that says no."""

    name = "PySpark, best order, one function"

    def cannot(self, task: Task) -> str:
        if not task.best:
            return "no order is known to be the best"
        if not all(predicate.row for predicate in task.predicates):
            return "for functions of a row only"
        return ""

    def run(self, task: Task) -> Result:
        df: DataFrame = self.spark.read.parquet(str(task.files))
        ordered = task.ordered()
        columns = list(dict.fromkeys(c for predicate in ordered for c in predicate.columns))
        steps = [(p.row, [columns.index(c) for c in p.columns]) for p in ordered]

        def judge(*values: Any) -> bool:
            return all(f(*[values[i] for i in places]) for f, places in steps if f is not None)

        whole = F.udf(judge, "boolean", useArrow=True)(*columns)
        return counted(looked_up(self.spark, df.filter(whole), task))
