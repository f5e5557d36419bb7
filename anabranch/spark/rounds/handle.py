"""A stream that runs in rounds: how it is started, asked and stopped."""

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, Protocol, TypeVar

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from anabranch.kernel.om_rounds import OmBrain, brain_for
from anabranch.model import AnabranchError, InputError, Mesh, PlanError, Tree
from anabranch.policies import OM, Policy
from anabranch.report import Report
from anabranch.report.charts import OmReport
from anabranch.spark.collector import Postman
from anabranch.spark.compiled import compile_stages
from anabranch.spark.native_stage import filtered
from anabranch.spark.predicates import Conversion
from anabranch.spark.rounds.observed import Sampler
from anabranch.spark.rounds.runner import Round, Runner, Write
from anabranch.spark.rounds.store import Store
from anabranch.spark.run import prepare
from anabranch.spark.stages import Declared, split
from anabranch.spark.staging import given, inside_spark

# Rounds that the history has, the newest: all of them are written with every round.
MOST_ROUNDS = 1_000
SCHEMA = (
    "round long, plan string, rows long, rows_out long, evaluations long, seconds double, "
    "switched boolean, drift string, rate double, memory double"
)
TELLER = "anabranch-listener"
Listener = Callable[[dict[str, Any]], Any]


class Running(Protocol):
    """What runs the rounds of a stream."""

    def run(self, batch: DataFrame, number: int) -> Round:
        """One round."""

    def state(self) -> dict[str, Any]:
        """All that it knows, as plain data."""

    def restore(self, state: Mapping[str, Any]) -> bool:
        """Go on with that; False if it was learned in another way."""

    def close(self) -> None:
        """No more rounds."""


R = TypeVar("R", bound=Running)


