"""Observed metrics by Spark Connect: they come to the client with the answer to an action."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.connect.observation import Observation

from anabranch.spark.collector import Postman, Streams


class ConnectPostman(Postman):
    """One per session of a client; hears of the actions and streams of this client."""

    _of: ClassVar[dict[str, Postman]] = {}

    @classmethod
    def of_client(cls, session: Any) -> Postman:
        key = str(session.session_id)
        if key not in cls._of:
            cls._of[key] = cls(session)
        return cls._of[key]

    def _listen(self, session: SparkSession) -> None:
        """To streams only from the first one on: listening occupies a thread and a request."""
        self._session, self._listens = session, False

    def observed(self, df: DataFrame, run: str, *metrics: Column) -> DataFrame:
        if not df.isStreaming:
            return Mailbox(run, self).over(df, *metrics)
        if not self._listens:
            self._listens = True
            self._session.streams.addListener(Streams(self))
        return df.observe(run, *metrics)

    def _flush(self) -> bool:
        """Metrics are there when an action returns."""
        return True


class Mailbox(Observation):
    """Hears of every action: the client fills in its result with each."""

    def __init__(self, run: str, postman: Postman) -> None:
        super().__init__(run)
        self._deliver = partial(postman.deliver, run)

    def over(self, df: DataFrame, *metrics: Column) -> DataFrame:
        observed: DataFrame = df.observe(self, *metrics)  # type: ignore[arg-type]
        self._result = _Delivered(self._deliver)
        return observed


class _Delivered(dict[str, Any]):
    def __init__(self, deliver: Callable[[Any], None]) -> None:
        super().__init__()
        self._deliver = deliver

    def update(self, told: dict[str, Any]) -> None:  # type: ignore[override]
        self._deliver(tuple(told.values()))
