"""What a run did so far."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.model import Query
from anabranch.policies import Event
from anabranch.report.log import WorkerLog


@dataclass(frozen=True)
class Report:
    """Figures of a run, over all actions and micro-batches that Spark has reported.

    Attributes
    ----------
    rows_in, rows_out
        Rows that entered the fused operator, and rows that passed it.
    evaluations
        Name -> rows evaluated, profiling included.
    profiling
        Name -> of these, the extra ones that only profiling asked for.
    passed
        Name -> rows that it passed.
    seconds
        Name -> time inside the operator, over all workers.
    routes
        Orders and the rows that followed them, most rows first.
    switches, events
        How often a worker changed its order, and the changes (the newest 1,000).
    scope
        What the figures cover.
    overhead
        Seconds inside the fabric but outside the operators, over all workers.
    """

    rows_in: int = 0
    rows_out: int = 0
    evaluations: dict[str, int] = field(default_factory=dict)
    profiling: dict[str, int] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    routes: list[tuple[str, int]] = field(default_factory=list)
    switches: int = 0
    events: list[Event] = field(default_factory=list)
    scope: str = "no action yet"
    policy: str = ""
    order: tuple[str, ...] = ()
    overhead: float = 0.0
    converting: float = 0.0
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Query, log: WorkerLog, scope: str, policy: str) -> "Report":
        """The report over what the workers sent."""
        total = log.total
        tallies = dict(zip(query.names, total.operators, strict=True))
        seconds = {name: tally.seconds for name, tally in tallies.items()}
        return cls(
            rows_in=total.rows_in,
            rows_out=total.rows_out,
            evaluations={name: tally.evaluated for name, tally in tallies.items()},
            profiling={name: tally.extra for name, tally in tallies.items()},
            passed={name: tally.passed for name, tally in tallies.items()},
            seconds=seconds,
            routes=[(", ".join(r), rows) for r, rows in total.routes.most_common()],
            switches=total.switches,
            events=list(log.events),
            scope=scope,
            policy=policy,
            order=log.order() or (),
            overhead=max(0.0, total.seconds - sum(seconds.values())),
            converting=total.converting,
            workers={
                worker: {"rows": rows, "first": list(log.first.get(worker, ()))}
                for worker, rows in log.rows.items()
            },
        )

    @property
    def all_on_every_row(self) -> int:
        """Evaluations if every operator saw every row, as in a plain Spark filter."""
        return self.rows_in * len(self.evaluations)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "evaluations": dict(self.evaluations),
            "profiling": dict(self.profiling),
            "passed": dict(self.passed),
            "seconds": dict(self.seconds),
            "routes": [list(route) for route in self.routes],
            "switches": self.switches,
            "events": [event.to_dict() for event in self.events],
            "scope": self.scope,
            "policy": self.policy,
            "order": list(self.order),
            "overhead": self.overhead,
            "converting": self.converting,
            "workers": self.workers,
        }

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page: routes, evaluations, a timeline of the order."""
        from anabranch.report.html import write_html

        return write_html(self, Path(path))

    def __rich__(self) -> Any:
        from anabranch.report.text import render

        return render(self)

    def __str__(self) -> str:
        from anabranch.report.text import plain

        return plain(self)
