"""A join that was compiled: its DataFrame and what it tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from anabranch.model import AnabranchError, Mesh
from anabranch.policies import Policy, RateBased
from anabranch.report.joins import JoinReport, JoinTally
from anabranch.spark.collector import Letters, Postman
from anabranch.spark.joins.run import Plan


class JoinCollector(Letters):
    """All that the cells of a join told."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._tally = JoinTally(plan.query)

    def absorb(self, letter: dict[str, Any]) -> None:
        self._tally.add(letter)

    def tally(self) -> JoinTally:
        """Over all micro-batches so far."""
        with self._lock:
            tally = self._tally.copy()
            for letter in self.kept():
                tally.add(letter)
            return tally


class JoinRun:
    """A compiled join; the DataFrame is lazy, and any sink that appends can take it."""

    def __init__(
        self,
        plan: Plan,
        policy: Policy,
        df: DataFrame,
        spread: Mapping[str, int],
        run: str = "",
        rates: Mapping[str, float] | None = None,
    ) -> None:
        self._plan, self.policy, self.df = plan, policy, df
        self._spread, self._rates = dict(spread), dict(rates or {})
        self._collector = JoinCollector(plan)
        self._postman = Postman.of(df.sparkSession)
        if run:
            self._postman.subscribe(run, self._collector)

    def report(self) -> JoinReport:
        """What happened so far, over all micro-batches; of bounded inputs Spark tells itself."""
        complete = self._postman.wait()
        done = self._collector.deliveries
        scope = f"{done} micro-batch{'' if done == 1 else 'es'}"
        scope += "" if complete else ", Spark has more to tell"
        return self._collector.tally().report(scope, self.policy.name, self._expected())

    def _expected(self) -> dict[str, float]:
        """Rows that windows hold, copies included, by the rates that were told."""
        windows = {stream.name: stream.window / 1e6 for stream in self._plan.query.streams}
        return {
            name: rate * windows[name] * self._spread.get(name, 1)
            for name, rate in self._rates.items()
        }

    def rates(self, query: StreamingQuery) -> dict[str, float]:
        """Stream -> rows per second that came, over the newest micro-batches of a query.

        As for `RateBased(rates=...)` when the join is planned again. The first micro-batch is left
        out if there are others: it has what had gathered before.
        """
        if not self._spread:
            raise AnabranchError('rates are counted by one operator only: how="probe"')
        told: list[Any] = [p for p in query.recentProgress if p["numInputRows"]]
        rows = {
            name: figures.rows / self._spread.get(name, 1)
            for name, figures in self.report().streams.items()
        }
        if not told or not sum(rows.values()):
            raise AnabranchError("no micro-batch with rows has been reported yet")
        if silent := [name for name, count in rows.items() if not count]:
            raise AnabranchError(f"no row of {', '.join(silent)} has come yet")
        first, last = (pd.Timestamp(told[i]["timestamp"]) for i in (0, -1))
        lasted = (last - first).total_seconds() or told[0]["batchDuration"] / 1000
        came = sum(p["numInputRows"] for p in told[1:] or told) / max(lasted, 1e-3)
        return {name: came * count / sum(rows.values()) for name, count in rows.items()}

    def plans(self) -> dict[str, Mesh]:
        """Stream -> the order in which its rows probe the others, as far as it was learned."""
        self._postman.wait()
        found = {}
        for source, log in self._collector.tally().logs.items():
            query = self._plan.query.tree(source).operators()
            told = log.plan()
            found[source] = (
                Mesh.from_dict(told) if told else Mesh.single(query, log.order() or query.written())
            )
        if not found:
            raise AnabranchError("no micro-batch has told of a plan yet")
        return found

    def explain(self) -> str:
        """The streams, their windows and cells, and how rows of each reach the others."""
        lines = self._plan.outline()
        if isinstance(self.policy, RateBased) and self.policy.chosen is not None:
            told = "as told" if self.policy.tree else self.policy.objective.told(self.policy.chosen)
            lines.append(f"tree by rates: {self.policy.chosen} ({told})")
        if self._spread:
            lines.append(
                "copies of a row: "
                + ", ".join(f"{name} {count}" for name, count in self._spread.items())
            )
        else:
            lines.append("bounded inputs: Spark's own joins")
        return "\n".join(lines)
