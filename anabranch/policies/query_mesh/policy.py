"""Query Mesh as a policy: sample, search, try, keep.

The first stage runs one route and samples; from the sample the search finds a mesh, which is used if
it is measurably cheaper (plan staging: Query Mesh, Section 4.2).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anabranch.cost import greedy_order, order_cost
from anabranch.model import InputError, Mesh, Windowed
from anabranch.policies.base import Event, Feedback, Sampling
from anabranch.policies.keep_or_drop import KeepOrDrop
from anabranch.policies.measured import COLD_ROWS, Measured, check_rows, check_share
from anabranch.policies.query_mesh.optimise import Settings, optimise
from anabranch.policies.query_mesh.search import SEARCHES, Stop
from anabranch.policies.query_mesh.starts import STARTS
from anabranch.policies.trial import Trial
from anabranch.stats import Reservoir, RoutingCost
from anabranch.stats.routing_cost import CLASSIFYING

# Shares of the sample at which a mesh is looked for, before the sample is complete.
EARLY = (0.15, 0.4)
# A mesh must be expected to save this share to be tried, an order to be followed.
WORTH_TRYING, GAIN = 0.01, 0.005
# Rows whose profiling may be paid before it is earned.
CREDIT_ROWS = 600
# A slice has at most this part of the rows seen so far.
SLICES = 3
LEAST_SLICE = 150


@dataclass
class QueryMesh(Measured):
    """Several routes and a classifier over several attributes, found from a sample.

    Parameters
    ----------
    sample
        Rows sampled with the verdict of every operator.
    condensed
        Training tuples that they are condensed to; the paper has presets of 10 and 100.
    search
        `"ii"` (iterative improvement), `"sa"` (simulated annealing) or `"opt"` (up to 9 tuples).
    start
        Where the search begins: `"route_driven"`, `"content_driven"`, `"random_pick"`,
        `"extreme_1"`, `"extreme_n"`.
    iterations
        Local optimisations or temperatures at most.
    window
        Rows that are known to be alike: the first of a window speaks for all. None: each row is
        classified.
    budget
        Share of the work that sampling may add.
    first_rows
        Rows sampled in full at the start, besides 50 that warm up.
    seed
        For the sample and the search.
    """

    name: ClassVar[str] = "mesh"
    summary: ClassVar[str] = "Query Mesh: several routes and a classifier, found from a sample"
    uses_attributes: ClassVar[bool] = True
    sample: int = 1000
    condensed: int = 10
    search: str = "ii"
    start: str = "route_driven"
    iterations: int = 3
    window: int | None = None
    budget: float = 0.01
    first_rows: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("sample", "condensed", "iterations", "first_rows"):
            check_rows(name, getattr(self, name))
        if self.window is not None:
            check_rows("window (or None)", self.window)
        check_share("budget", self.budget)
        if self.search not in SEARCHES:
            raise InputError(f"no search {self.search!r}; valid: {', '.join(SEARCHES)}")
        if self.start not in STARTS:
            raise InputError(f"no start solution {self.start!r}; valid: {', '.join(STARTS)}")

    # State ----------------------------------------------------------------------------------

    def begin(self, start: Mesh | None) -> None:
        super().begin(start)
        count = len(self.query)
        self._sample = Reservoir(len(self.query.attributes), count, self.sample, self.seed)
        self._cold = COLD_ROWS
        self._to_profile = 0 if start else COLD_ROWS + self.first_rows
        self._allowance = self._extra = 0.0
        self._looks = [round(share * self.sample) for share in EARLY] + [self.sample]
        self._test = KeepOrDrop()
        self._candidate = self._kept = self._single = Mesh.single(self.query, self.query.written())
        self._routing = RoutingCost()
        self._mesh = start or self._single
        self._everything = Sampling.everything(count, 0.0).extra

    def plan(self) -> Mesh:
        return self._mesh

    def learned(self) -> Mesh:
        """The plan without what a trial changes for its time."""
        return self._kept if self._test.trial is not None else self._mesh

    def sampling(self) -> Sampling:
        if len(self.query) < 2:
            return Sampling()
        if self._to_profile:
            return Sampling.everything(len(self.query), 1.0, self._cold or self._to_profile)
        if self._test.trial is not None:
            return Sampling(rows=self._test.trial.slice_rows)
        rows = self._cold or max(LEAST_SLICE, self._rows // SLICES)
        return Sampling(self._rate(rows), self._everything, rows)

    def _rate(self, rows: int) -> float:
        """Share of the rows to sample: what is affordable, while the sample has room."""
        room = self.sample - len(self._sample)
        if room <= 0 or self._extra <= 0:
            return 0.0
        affordable = (self._allowance + CREDIT_ROWS * self._extra) / self._extra
        return float(np.clip(min(affordable, room) / rows, 0.0, 1.0))

    # What is learned ------------------------------------------------------------------------

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        if not feedback.rows or len(self.query) < 2:
            return ()
        self.measure(feedback)
        self._costs = self.cautious_costs()
        self._collect(feedback)
        self._pay(feedback)
        self._cold = max(0, self._cold - feedback.rows)
        if self._mesh.classifier is not None:
            self._routing.update(feedback.rows, feedback.routing)
        if self._to_profile:
            self._to_profile = max(0, self._to_profile - feedback.rows)
            return () if self._to_profile else self._look()
        if self._test.trial is not None:
            return self._try(self._test.trial, feedback)
        if self._looks and len(self._sample) >= self._looks[0]:
            return self._look()
        return ()

    def _collect(self, feedback: Feedback) -> None:
        rows = feedback.profiled
        if not len(rows):
            return
        columns = [feedback.values(a.name)[rows] for a in self.query.attributes]
        values = np.column_stack(columns) if columns else np.zeros((len(rows), 0))
        times = np.tile(self._costs, (len(rows), 1))
        self._sample.update(values, feedback.dropped, times)

    def _pay(self, feedback: Feedback) -> None:
        """Sampling is paid from a share of the time that the operators took."""
        if self._cold:  # what they cost is not known yet
            return
        work, extra = self.work(feedback), np.zeros(len(self.query))
        for call in feedback.calls:
            extra[call.operator] += call.extra
        useful = float(work @ self._costs)
        self._extra = max(float(self._costs.sum()) - useful, 0.0)
        self._allowance += self.budget * useful * feedback.rows - float(extra @ self._costs)

    def _look(self) -> tuple[Event, ...]:
        """Is there a better order, or a mesh, by the sample so far?"""
        self._looks = [size for size in self._looks if size > len(self._sample)]
        order = greedy_order(self._sample.bits, self._costs, self.query)
        events = self._follow(order)
        settings = Settings(
            self.condensed, self.search, self.start, Stop(iterations=self.iterations), self.seed
        )
        overhead = self.fixed_cost() / len(self.query) / max(self.slice_rows, 1.0)
        solution = optimise(
            self._sample, self.query, self._costs, settings, CLASSIFYING, overhead
        )
        candidate = self._windowed(solution.mesh)
        if self._expected(candidate) < (1 - WORTH_TRYING) * self._expected(self._mesh):
            self._candidate, self._kept = candidate, self._mesh
            self._mesh = self._test.begin(candidate, self._kept)
        return events

    def _expected(self, mesh: Mesh) -> float:
        """Seconds that the sampled rows would take under a plan."""
        bits = self._sample.bits
        routes = np.zeros(len(bits), np.int64)
        if mesh.classifier is not None:
            names = [attribute.name for attribute in self.query.attributes]
            columns = dict(zip(names, self._sample.values.T, strict=True))
            random = np.random.default_rng(self.seed)
            routes = mesh.classifier.classify(columns.__getitem__, len(bits), random).routes
        cost = 0.0
        for place, route in enumerate(mesh.routes):
            rows = bits[routes == place]
            cost += len(rows) * order_cost(rows, self._costs, route.indexes)
        return cost

    def _windowed(self, mesh: Mesh) -> Mesh:
        if self.window is None or mesh.classifier is None:
            return mesh
        alike = Windowed(mesh.classifier, self.window)
        return Mesh(mesh.query, mesh.routes, mesh.figures, alike)

    def _follow(self, order: tuple[int, ...]) -> tuple[Event, ...]:
        """Take another single route if the sample expects it to be better."""
        bits, before = self._sample.bits, self._single.routes[0].indexes
        now, then = (order_cost(bits, self._costs, o) for o in (before, order))
        if then > (1 - GAIN) * now:
            return ()
        self._single = Mesh.single(self.query, self.names(order))
        if self._mesh.classifier is not None:
            return ()
        self._mesh = self._single
        return (Event("switch", self._rows, self.names(before), self.names(order), now, then),)

    def _try(self, trial: Trial, feedback: Feedback) -> tuple[Event, ...]:
        charge = self._routing.get(self.slice_rows)
        trial.update(feedback.rows, self.work(feedback), self._costs, charge)
        if trial.kept is None:
            self._mesh = self._test.next_mesh(trial)
            return ()
        measured = trial.without.mean(self._costs), trial.with_it.mean(self._costs)
        self._test.close(trial, self._rows)
        self._mesh = self._candidate if trial.kept else self._kept
        classifier = self._candidate.classifier
        told = ", ".join(classifier.attributes) if classifier else ""
        kind = "keep" if trial.kept else "drop"
        return (Event(kind, self._rows, (), (), *measured, attribute=told),)
