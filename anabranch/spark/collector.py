"""Brings the workers' ledgers to the driver through `observe`, for every action and micro-batch."""

import base64
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Protocol
from weakref import WeakValueDictionary

from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.serializers import CPickleSerializer
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from anabranch.report import WorkerLog
from anabranch.spark.session import is_connect

# How long a report waits for figures that Spark has not delivered yet.
DELIVERY_SECONDS = 30
# Tasks kept apart; beyond that the oldest are folded into one sum.
MAX_TASKS = 4096


class Observer(Protocol):
    """Whom observed metrics are delivered to."""

    def deliver(self, row: Any) -> None:
        """Take in what one action or micro-batch observed."""


class Letters(ABC):
    """What the workers of one run wrote, each task's letters counted once.

    A cached DataFrame reports its metrics again with every action, and a retried task reports
    twice: letters are told apart by stage, partition, attempt, call and number, and only the newest
    attempt of a task counts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[tuple[int, int], dict[str, Any]] = {}
        self._folded_stage = -1
        self.deliveries = 0

    def deliver(self, row: Any) -> None:
        """Take in what one action or micro-batch observed: the letters of the workers."""
        parsed = [json.loads(letter_of(letter)) for letter in row[0]]
        with self._lock:
            # Some sinks run an action inside of a micro-batch: the same is told twice.
            news = [self._keep(letter) for letter in parsed]
            self.deliveries += any(news) or not parsed
            self._fold()

    def _keep(self, letter: dict[str, Any]) -> bool:
        """Whether it was not known yet."""
        task = (letter["stage"], letter["partition"])
        if letter["stage"] <= self._folded_stage:
            return False
        known = self._tasks.setdefault(task, {"attempt": -1, "letters": {}})
        if letter["attempt"] > known["attempt"]:
            known.update(attempt=letter["attempt"], letters={})
        place = letter["call"], letter["number"]
        if letter["attempt"] < known["attempt"] or place in known["letters"]:
            return False
        known["letters"][place] = letter
        return True

    def _fold(self) -> None:
        """Bound the memory of a long stream: whole stages, the oldest first, become one sum."""
        while len(self._tasks) > MAX_TASKS:
            oldest = min(stage for stage, _ in self._tasks)
            for task in sorted(task for task in self._tasks if task[0] == oldest):
                for letter in _in_order(self._tasks.pop(task)):
                    self.absorb(letter)
            self._folded_stage = oldest

    @abstractmethod
    def absorb(self, letter: dict[str, Any]) -> None:
        """Add a letter to the sum of those that are not kept any more."""

    def kept(self) -> list[dict[str, Any]]:
        """The letters that are not part of the sum."""
        return [letter for task in sorted(self._tasks) for letter in _in_order(self._tasks[task])]

    def partial(self) -> bool:
        """Whether some task was not read to its end, as under a limit."""
        with self._lock:
            return any(not _whole(task["letters"].values()) for task in self._tasks.values())


class Collector(Letters):
    """All ledgers of one run."""

    def __init__(self, operators: int) -> None:
        super().__init__()
        self._log = WorkerLog(operators)

    def absorb(self, letter: dict[str, Any]) -> None:
        self._log.update(letter["worker"], letter["ledger"])

    def log(self) -> WorkerLog:
        """What all workers did, over all actions so far."""
        with self._lock:
            log = self._log.copy()
            for letter in self.kept():
                log.update(letter["worker"], letter["ledger"])
            return log


def letter_of(told: Any) -> bytes:
    """As it comes with an action, or, by Spark Connect, as text with a stream's progress."""
    return base64.b64decode(told) if isinstance(told, str) else bytes(told)


def _whole(letters: Collection[dict[str, Any]]) -> bool:
    calls = {letter["call"] for letter in letters}
    return calls == {letter["call"] for letter in letters if letter["last"]}


