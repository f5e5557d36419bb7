"""What a run did so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anabranch.kernel.ledger import OTHER_ROUTES, Ledger, Route
from anabranch.model import Mesh, Query
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
        Name -> of these, those made in order to profile.
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
        Seconds inside the fabric but outside the operators, over all workers; of these `converting`
        columns, and, in processor seconds, `classifying` rows and `learning`.
    cpu
        Processor seconds of the Python workers, the transfer of columns to them included; of these
        `computing`, in the operators' own code.
    classifiers
        Name -> the attribute that its place on a row's route depends on, now; only those that have
        one. Of the worker that saw most rows.
    routed_by
        Name -> attribute -> evaluations; "" are those by overall selectivity, "*" those in order to
        profile.
    gains
        What profiling found: row, worker, operator, best attribute ("" for none), its gain ratio.
    plan
        The plan with its classifier, as data, where there is one.
    mesh
        The best of the workers' meshes, its classifier as a tree; of `mesh` and `auto`, where there
        are several routes.
    route_costs
        Of each route: rows, evaluations of them by each operator, seconds per row measured (the
        evaluations at what one costs on average), and expected by the sample (None if unknown).
    search
        The search for a mesh, of the worker that saw most rows: the move, and the best cost so far.
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
    classifying: float = 0.0
    learning: float = 0.0
    cpu: float = 0.0
    computing: float = 0.0
    classifiers: dict[str, str] = field(default_factory=dict)
    routed_by: dict[str, dict[str, int]] = field(default_factory=dict)
    gains: list[dict[str, Any]] = field(default_factory=list)
    plan: dict[str, Any] | None = None
    mesh: Mesh | None = None
    route_costs: list[dict[str, Any]] = field(default_factory=list)
    search: list[list[float]] = field(default_factory=list)
    workers: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, query: Query, log: WorkerLog, scope: str, policy: str, mesh: Mesh | None = None
    ) -> "Report":
        """The report over what the workers sent, and the mesh that they agree on."""
        total = log.total
        tallies = dict(zip(query.names, total.operators, strict=True))
        seconds = {name: tally.seconds for name, tally in tallies.items()}
        plan = log.plan()
        return cls(
            rows_in=total.rows_in,
            rows_out=total.rows_out,
            evaluations={name: tally.evaluated for name, tally in tallies.items()},
            profiling={name: tally.extra for name, tally in tallies.items()},
            passed={name: tally.passed for name, tally in tallies.items()},
            seconds=seconds,
            routes=[(_route(query, r), rows) for r, rows in total.routes.most_common()],
            switches=total.switches,
            events=list(log.events),
            scope=scope,
            policy=policy,
            order=log.order() or (),
            overhead=max(0.0, total.times.total - sum(seconds.values())),
            converting=total.times.converting,
            classifying=total.times.routing,
            learning=total.times.learning,
            cpu=total.cpu,
            computing=sum(tally.computing for tally in total.operators),
            classifiers=Mesh.from_dict(plan).routed_by() if plan else {},
            routed_by=_routed_by(query, total.routing),
            gains=_gains(log.events),
            plan=plan,
            mesh=mesh,
            route_costs=_route_costs(query, total, mesh),
            search=log.search(),
            workers={
                worker: {"rows": rows, "first": _names(query, log.first.get(worker, ()))}
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
            "classifying": self.classifying,
            "learning": self.learning,
            "cpu": self.cpu,
            "computing": self.computing,
            "classifiers": dict(self.classifiers),
            "routed_by": {name: dict(by) for name, by in self.routed_by.items()},
            "gains": self.gains,
            "plan": self.plan,
            "mesh": self.mesh.to_dict() if self.mesh else None,
            "route_costs": self.route_costs,
            "search": self.search,
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


def _names(query: Query, route: Route) -> list[str]:
    return [query.names[i] for i in route if i >= 0]


def _route(query: Query, route: Route) -> str:
    return "(other routes)" if route == OTHER_ROUTES else ", ".join(_names(query, route))


def _route_costs(query: Query, total: Ledger, mesh: Mesh | None) -> list[dict[str, Any]]:
    """Measured beside expected, the route with most rows first."""
    each = [t.seconds / t.evaluated if t.evaluated else 0.0 for t in total.operators]
    expected = {}
    if mesh is not None and mesh.reasons:
        reasons = zip(mesh.routes, mesh.reasons, strict=True)
        expected = {route.indexes: reason.cost for route, reason in reasons}
    told = []
    for route, evaluated in total.work.items():
        rows = total.routes.get(route, 0)
        if rows and route != OTHER_ROUTES:
            seconds = sum(count * cost for count, cost in zip(evaluated, each, strict=True))
            told.append(
                {
                    "route": _names(query, route),
                    "rows": rows,
                    "evaluations": dict(zip(query.names, evaluated, strict=True)),
                    "measured": seconds / rows,
                    "expected": expected.get(route),
                }
            )
    return sorted(told, key=lambda entry: -int(entry["rows"]))


def _routed_by(query: Query, routing: Mapping[tuple[int, str], int]) -> dict[str, dict[str, int]]:
    by: dict[str, dict[str, int]] = {}
    for (operator, label), rows in routing.items():
        if rows:
            by.setdefault(query.names[operator], {})[label] = rows
    return by


def _gains(events: list[Event]) -> list[dict[str, Any]]:
    return [
        {
            "row": event.row,
            "worker": event.worker,
            "operator": event.operator,
            "attribute": event.attribute,
            "gain": event.gain,
        }
        for event in events
        if event.kind == "profile"
    ]
