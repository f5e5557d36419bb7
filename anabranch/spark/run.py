"""A run: a query compiled into a DataFrame, and what is known of it so far."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model import Attribute, InputError, Mesh, Query
from anabranch.policies import Policy
from anabranch.report import Report
from anabranch.spark.attributes import as_spelled, choose, describe, encoder, possible
from anabranch.spark.collector import Collector, Postman
from anabranch.spark.compiled import Compiled, compile_stages, looked_up
from anabranch.spark.inflow import attach
from anabranch.spark.pilot import agreed, fly, learns_here, opinions
from anabranch.spark.predicates import Conversion
from anabranch.spark.sampling import Sample
from anabranch.spark.stages import Declared, Stages, split
from anabranch.spark.staging import inside_spark, staged, unlooked
from anabranch.spark.worker import Fused


class Run:
    """The DataFrame of a query under a policy, with its report and its learned plan.

    Nothing but a bounded sample has been read when a run is made; `report` and `plan` tell of all
    actions and micro-batches since.
    """

    df: DataFrame

    def __init__(
        self,
        source: DataFrame,
        declared: Sequence[Declared],
        policy: Policy,
        start: Mesh | None = None,
        seed: int = 0,
        attributes: Sequence[str] | None = None,
        learn: str = "worker",
        sample: Sample | None = None,
    ) -> None:
        inside = inside_spark(declared, policy, start)
        stages = split(declared, inside=inside)
        own = start if stages.fused or not len(stages.before) else None
        prepared = prepare(source, stages, policy, own, attributes)
        prepared.bind(own)  # refuse what cannot work before any table is read
        pilot = learns_here(learn, policy, source)
        session = source.sparkSession
        self._id = f"anabranch-{uuid.uuid4().hex}"
        self.policy = policy
        self.query = prepared.query
        self._prepared, self._start = prepared, own
        self._streaming = source.isStreaming
        self._collector = Collector(len(stages.query))
        self._postman = Postman.of(session)
        self._postman.subscribe(self._id, self._collector)
        conversion = Conversion.of(session.conf.get)
        live = not self._streaming
        compiled = compile_stages(stages, conversion, prepared.attributes, live)
        self._staged = staged(
            source, declared, compiled, policy, start, attributes, sample, seed, inside
        )
        below = self._staged.below(source)
        if pilot is not None and own is None and len(prepared.query) > 1:
            # Before lookups that are no guards: few rows may pass them, and many would be read.
            seen = looked_up(below, compiled, stages.guards())
            own = self._start = fly(seen, compiled, pilot, prepared.query, seed)
        below = looked_up(below, compiled)
        fused = Fused(
            self._id,
            prepared.query,
            compiled.predicates,
            prepared.policy,
            own,
            seed,
            compiled.attributes,
        )
        if stages.fused:
            below = attach(below, fused, compiled.inputs, self._postman)
        self.df = joined(self._staged.behind(below), compiled)

    def report(self) -> Report:
        """What happened so far, over all actions on `df` that have ended."""
        complete = self._postman.wait()
        log = self._collector.log()
        told, mesh = opinions(self.query, log), None
        if any(opinion.plan.classifier is not None for opinion in told):
            best = self._prepared.policy.agree(self.query, told, search=False)
            mesh = best.worded(log.words) if best else None
        return Report.of(self.query, log, self._scope(complete), self.policy.name, mesh)

    def _scope(self, complete: bool) -> str:
        if not self._staged.stages.fused:
            return "nothing to observe: Spark runs all predicates itself"
        done = self._collector.deliveries
        noun = "micro-batch" if self._streaming else "action"
        plural = "" if done == 1 else "es" if self._streaming else "s"
        scope = f"{done} {noun}{plural}" if done else f"no {noun} yet"
        if self._collector.partial():
            scope += ", partial: not all rows were read"
        return scope if complete else f"{scope}, more is on its way"

    def plan(self) -> Mesh:
        """The order that most rows follow now, with what was measured of each operator.

        With a policy that routes by content: all routes and the classifier. `mesh` and `auto` find
        them anew from the samples of all workers; of others it is the plan of the worker that saw
        most rows. Before the first action it is the plan that the run begins with.
        """
        return self._staged.plan(self._fused_plan())

    def _fused_plan(self) -> Mesh:
        self._postman.wait()
        log = self._collector.log()
        if log.order():
            return agreed(self._prepared.policy, self.query, log)
        begun = self._prepared.bind(self._start).plan()
        known = self._start.figures if self._start else {}
        return replace(begun, figures=begun.figures or known)

    def outline(self) -> list[str]:
        """The stages, a line each, and how the native ones were planned."""
        return [*self._staged.stages.outline(), *self._staged.plans[0].told()]


def begun(source: DataFrame, stages: Stages, policy: Policy) -> Mesh:
    """What a run would begin with, if it did not look at the input."""
    fused = prepare(source, stages, policy).bind().plan()
    return unlooked(source, stages, policy).plan(fused)


@dataclass(frozen=True)
class Prepared:
    """A policy, and the query and attributes that it is to be bound to."""

    policy: Policy
    query: Query
    attributes: list[tuple[Attribute, Column]]

    def bind(self, start: Mesh | None = None) -> Policy:
        return self.policy.bind(self.query, start)


def prepare(
    source: DataFrame,
    stages: Stages,
    policy: Policy,
    start: Mesh | None = None,
    named: Sequence[str] | None = None,
) -> Prepared:
    """Find the attributes that a policy may use; one that uses none has none."""
    if not policy.uses_attributes:
        if named is not None:
            raise InputError(
                "attributes= is for policies that route by content (auto, mesh, content, "
                "content_knows); "
                f'"{policy.name}" does not'
            )
        if isinstance(start, Mesh) and start.celled is not None:
            raise InputError(
                f"start is a plan of {len(start.routes)} routes by "
                f"{', '.join(start.celled.attributes)}, and {policy.name} has one for all rows; "
                "begin with it under mesh, auto or content"
            )
        return Prepared(policy.restricted(stages.query, stages.whole), stages.query, [])
    needed = list(policy.needs())
    if isinstance(start, Mesh) and start.classifier is not None:
        start.check(replace(stages.query, attributes=possible(source)))
        needed += start.classifier.attributes
    labels = [c for operator in stages.query.operators for c in operator.columns]
    preferred = as_spelled(source, labels)
    names = choose(source, named, needed, preferred, policy.most_attributes)
    # With one operator there is nothing to route: nothing need travel.
    routed = len(stages.query) > 1 or needed
    attributes = describe(source, names, preferred) if routed else []
    query = replace(stages.query, attributes=tuple(a for a, _ in attributes))
    own = policy.restricted(stages.query, stages.whole).encoded(encoder(source))
    return Prepared(own, query, attributes)


def joined(df: DataFrame, compiled: Compiled) -> DataFrame:
    """With the columns of the tables that rows are joined with."""
    for table, declared in compiled.joins:
        df = df.join(F.broadcast(table), on=list(declared.keys), how=declared.how)
    return df
