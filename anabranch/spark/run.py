"""A run: a query compiled into a DataFrame, and what is known of it so far."""

import uuid

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from anabranch.model import InputError, Mesh
from anabranch.policies import Policy
from anabranch.report import Report
from anabranch.spark.collector import Collector, Postman
from anabranch.spark.inflow import attach
from anabranch.spark.predicates import Conversion
from anabranch.spark.stages import Compiled, Stages, compile_stages
from anabranch.spark.worker import Fused


class Run:
    """The DataFrame of a query under a policy, with its report and its learned plan.

    Nothing has executed yet when a run is made; `report` and `plan` tell of all actions and
    micro-batches since.
    """

    df: DataFrame

    def __init__(
        self,
        source: DataFrame,
        stages: Stages,
        policy: Policy,
        start: Mesh | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(source, ClassicDataFrame):
            raise InputError("runs need a classic Spark session; Spark Connect is not built yet")
        policy.bind(stages.query, start)  # refuse what cannot work before any table is read
        session = source.sparkSession
        self._id = f"anabranch-{uuid.uuid4().hex}"
        self.policy = policy
        self._stages, self._start = stages, start
        self._streaming = source.isStreaming
        self._collector = Collector(len(stages.query))
        self._postman = Postman.of(session)
        self._postman.subscribe(self._id, self._collector)
        compiled = compile_stages(stages, Conversion.of(session.conf.get))
        fused = Fused(self._id, stages.query, compiled.predicates, policy, start, seed)
        self.df = _assemble(source, stages, compiled, fused)

    def report(self) -> Report:
        """What happened so far, over all actions on `df` that have ended."""
        complete = self._postman.wait()
        log = self._collector.log()
        return Report.of(self._stages.query, log, self._scope(complete), self.policy.name)

    def _scope(self, complete: bool) -> str:
        if not self._stages.fused:
            return "nothing to observe: no Python predicate, lookup or inner join"
        done = self._collector.deliveries
        noun = "micro-batch" if self._streaming else "action"
        plural = "" if done == 1 else "es" if self._streaming else "s"
        scope = f"{done} {noun}{plural}" if done else f"no {noun} yet"
        if self._collector.partial():
            scope += ", partial: not all rows were read"
        return scope if complete else f"{scope}, more is on its way"

    def plan(self) -> Mesh:
        """The order that most rows follow now, with what was measured of each operator.

        Before the first action it is the plan that the run begins with.
        """
        report = self.report()
        if not report.order:
            return self.policy.bind(self._stages.query, self._start).plan()
        figures = {
            name: {
                "cost": report.seconds[name] / rows,
                "passed": report.passed[name] / rows,
            }
            for name, rows in report.evaluations.items()
            if rows
        }
        return Mesh.single(self._stages.query, report.order, figures)


def _assemble(source: DataFrame, stages: Stages, compiled: Compiled, fused: Fused) -> DataFrame:
    df = source
    for native in stages.before:
        df = df.filter(native.condition)
    if stages.fused:
        df = attach(df, fused, compiled.inputs)
    for native in stages.above:
        df = df.filter(native.condition)
    for table, declared in compiled.joins:
        df = df.join(F.broadcast(table), on=list(declared.keys), how=declared.how)
    return df
