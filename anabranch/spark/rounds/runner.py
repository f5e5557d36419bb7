"""One round: the current plan over a micro-batch, what it tells, and the plan for the next."""

import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame

from anabranch.kernel.rounds import RoundBrain
from anabranch.model import Mesh
from anabranch.policies import Opinion
from anabranch.policies.follow import Follow
from anabranch.policies.query_mesh.agree import merged
from anabranch.policies.query_mesh.from_sample import single_from
from anabranch.report import Report, WorkerLog
from anabranch.spark.collector import Collector, Observer, Postman
from anabranch.spark.inflow import attach
from anabranch.spark.native_stage import filtered
from anabranch.spark.planning import as_tree, small_enough
from anabranch.spark.rounds.observed import Observed, observed
from anabranch.spark.run import Prepared, joined
from anabranch.spark.stages import Compiled
from anabranch.spark.staging import Staged
from anabranch.spark.worker import Fused
from anabranch.stats import Reservoir

Write = Callable[[DataFrame, int], Any]

# Rows of a round that are sampled, as a share of them, in calm and as long as little is known.
CALM, CURIOUS = 0.002, 0.02
# At least so many rows are aimed at, if the round before tells how many there may be.
LEAST_ROWS = 100
# A round waits for a plan that is looked for, for this share of what the last one took.
PATIENCE = 0.02


@dataclass(frozen=True)
class Round:
    """What happened in a round, as a row of the history."""

    round: int
    plan: str
    rows: int
    rows_out: int
    evaluations: int
    seconds: float
    switched: bool
    drift: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Tee:
    """Delivers to several."""

    observers: tuple[Observer, ...]

    def deliver(self, row: Any) -> None:
        for observer in self.observers:
            observer.deliver(row)


@dataclass
class Thinker:
    """Looks for plans while rounds go on; at most one at a time."""

    brain: RoundBrain
    pool: ThreadPoolExecutor
    pending: Future[Mesh] | None = None

    def adopted(self, patience: float) -> bool:
        """Before a round: is there a new plan for it, or will there be in so many seconds?"""
        if self.pending is None or not wait([self.pending], patience).done:
            return False
        mesh, self.pending = self.pending.result(), None
        return self.brain.adopt(mesh).switched

    def take(self, sample: Reservoir) -> str:
        """After a round: what has drifted; a search begins if there is evidence for one."""
        drift = self.brain.take(sample)
        if self.pending is None and self.brain.is_due():
            self.pending = self.pool.submit(self.brain.thought())
        return drift


@dataclass
class Runner:
    """Runs rounds, one after the other."""

    staged: Staged
    prepared: Prepared
    compiled: Compiled
    native: RoundBrain
    fused: RoundBrain
    write: Write
    seed: int
    total: Collector = field(init=False)  # of all rounds
    rows: int = 0  # of the last round
    seconds: float = 0.0  # that it took

    def __post_init__(self) -> None:
        self.total = Collector(len(self.fused.query))
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="anabranch-rounds")
        self._thinkers = [Thinker(brain, self._pool) for brain in (self.native, self.fused)]

    def run(self, batch: DataFrame, number: int) -> Round:
        """Let the user write the rows of a micro-batch that pass, and learn from what that told."""
        begin = time.monotonic()
        name = f"anabranch-round-{uuid.uuid4().hex}"
        postman = Postman.of(batch.sparkSession)
        natives, workers = Observed(self.staged.before), Collector(len(self.fused.query))
        switched = [thinker.adopted(PATIENCE * self.seconds) for thinker in self._thinkers]
        below = filtered(batch, self.staged.stages.first)
        if switched[0]:
            self.native.mesh = self._compilable(below)
        plan = self.plan()
        if len(self.staged.before.query) > 1:
            postman.subscribe(f"{name}-native", natives)
            rate = self._rate(self.native)
            below = observed(below, self.staged.before, rate, self.seed + number, f"{name}-native")
        below = self.staged.before.applied(below, self.native.mesh)
        if self.staged.stages.fused:
            both = Tee((workers, self.total))
            postman.subscribe(name, both)
            below = attach(below, self._fused(name, number), self.compiled.inputs)
        self.write(joined(self.staged.behind(below), self.compiled), number)
        postman.wait()
        return self._learned(number, plan, any(switched), natives, workers.log(), begin)

    def _compilable(self, below: DataFrame) -> Mesh:
        """The new plan for native predicates as Spark can run it: a tree that the JVM compiles."""
        sample, conditions = self.native.window, self.staged.before.conditions
        tree = as_tree(self.native.mesh, sample, self.seed)
        fitting = small_enough(tree, sample, conditions, below)
        return fitting or single_from(self.native.query, sample)

    def plan(self, told: bool = False) -> Mesh:
        """The plan of the next round; if it is to be told, with what is known of operators."""
        native, fused = (
            brain.told() if told else brain.mesh for brain in (self.native, self.fused)
        )
        before = replace(self.staged.plans[0], mesh=native)
        return replace(self.staged, plans=(before, self.staged.plans[1])).plan(fused)

    def _fused(self, name: str, number: int) -> Fused:
        eager = LEAST_ROWS if self.fused.curious else 0
        policy = Follow(self._rate(self.fused), eager=eager, seed=self.seed + number)
        return Fused(
            name,
            self.fused.query,
            self.compiled.predicates,
            policy,
            self.fused.mesh,
            self.seed + number,
            self.compiled.attributes,
            self.compiled.words,
        )

    def _rate(self, brain: RoundBrain) -> float:
        least = CURIOUS if brain.curious else CALM
        return min(1.0, max(least, LEAST_ROWS / self.rows)) if self.rows else least

    def _learned(
        self,
        number: int,
        plan: Mesh,
        switched: bool,
        natives: Observed,
        log: WorkerLog,
        begin: float,
    ) -> Round:
        samples = natives.sample, self._sample(log)
        drifts = [
            thinker.take(sample) for thinker, sample in zip(self._thinkers, samples, strict=True)
        ]
        report = Report.of(self.fused.query, log, "", self.prepared.policy.name)
        self.rows = natives.rows or report.rows_in
        self.seconds = time.monotonic() - begin
        return Round(
            number,
            str(plan),
            self.rows,
            report.rows_out,
            sum(report.evaluations.values()),
            self.seconds,
            switched,
            "; ".join(filter(None, drifts)),
        )

    def close(self) -> None:
        """No more rounds."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _sample(self, log: WorkerLog) -> Reservoir:
        """Of all workers in this round."""
        query = self.fused.query
        told = [
            Opinion(rows, self.fused.mesh, evidence)
            for rows, _, evidence in log.opinions()
            if evidence
        ]
        return merged(query, told, self.seed) if told else Reservoir(0, len(query))
