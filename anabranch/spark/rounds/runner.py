"""One round: the current plan over a micro-batch, what it tells, and the plan for the next."""

import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pyspark.sql import Column, DataFrame

from anabranch.kernel.round_pace import RoundPace
from anabranch.kernel.rounds import RoundBrain
from anabranch.model import Mesh
from anabranch.policies import Opinion
from anabranch.policies.follow import Follow
from anabranch.policies.query_mesh.agree import merged
from anabranch.policies.query_mesh.from_sample import single_from
from anabranch.report import Report, WorkerLog
from anabranch.spark.catalyst import positions, together
from anabranch.spark.collector import Collector, Observer, Postman
from anabranch.spark.compiled import Compiled, looked_up
from anabranch.spark.inflow import attach
from anabranch.spark.planning import as_tree, small_enough
from anabranch.spark.rounds.observed import Count, Sampler, Told, counted
from anabranch.spark.run import Prepared, joined
from anabranch.spark.session import cores
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
    rate: float = 0.0
    memory: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Tee:
    """Delivers to several."""

    observers: tuple[Observer, ...]

    def deliver(self, row: Any) -> None:
        for observer in self.observers:
            observer.deliver(row)


@dataclass(frozen=True)
class Heard:
    """What one round told."""

    rows_in: Count
    native: Told
    workers: Collector
    rows_out: Count


@dataclass
class _Mail:
    """Where what a round observes is delivered to; kept as long as the round runs."""

    postman: Postman
    run: str
    observers: list[Observer] = field(default_factory=list)

    def to(self, part: str, observer: Observer) -> str:
        """The name under which an observer is told."""
        name = f"{self.run}-{part}"
        self.postman.subscribe(name, observer)
        self.observers.append(observer)  # the postman does not keep it
        return name


@dataclass
class Thinker:
    """Looks for plans while rounds go on; at most one at a time."""

    brain: RoundBrain
    pool: ThreadPoolExecutor
    pending: Future[Mesh] | None = None

    def adopted(self, patience: float) -> bool:
        """Before a round: is there a new plan for it, or will there be in so many seconds?"""
        if self.pending is None:
            return False
        if not wait([self.pending], patience).done:
            return False
        mesh, self.pending = self.pending.result(), None
        return self.brain.adopt(mesh).switched

    def _thinking(self, thought: Callable[[], Mesh]) -> Future[Mesh]:
        if not self.brain.quick:
            return self.pool.submit(thought)
        done: Future[Mesh] = Future()
        done.set_result(thought())
        return done

    def take(self, sample: Reservoir) -> str:
        """After a round: what has drifted; a search begins if there is evidence for one."""
        drift = self.brain.take(sample)
        if self.pending is None and self.brain.is_due():
            self.pending = self._thinking(self.brain.thought())
        return drift


def plan_text(plan: Mesh) -> str:
    """The plan of a round as a text of the history: all stages, and rules where there are any."""
    stages = {"native": plan.before, "": plan, "behind": plan.behind}
    lines = []
    for title, mesh in stages.items():
        if mesh is not None and len(mesh.query):
            shown = mesh.rules() or str(mesh).splitlines()
            lines += [f"{title} {line}" if title else line for line in shown]
    return "\n".join(lines)