def _in_order(task: dict[str, Any]) -> list[dict[str, Any]]:
    return sorted(task["letters"].values(), key=lambda letter: int(letter["number"]))


class Postman:
    """One per session: delivers observed metrics to the run that they belong to.

    `Observation` would tell of the first action only; a listener hears of each. Batch actions come
    from a `QueryExecutionListener`, micro-batches from a `StreamingQueryListener`.
    """

    _of: ClassVar[dict[str, "Postman"]] = {}

    def __init__(self, session: SparkSession) -> None:
        self._collectors: WeakValueDictionary[str, Observer] = WeakValueDictionary()
        # Called with Spark's own progress of every micro-batch of the session.
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self._errors: list[Exception] = []
        self._listen(session)

    def _listen(self, session: SparkSession) -> None:
        self._context = session.sparkContext
        ensure_callback_server_started(self._context._gateway)  # type: ignore[no-untyped-call]
        session._jsparkSession.listenerManager().register(_Actions(self, session))
        session.streams.addListener(Streams(self))

    @classmethod
    def of(cls, session: SparkSession) -> "Postman":
        """The postman of the session; several session objects may stand for one session."""
        if is_connect(session):
            from anabranch.spark.connect_post import ConnectPostman

            return ConnectPostman.of_client(session)
        key = session._jsparkSession.sessionUUID()
        if key not in cls._of:
            cls._of[key] = cls(session)
        return cls._of[key]

    def subscribe(self, run: str, collector: Observer) -> None:
        self._collectors[run] = collector

    def observed(self, df: DataFrame, run: str, *metrics: Column) -> DataFrame:
        """`df`, whose metrics are delivered to the run."""
        return df.observe(run, *metrics)

    def deliver(self, run: str, row: Any) -> None:
        collector = self._collectors.get(run)
        if collector is not None:
            try:
                collector.deliver(row)
            except Exception as error:  # the JVM calls, and would only log it: raised by wait()
                self._errors.append(error)

    def wait(self) -> bool:
        """Until Spark has delivered what finished so far; False if it takes too long.

        What went wrong meanwhile with what was delivered is raised.
        """
        complete = self._flush()
        if self._errors:
            raise self._errors.pop(0)
        return complete

    def _flush(self) -> bool:
        if self._context._jsc is None:
            return True  # stopped: what was delivered is all there is
        try:
            self._context._jsc.sc().listenerBus().waitUntilEmpty(DELIVERY_SECONDS * 1000)
        except Py4JJavaError as error:
            if "TimeoutException" in str(error.java_exception):
                return False
            raise
        return True


class _Actions:
    """A `QueryExecutionListener`, called from the JVM."""

    def __init__(self, postman: Postman, session: SparkSession) -> None:
        self._postman = postman
        self._utils = getattr(
            session.sparkContext._jvm, "org.apache.spark.sql.api.python.PythonSQLUtils"
        )

    def onSuccess(self, name: str, execution: Any, nanoseconds: int) -> None:
        metrics = execution.observedMetrics().iterator()
        while metrics.hasNext():
            metric = metrics.next()
            if metric._1() in self._postman._collectors:
                pickled = self._utils.toPyRow(metric._2())
                row = CPickleSerializer().loads(pickled)  # type: ignore[no-untyped-call]
                self._postman.deliver(metric._1(), row)

    def onFailure(self, name: str, execution: Any, error: Any) -> None:
        """A failed action has no metrics to deliver."""

    class Java:
        implements: ClassVar = ["org.apache.spark.sql.util.QueryExecutionListener"]


class Streams(StreamingQueryListener):
    """Hears of every micro-batch of a session."""

    def __init__(self, postman: Postman) -> None:
        self._postman = postman

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Nothing has flowed yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        for run, row in event.progress.observedMetrics.items():
            self._postman.deliver(run, row)
        for listener in tuple(self._postman.listeners):
            listener(json.loads(event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing flows."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """All progress has been reported before."""