class Handle(Generic[R]):
    """A running stream; every micro-batch is a round under one plan for all workers."""

    def __init__(
        self,
        source: DataFrame,
        checkpoint: str,
        identity: Sequence[Mapping[str, Any]],
        make: Callable[[Postman], tuple[R, DataFrame]],
        trigger: str | Mapping[str, Any] | None = None,
        listener: Listener | None = None,
    ) -> None:
        self._session = source.sparkSession
        self._identity = [dict(one) for one in identity]
        self._listener = listener
        self._lock = threading.Lock()
        self._history: list[Round] = []
        self._error: BaseException | None = None
        self._resumed = False
        self._stopped = False
        self._untold: dict[int, Round] = {}
        # Spark's own thread must not wait for what a listener does, nor for a stream that it stops.
        self._teller = ThreadPoolExecutor(1, thread_name_prefix=TELLER)
        self._store = Store(self._session, checkpoint)
        self._check_state(self._store.load())
        self._postman = Postman.of(self._session)
        self._runner, first = make(self._postman)
        stream: Any = first.writeStream.foreachBatch(self._round)
        stream = stream.option("checkpointLocation", checkpoint)
        if trigger is not None:
            stream = stream.trigger(**_trigger(trigger))
        self.query: Any = None
        if listener is not None:
            self._postman.listeners.append(self._progressed)
        try:
            self.query = stream.start()
        except BaseException:
            self._close()
            raise

    def _progressed(self, told: Mapping[str, Any]) -> None:
        """Spark tells of a round that is committed: so do we."""
        if self.query is None or told["id"] != str(self.query.id):
            return
        with self._lock:
            done = self._untold.pop(int(told["batchId"]), None)
        if done is not None:
            self._teller.submit(self._tell, {**done.to_dict(), "spark": told})

    def _tell(self, told: dict[str, Any]) -> None:
        assert self._listener is not None
        try:
            self._listener(told)
        except Exception as error:  # raised to the user by await_termination
            self._error = self._error or error
            self.query.stop()

    def _round(self, batch: DataFrame, number: int) -> None:
        try:
            self._resume(number)
            done = self._runner.run(batch, number)
            with self._lock:
                self._history = [*self._history, done][-MOST_ROUNDS:]
                if self._listener is not None:
                    self._untold[number] = done
            self._store.save(number, self._state())
        except BaseException as error:
            if not self._stopped:  # what ends the stream may interrupt a round
                self._error = self._error or error
            raise

    def _resume(self, number: int) -> None:
        """Before the first round: go on with what was known before it."""
        if self._resumed:
            return
        self._resumed = True
        state = self._store.load(before=number)
        if state is None:
            return
        try:
            known = self._runner.restore(state)
            self._history = [Round(**row) for row in state["history"]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise PlanError(f"damaged state of round {state.get('round')}: {error}") from error
        if not known:
            warnings.warn(
                "the checkpoint's plan was learned under another policy, from other attributes or "
                "with lookups elsewhere; learning begins anew",
                stacklevel=2,
            )

    def _state(self) -> dict[str, Any]:
        return {
            "operators": self._identity,
            **self._runner.state(),
            "history": [done.to_dict() for done in self._history],
        }

    def _check_state(self, state: Mapping[str, Any] | None) -> None:
        if state is None:
            return
        mine = {o["name"]: o for o in self._identity}
        theirs = {o["name"]: o for o in state.get("operators", ())}
        if mine != theirs:
            lines = [f'"{name}" is only in the checkpoint' for name in theirs if name not in mine]
            lines += [f'"{name}" is only in the query' for name in mine if name not in theirs]
            lines += [
                f'"{name}" has changed'
                for name in mine
                if name in theirs and mine[name] != theirs[name]
            ]
            raise PlanError("this checkpoint belongs to another query: " + "; ".join(lines))

    def history(self) -> DataFrame:
        """A row per round, the newest 1,000: plan, rows, evaluations by Python, seconds, drift.

        `rate` is rows out per second of the round, `memory` rows that came while it ran and rows
        between Python operators.
        """
        with self._lock:
            rows = [tuple(done.to_dict().values()) for done in self._history]
        return self._session.createDataFrame(rows, SCHEMA)

    def stop(self) -> None:
        """End the stream; the checkpoint has all that it knows."""
        self._stopped = True
        self.query.stop()
        self._close()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end; an exception of `write`, of `listener` or of a predicate is raised."""
        try:
            ended = self.query.awaitTermination(timeout)
        except StreamingQueryException as error:
            self._close()
            if self._error is not None:
                raise self._error from error
            raise
        if ended is False:
            return False
        self._close()
        if self._error is not None:
            raise self._error
        return True

    def _close(self) -> None:
        """All that Spark has to tell has been told; no thread is left."""
        self._postman.wait()
        # A listener may be what stops the stream.
        self._teller.shutdown(wait=not threading.current_thread().name.startswith(TELLER))
        if self._progressed in self._postman.listeners:
            self._postman.listeners.remove(self._progressed)
        self._runner.close()


class Rounds(Handle[Runner]):
    """One query in rounds."""

    def __init__(
        self,
        source: DataFrame,
        declared: Sequence[Declared],
        write: Write,
        checkpoint: str,
        policy: Policy,
        trigger: str | Mapping[str, Any] | None = None,
        attributes: Sequence[str] | None = None,
        start: Mesh | None = None,
        seed: int = 0,
        listener: Listener | None = None,
    ) -> None:
        check_stream(source, write, checkpoint)
        self.policy = policy

        def make(postman: Postman) -> tuple[Runner, DataFrame]:
            runner = _runner(source, declared, write, policy, attributes, start, seed, postman)
            # Here, where a source can skip what simple comparisons exclude.
            return runner, filtered(source, runner.staged.stages.first)

        identity = [operator.identity() for operator in split(declared).whole.operators]
        super().__init__(source, checkpoint, identity, make, trigger, listener)

    def report(self) -> Report:
        """What happened so far in this process, over all rounds."""
        total = self._runner.total
        done = total.deliveries
        scope = f"{done} action{'' if done == 1 else 's'} in rounds"
        return Report.of(self._runner.fused.query, total.log(), scope, self.policy.name)

    def plan(self) -> Mesh:
        """The plan of the next round."""
        return self._runner.plan(told=True)

    def chart(self) -> OmReport:
        """Under OM: the chart of plans, the way over it, what was expected and what came."""
        brains = [self._runner.fused, self._runner.native]
        charted = [b for b in brains if isinstance(b, OmBrain) and b.planner.chart is not None]
        if not charted:
            needs = 'chart() is for policy="om"' if self.policy.name != OM.name else "no round yet"
            raise AnabranchError(f"there is no chart: {needs}")
        return OmReport.of(charted[0].planner)


def _runner(
    source: DataFrame,
    declared: Sequence[Declared],
    write: Write,
    policy: Policy,
    attributes: Sequence[str] | None,
    start: Mesh | None,
    seed: int,
    postman: Postman,
) -> Runner:
    inside = inside_spark(declared, policy, start)
    staged = given(source, declared, policy, start, attributes, inside)
    stages = staged.stages
    told = start.before if start and stages.fused else start
    native = brain_for(staged.before.query, staged.before.policy, told, seed, cold=True)
    if not (native.mesh.classifier is None or isinstance(native.mesh.classifier, Tree)):
        native.mesh = Mesh.single(native.query, native.query.written())  # Spark needs an order
    prepared = prepare(source, stages, policy, start if stages.fused else None, attributes)
    fused = brain_for(prepared.query, prepared.policy, start if stages.fused else None, seed)
    conversion = Conversion.of(source.sparkSession.conf.get)
    compiled = compile_stages(stages, conversion, prepared.attributes)
    sampler = Sampler(staged.before, source) if native.learns else None
    return Runner(staged, prepared, compiled, native, fused, write, postman, sampler, seed)


def check_stream(source: DataFrame, write: Callable[..., Any], checkpoint: str) -> None:
    """Refuse what no stream in rounds can be made of."""
    if not isinstance(source, ClassicDataFrame):
        raise InputError(
            "rounds need a classic Spark session: Spark Connect runs foreachBatch on its server; "
            "use run() there"
        )
    if not source.isStreaming:
        raise InputError("stream() takes a streaming DataFrame; use run() for a batch")
    if not callable(write):
        raise InputError(f"write is a function write(df, round_id), got {write!r}")
    if not isinstance(checkpoint, str) or not checkpoint:
        raise InputError(f"checkpoint is the path of a folder, got {checkpoint!r}")


def _trigger(trigger: str | Mapping[str, Any]) -> dict[str, Any]:
    """As of Spark's own `trigger`: a text is an interval, or "available now"."""
    if isinstance(trigger, str):
        if trigger.lower() in ("available now", "availablenow"):
            return {"availableNow": True}
        return {"processingTime": trigger}
    if isinstance(trigger, Mapping):
        return dict(trigger)
    raise InputError(
        'trigger is an interval such as "10 seconds", "available now", or a mapping such as '
        f'{{"processingTime": "10 seconds"}}, got {trigger!r}'
    )