@dataclass
class Runner:
    """Runs rounds, one after the other."""

    staged: Staged
    prepared: Prepared
    compiled: Compiled
    native: RoundBrain
    fused: RoundBrain
    write: Write
    postman: Postman
    sampler: Sampler | None  # of the native predicates, if there are several
    seed: int
    total: Collector = field(init=False)  # of all rounds
    rows: int = 0  # of the last round
    seconds: float = 0.0  # that it took

    def __post_init__(self) -> None:
        self.total = Collector(len(self.fused.query))
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="anabranch-rounds")
        self._current: Mesh | None = None
        self._positions: list[Column] = []
        self._filter: Column | None = None  # all of them
        self._pace = RoundPace()  # of native predicates
        self._sampled = self._curious = False
        self._began: float | None = None  # the round before
        self._at_once = 1  # tasks
        self._thinkers = [Thinker(brain, self._pool) for brain in (self.native, self.fused)]

    def run(self, batch: DataFrame, number: int) -> Round:
        """Let the user write the rows of a micro-batch that pass, and learn from what that told."""
        begin, self._at_once = time.monotonic(), cores(batch.sparkSession)
        heard = Heard(Count(), Told(self.staged.before), Collector(len(self.fused.query)), Count())
        mail = _Mail(self.postman, f"anabranch-round-{uuid.uuid4().hex}")
        switched = [thinker.adopted(PATIENCE * self.seconds) for thinker in self._thinkers]
        if switched[0]:
            self.native.use(self._compilable(batch))
        plan = self.plan()
        below = self._below(counted(batch, mail.to("in", heard.rows_in)), number, mail, heard)
        below = looked_up(below, self.compiled)
        if self.staged.stages.fused:
            run = mail.to("workers", Tee((heard.workers, self.total)))
            below = attach(below, self._fused(run, number), self.compiled.inputs, mail.postman)
        out = joined(self.staged.behind(below), self.compiled)
        self.write(counted(out, mail.to("out", heard.rows_out)), number)
        mail.postman.wait()
        return self._learned(number, plan, any(switched), heard, begin)

    def _below(self, batch: DataFrame, number: int, mail: "_Mail", heard: Heard) -> DataFrame:
        """The rows that pass what stands before the Python stage."""
        below = batch
        if self._current is not self.native.mesh:
            conditions = self.staged.before.conditions
            self._positions = positions(self.native.mesh, conditions, below)
            query = self.native.query
            self._filter = together(query, self._positions) if self._positions else None
            self._current = self.native.mesh
        self._curious = self.native.curious
        self._sampled = self.sampler is not None and self._pace.is_due(self._curious)
        if self.sampler is not None and self._sampled:
            name, rate = mail.to("native", heard.native), self._rate(self.native)
            seed = self.seed + number
            unspelled = self.native.unspelled()
            return self.sampler.applied(below, self._positions, rate, seed, name, unspelled)
        return below.filter(self._filter) if self._filter is not None else below

    def _compilable(self, below: DataFrame) -> Mesh:
        """The new plan for native predicates as Spark can run it: a tree that the JVM compiles."""
        sample, conditions = self.native.window, self.staged.before.conditions
        tree = as_tree(self.native.mesh, sample, self.seed).worded(self.native.words)
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
        eager = LEAST_ROWS if self.fused.curious and self.fused.learns else 0
        policy = Follow(self._rate(self.fused), eager=eager, seed=self.seed + number)
        return Fused(
            name,
            self.fused.query,
            self.compiled.predicates,
            policy,
            self.fused.mesh,
            self.seed + number,
            self.compiled.attributes,
        )

    def _rate(self, brain: RoundBrain) -> float:
        if not brain.learns:
            return 0.0
        least = CURIOUS if brain.curious else CALM
        return min(1.0, max(least, LEAST_ROWS / self.rows)) if self.rows else least

    def _learned(
        self, number: int, plan: Mesh, switched: bool, heard: Heard, begin: float
    ) -> Round:
        log = heard.workers.log()
        samples = heard.native.sample, self._sample(log)
        self.native.spell(heard.native.words)
        self.fused.spell(log.words)
        report = Report.of(self.fused.query, log, "", self.prepared.policy.name)
        self.rows, rows_out = heard.rows_in.rows or 0, heard.rows_out.rows or 0
        self.seconds = time.monotonic() - begin
        lasted, between = self._lasted(begin), _between(report, rows_out)
        self.native.arrived(self.rows, lasted, self._at_once)
        self.fused.arrived(report.rows_in, lasted, len(log.rows))
        for brain in (self.native, self.fused):
            brain.measured(number, rows_out, self.seconds, between)
        drifts = [
            thinker.take(sample) for thinker, sample in zip(self._thinkers, samples, strict=True)
        ]
        self._pace.took(self._sampled, self.rows, self.seconds, self._curious)
        return Round(
            number,
            plan_text(plan),
            self.rows,
            rows_out,
            sum(report.evaluations.values()),
            self.seconds,
            switched,
            "; ".join(filter(None, drifts)),
            rows_out / max(self.seconds, lasted),
            self.rows / lasted * self.seconds + between,
        )

    def _lasted(self, begin: float) -> float:
        """Seconds since the round before began; of the first one those that it took itself."""
        before, self._began = self._began, begin
        return max(self.seconds if before is None else begin - before, 1e-9)

    def state(self) -> dict[str, Any]:
        """All that it knows, as plain data."""
        return {
            "rows": self.rows,
            "native": self.native.to_dict(),
            "fused": self.fused.to_dict(),
        }

    def restore(self, state: Mapping[str, Any]) -> bool:
        """Go on with that; False if it was learned in another way."""
        brains = {"native": self.native, "fused": self.fused}
        known = [brain.restore(state[name]) for name, brain in brains.items()]
        self.rows = int(state["rows"])
        return all(known)

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


def _between(report: Report, rows_out: int) -> int:
    """Rows that were handed from one Python operator to the next, or out of the last."""
    asked = sum(report.evaluations.values()) - sum(report.profiling.values())
    return max(asked - report.rows_in, 0) + rows_out
