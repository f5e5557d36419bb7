"""The merged account of all workers of a run."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from anabranch.kernel.ledger import Ledger, Route
from anabranch.policies import Event

# Workers told apart, and decisions kept, the newest; the sums are exact beyond that.
MAX_WORKERS = 256
MAX_EVENTS = 1000
# A worker that has not been heard of for so many ledgers has probably ended.
RECENT_UPDATES = 64


class WorkerLog:
    """Ledgers summed, and for each worker its rows, its current order and its decisions.

    Examples
    --------
    >>> from anabranch.kernel.ledger import Times
    >>> log = WorkerLog(operators=1)
    >>> ledger = Ledger.empty(1)
    >>> ledger.update(10, 4, (), [((0,), 10)], (), Times(0.1))
    >>> ledger.current = ("a",)
    >>> log.update("w1", ledger.to_dict())
    >>> log.total.rows_in, log.order()
    (10, ('a',))
    """

    def __init__(self, operators: int) -> None:
        self.total = Ledger.empty(operators)
        self.rows: dict[str, int] = {}
        self.first: dict[str, Route] = {}
        self.events: list[Event] = []
        self._current: dict[str, tuple[int, tuple[str, ...]]] = {}
        self._plans: dict[str, dict[str, Any]] = {}
        self._evidence: dict[str, dict[str, Any]] = {}
        self._updates = 0

    def update(self, worker: str, ledger: Mapping[str, Any]) -> None:
        """Add a ledger that a worker sent; a worker's ledgers come in their order."""
        said = Ledger.from_dict(ledger)
        self.total = self.total.merge(replace(said, evidence=None))
        self.rows[worker] = self.rows.get(worker, 0) + said.rows_in
        self._updates += 1
        if said.routes:  # the last ledger of a task may have nothing left to tell
            self._current[worker] = (self._updates, said.current)
            self.first.setdefault(worker, next(iter(said.routes)))
        if said.plan is not None:
            self._plans[worker] = said.plan
        if said.evidence is not None:
            self._evidence[worker] = said.evidence
        self.events += [replace(event, worker=worker) for event in said.events]
        del self.events[:-MAX_EVENTS]
        self._forget()

    def _forget(self) -> None:
        """Spark ends idle workers and starts others: a long stream sees any number of them."""
        while len(self.rows) > MAX_WORKERS:
            silent = min(self._current, key=lambda worker: self._current[worker][0])
            for known in (self.rows, self.first, self._current, self._plans, self._evidence):
                known.pop(silent, None)

    def order(self) -> tuple[str, ...] | None:
        """The order in force, by the votes of the workers heard of lately, with their rows."""
        votes: dict[tuple[str, ...], int] = {}
        for worker, (update, order) in self._current.items():
            if update > self._updates - RECENT_UPDATES:
                votes[order] = votes.get(order, 0) + self.rows[worker]
        return max(votes, key=lambda order: votes[order]) if votes else None

    @property
    def words(self) -> dict[str, dict[float, str]]:
        """What the numbers of attributes stand for."""
        return self.total.words

    def search(self) -> list[list[float]]:
        """The search of the worker that saw most rows: moves, and the best cost from there on."""
        told = [w for w in self._evidence if self._evidence[w].get("trace")]
        best = max(told, key=lambda worker: self.rows[worker], default=None)
        return [] if best is None else [list(e) for e in self._evidence[best]["trace"]]

    def opinions(self) -> list[tuple[int, dict[str, Any], dict[str, Any] | None]]:
        """Rows, plan and evidence of each worker that has a plan."""
        return [(self.rows[w], plan, self._evidence.get(w)) for w, plan in self._plans.items()]

    def plan(self) -> dict[str, Any] | None:
        """The newest plan of the worker that saw most rows, of those heard of lately."""
        recent = [
            worker
            for worker, (update, _) in self._current.items()
            if worker in self._plans and update > self._updates - RECENT_UPDATES
        ]
        best = max(recent, key=lambda worker: self.rows[worker], default=None)
        return None if best is None else self._plans[best]

    def copy(self) -> "WorkerLog":
        return copy.deepcopy(self)
