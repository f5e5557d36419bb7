"""Anabranch, as it comes, and with a plan that was made before."""

from pyspark.sql import SparkSession

import anabranch as ab
from anabranch.bench.peers.peer import Peer, arrow_udf_of, counted, register
from anabranch.bench.peers.task import Result, Task


@register
class Ours(Peer):
    """`auto` with its defaults; every run learns from nothing."""

    name = "Anabranch"

    def query(self, task: Task) -> ab.Query:
        query = ab.query(self.spark.read.parquet(str(task.files)))
        for predicate in task.predicates:
            if predicate.native:
                query = query.where(predicate.spark, name=predicate.name)
            else:
                judge = predicate.row or arrow_udf_of(predicate)
                query = query.where(judge, *predicate.columns, name=predicate.name)
        for lookup in task.lookups:
            table = self.spark.read.parquet(str(lookup.path))
            query = query.lookup(table, on=lookup.column, name=lookup.name)
        return query

    def run(self, task: Task) -> Result:
        return counted(self.query(task).run().df)


@register
class Planned(Ours):
    """Native predicates under a plan from an earlier run, as for a job that runs every night."""

    name = "Anabranch, plan kept"

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._plan: ab.Mesh | None = None

    def cannot(self, task: Task) -> str:
        return "" if task.native else "learns in the run"

    def run(self, task: Task) -> Result:
        query = self.query(task)
        self._plan = self._plan or query.run(sample=ab.Sample(least_megabytes=0, share=None)).plan()
        return counted(query.run(start=self._plan).df)
