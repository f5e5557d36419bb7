"""Learning on the driver: one bounded sample before the job, one plan for all workers."""

import uuid
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model import Attribute, InputError, Mesh, Query
from anabranch.policies import Opinion, Policy
from anabranch.policies.base import Bits, Floats
from anabranch.policies.query_mesh import Pilot, QueryMesh
from anabranch.policies.query_mesh.agree import costs_of, merged
from anabranch.report import Report, WorkerLog
from anabranch.spark.collector import Collector, Postman
from anabranch.spark.compiled import Compiled
from anabranch.spark.inflow import attach
from anabranch.spark.sampling import sample, tasks_for
from anabranch.spark.session import cores
from anabranch.spark.worker import Fused

# Rows of the sample, or fewer where predicates would take longer than so many seconds; a first look
# at so many rows tells.
ROWS, SECONDS, FIRST_ROWS = 2_000, 5.0, 100
# Cores from which on learning apart is waste: see `anabranch bench mesh workers`.
MANY_WORKERS = 64


def learns_here(learn: str, policy: Policy, source: DataFrame) -> QueryMesh | None:
    """The policy if it is to learn on the driver; what cannot be is refused."""
    able = isinstance(policy, QueryMesh)
    if learn == "auto":
        many = cores(source.sparkSession) >= MANY_WORKERS
        learn = "driver" if able and many and not source.isStreaming else "worker"
    if learn == "worker":
        return None
    if not isinstance(policy, QueryMesh):
        raise InputError(
            f'learn="driver" is for the policies mesh and auto; {policy.name} learns in the workers'
        )
    if source.isStreaming:
        raise InputError(
            'learn="driver" needs a sample before the job, which a stream does not give; use '
            'learn="worker", or a plan from an earlier run as start='
        )
    return policy


def fly(source: DataFrame, compiled: Compiled, policy: QueryMesh, query: Query, seed: int) -> Mesh:
    """The plan that a bounded sample of the input gives: so many rows, or seconds of predicates."""
    pilot = Pilot.of(policy, ROWS)
    log = _sampled(source, compiled, pilot, query, seed)
    plan = agreed(pilot, query, log)
    # So few rows are dominated by first calls, which may load a model: the plan has what is usual.
    costs = dict(zip(query.names, _costs(query, log).tolist(), strict=True))
    figures = {name: {**told, "cost": costs[name]} for name, told in plan.figures.items()}
    return replace(plan, figures=figures)


def joint(
    source: DataFrame, compiled: Compiled, query: Query, others: Sequence[Column], seed: int
) -> tuple[Bits, Floats]:
    """Which rows of a sample the operators, then the other predicates, drop; and what these take.

    Of the other predicates the cost is not measured here.
    """
    count = len(compiled.inputs)
    told = [Attribute(f"other {i}") for i in range(len(others))]
    numbers = [F.coalesce(column.cast("double"), F.lit(0.0)) for column in others]
    wider = replace(
        compiled,
        inputs=[*compiled.inputs, *numbers],
        attributes={attribute.name: count + i for i, attribute in enumerate(told)},
    )
    seen = replace(query, attributes=tuple(told))
    log = _sampled(source, wider, Pilot.of(QueryMesh(), ROWS), seen, seed)
    known = [opinion for opinion in opinions(seen, log) if opinion.evidence]
    sample = merged(seen, known, seed)
    return np.column_stack([sample.bits, sample.values == 0.0]), _costs(seen, log)


def _sampled(
    source: DataFrame, compiled: Compiled, pilot: Pilot, query: Query, seed: int
) -> WorkerLog:
    """What the pilot tells of a bounded sample."""
    some = sample(source, compiled.inputs, ROWS, seed).persist()
    try:
        log = _flown(some.limit(FIRST_ROWS), compiled, pilot, query, seed)
        row = float(_costs(query, log).sum())
        rows = int(min(ROWS, SECONDS / max(row, 1e-9)))
        if log.total.rows_in and rows > FIRST_ROWS:
            # The sample is in one partition: more tasks share the predicates.
            spread = some.limit(rows).repartition(tasks_for(source, rows))
            log = _flown(spread, compiled, pilot, query, seed)
    finally:
        some.unpersist()
    return log


def _costs(query: Query, log: WorkerLog) -> Floats:
    """Seconds per row of each operator, as was usual; all alike if nothing was timed."""
    told = [opinion for opinion in opinions(query, log) if opinion.evidence]
    return costs_of(merged(query, told, 0)) if told else np.ones(len(query))


def _flown(rows: DataFrame, compiled: Compiled, pilot: Pilot, query: Query, seed: int) -> WorkerLog:
    """What the pilot tells of some rows."""
    run = f"anabranch-pilot-{uuid.uuid4().hex}"
    fused = Fused(run, query, compiled.predicates, pilot, None, seed, compiled.attributes)
    collector, postman = Collector(len(query)), Postman.of(rows.sparkSession)
    postman.subscribe(run, collector)
    attach(rows, fused, [F.col(name) for name in rows.columns], postman).count()
    postman.wait()
    return collector.log()


def agreed(policy: Policy, query: Query, log: WorkerLog) -> Mesh:
    """One plan for all workers, with the figures behind it, from what they told."""
    report = Report.of(query, log, "", policy.name)
    figures = {
        name: {"cost": report.seconds[name] / rows, "passed": report.passed[name] / rows}
        for name, rows in report.evaluations.items()
        if rows
    }
    newest = log.plan()
    plan = policy.agree(query, opinions(query, log))
    if plan is None and newest is not None:
        plan = Mesh.from_dict(newest).check(query)
    order = report.order or query.written()  # no rows, nothing learned
    return (plan or Mesh.single(query, order)).explained(figures, log.words)


def opinions(query: Query, log: WorkerLog) -> list[Opinion]:
    """What each worker learned."""
    return [
        Opinion(rows, Mesh.from_dict(plan).check(query), evidence)
        for rows, plan, evidence in log.opinions()
    ]
