"""Query Mesh as a policy: sample, search, try, keep, repair.

R. Nehme, K. Works, C. Lei, E. Rundensteiner, E. Bertino: Multi-route Query Processing and
Optimization, 2012. The first stage runs one route, A-Greedy's, and samples; from the sample the
search finds a mesh, which is used if it is measurably cheaper (plan staging, Section 4.2).
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from anabranch.model import Cells, Classifier, InputError, Mesh, Windowed
from anabranch.policies.agreedy import AGreedy
from anabranch.policies.base import Event, Feedback, Policy, Sampling
from anabranch.policies.keep_or_drop import KeepOrDrop
from anabranch.policies.measured import check_rows, check_share
from anabranch.policies.query_mesh.allowance import Allowance
from anabranch.policies.query_mesh.brain import Alarm, Brain, Inside
from anabranch.policies.query_mesh.monitor import Monitor
from anabranch.policies.query_mesh.optimise import Settings, Solution, Task, Thought
from anabranch.policies.query_mesh.refine import Refinement
from anabranch.policies.query_mesh.repair import expected
from anabranch.policies.query_mesh.search import SEARCHES, Stop
from anabranch.policies.query_mesh.starts import STARTS
from anabranch.policies.register import Register
from anabranch.policies.trial import DOUBT, MOST_ROWS, Trial
from anabranch.stats import Reservoir, RoutingCost

# Shares of the sample at which a mesh is looked for, before the sample is complete.
EARLY = (0.15, 0.4)
# A mesh must be expected to save this share of the cost of the plan in force to be tried.
WORTH_TRYING = 0.01
# While there is news to expect, a slice has at most this part of the rows since the start.
SLICES, LEAST_SLICE = 3, 150
# What all rows tell is looked at when there are this factor of rows, or so many more. A refined
# mesh must be expected to save this share.
REFINE_GROWTH, REFINE_ROWS, GAIN = 1.4, 20_000, 0.005
# Rows of a slice that are looked at though it costs no evaluation, and slices where that is done.
FREE_ROWS, FREE_SLICES = 1_000, 32
# Rows for which cells are counted before a mesh is known to pay.
SCOUT_ROWS = 30_000
# The less a mesh is expected to save, the longer the trial: by the spread of a row's cost.
SPREAD, LONGEST_TRIAL = 1.5, 20_000
# After an alarm: rows that are counted before cells and routes are mended by them, and rows before
# the next alarm counts.
REPAIR_ROWS, QUIET_ROWS = 1_000, 10_000
# A-Greedy's profile window: see the registry.
WINDOW = 250


@dataclass
class Proposal:
    """A mesh on trial, how it was found, and the tallies of its cells."""

    mesh: Mesh
    repair: str
    refinement: Refinement


@dataclass
class QueryMesh(Policy):
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
    duty
        Share of the time that searching may add, in slices between batches.
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
    duty: float = 0.15
    first_rows: int = 150
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("sample", "condensed", "iterations", "first_rows"):
            check_rows(name, getattr(self, name))
        if self.window is not None:
            check_rows("window (or None)", self.window)
        check_share("budget", self.budget)
        check_share("duty", self.duty)
        if self.search not in SEARCHES:
            raise InputError(f"no search {self.search!r}; valid: {', '.join(SEARCHES)}")
        if self.start not in STARTS:
            raise InputError(f"no start solution {self.start!r}; valid: {', '.join(STARTS)}")

    # State ----------------------------------------------------------------------------------

    def begin(self, start: Mesh | None) -> None:
        stage = AGreedy(p="auto", window=WINDOW, budget=self.budget, first_rows=self.first_rows)
        self._single = stage.bind(self.query, start)  # one route for all rows
        self._mesh = start if start and start.classifier else None  # in use, if any
        self._sample = self._reservoir()
        self._allowance = Allowance(self.budget, self.duty)
        self._register = Register(self.query.attributes, len(self.query), None)
        self._looks = [round(share * self.sample) for share in (*EARLY, 1.0)]
        self._curious = FREE_SLICES  # slices in which rows are looked at that cost nothing more
        self._look_at = FREE_ROWS  # rows looked at, with or without cost
        self._free = False  # whether the rows looked at now cost nothing more
        self._thought: Thought | None = None
        self._thoughts = 0
        self._test = KeepOrDrop()
        self._proposal: Proposal | None = None  # on trial
        self._refinement: Refinement | None = None  # of the classifier in force
        self._refine_at = 0
        self._epoch = 0  # a number for every plan that is watched
        self._monitor = Monitor(self.learned(), np.ones(len(self.query)))
        self._brain: Brain = Inside()
        self._quiet_until = self._since = 0  # the last alarm
        self._scout_until = 0  # until then rows are classified only to count them
        self._routing = RoutingCost()
        self._extra = 0.0  # seconds to evaluate a sampled row by all that would not see it
        self._cost = 0.0  # seconds per row
        self._rows = 0

    def _reservoir(self) -> Reservoir:
        return Reservoir(len(self.query.attributes), len(self.query), self.sample, self.seed)

    # What to do next ------------------------------------------------------------------------

    def plan(self) -> Mesh:
        if self._test.trial is not None:
            return self._test.next_mesh(self._test.trial)
        if self._mesh is None and self._refinement is not None:
            return replace(self._single.plan(), classifier=self._refinement.mesh.classifier)
        return self.learned()

    def learned(self) -> Mesh:
        """The plan without what a trial changes for its time."""
        return self._mesh or self._single.plan()

    def sampling(self) -> Sampling:
        first = self._single.sampling()
        if len(self.query) < 2 or self._single.beginning:
            return first
        if self._test.trial is not None:
            return Sampling(rows=self._test.trial.slice_rows)
        eager = bool(self._looks) and self.query.attributes
        rows = max(LEAST_SLICE, (self._rows - self._since) // SLICES) if eager else None
        usual = min(rows or self._single.slice_rows, self._single.slice_rows)
        if self._free:
            return Sampling(min(FREE_ROWS / usual, 1.0), None, rows)
        return Sampling(self._allowance.rate(usual, self._extra), first.extra, rows)

    # What is learned ------------------------------------------------------------------------

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        if not feedback.rows or len(self.query) < 2:
            return ()
        self._rows += feedback.rows
        self._tally(feedback)
        switched = self._single.observe(feedback)
        self._collect(feedback)
        self._pay(feedback)
        if self._mesh is not None or self._proposal is not None:
            switched = ()  # A-Greedy's order is kept for the day when one route is better again
        if self._single.beginning:
            return switched
        if self._test.trial is not None:
            return (*switched, *self._try(self._test.trial, feedback))
        if alarm := self._watched(feedback):
            return (*switched, *self._drift(alarm))
        return (*switched, *self._think())

    def _watched(self, feedback: Feedback) -> Alarm | None:
        """Readings go to the brain; has one raised an alarm?"""
        if self._monitor.mesh.routes != self.plan().routes:
            self._begin_watch()
            return None
        readings = self._monitor.update(feedback)
        if readings:
            self._brain.watch(self._epoch, readings)
        told = [r for r in self._brain.replies() if r.epoch == self._epoch]
        alarms = [reply for reply in told if isinstance(reply, Alarm)]
        return alarms[0] if alarms and self._rows >= self._quiet_until else None

    def _begin_watch(self) -> None:
        self._epoch += 1
        self._monitor = Monitor(self.plan(), self._costs())

    def _drift(self, alarm: Alarm) -> tuple[Event, ...]:
        """The data is not what it was: sample anew, and mend the mesh by what all rows tell now."""
        self._begin_watch()
        self._since, self._quiet_until = self._rows, self._rows + QUIET_ROWS
        self._allowance.alarm()
        self._sample.clear()
        self._register.clear()
        self._looks = [round(share * self.sample) for share in (*EARLY, 1.0)]
        self._look_at, self._curious = FREE_ROWS, FREE_SLICES
        self._thought = None
        if self._refinement is not None:
            self._refinement.tally.clear()
            self._refine_at = self._rows + REPAIR_ROWS
            self._test.audit_at = max(self._test.audit_at, self._rows + 2 * REPAIR_ROWS)
        reading = alarm.reading
        return (Event("drift", self._rows, attribute=reading.what, routes=reading.route),)

    def _tally(self, feedback: Feedback) -> None:
        """Count rows by the cells that they were classified by."""
        trial, proposal = self._test.trial, self._proposal
        refinement = self._refinement
        if trial is not None and proposal is not None and trial.turn == "with":
            refinement = proposal.refinement
        if refinement is not None:
            refinement.update(feedback)

    def _collect(self, feedback: Feedback) -> None:
        rows = feedback.profiled
        if not len(rows):
            return
        columns = [feedback.values(a.name)[rows] for a in self.query.attributes]
        values = np.column_stack(columns) if columns else np.zeros((len(rows), 0))
        self._register.update(values, feedback.passed, feedback.passed | feedback.dropped)
        if self._free:
            self._curious -= 1
        else:
            times = np.tile(self._single.costs(), (len(rows), 1))
            self._sample.update(values, feedback.dropped, times)
        nothing = self._mesh is None and self._refinement is None and not self._single.beginning
        self._free = not self._free and nothing and self._curious > 0

    def _pay(self, feedback: Feedback) -> None:
        costs, work = self._costs(), self._single.work(feedback)
        extra = np.zeros(len(self.query))
        for call in feedback.calls:
            extra[call.operator] += call.extra
        self._cost = float(work @ costs)
        self._extra = max(float(costs.sum()) - self._cost, 0.0)
        if len(feedback.cells):
            self._routing.update(feedback.rows, feedback.routing)
        self._allowance.pay(feedback.learning)
        if not self._single.beginning:
            self._allowance.earn(self._cost * feedback.rows, float(extra @ costs), feedback.spent)

    def _costs(self) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        return self._single.cautious_costs()

    # A mesh is looked for -------------------------------------------------------------------

    def _think(self) -> tuple[Event, ...]:
        """Is there a better mesh by the sample so far? A little at a time."""
        if self._thought is None:
            self._refine()  # the cheaper repairs come first
        if self._test.trial is not None:
            return ()
        mending = self._refinement is not None and self._rows < self._since + REPAIR_ROWS
        if self._thought is None and self._due() and not mending:
            self._looks = [size for size in self._looks if size > len(self._sample)]
            self._look_at = max(self._look_at, 2 * self._register.seen)
            self._thought = self._look()
        if self._thought is None:
            return ()
        steps = self._allowance.steps(self._cost, first=self._thoughts < len(EARLY) + 1)
        taken = 0
        while taken < steps and self._thought.solution is None:
            self._thought.step()
            taken += 1
        self._allowance.thought(taken)
        if self._thought.solution is None:
            return ()
        solution, self._thought = self._thought.solution, None
        self._thoughts += 1
        return self._consider(solution)

    def _due(self) -> bool:
        """Whether enough was sampled, or looked at, since a mesh was looked for."""
        if not self.query.attributes:
            return False
        sampled = bool(self._looks) and len(self._sample) >= self._looks[0]
        nothing = self._mesh is None and self._refinement is None
        return sampled or (nothing and self._register.seen >= self._look_at)

    def _look(self) -> Thought:
        stop = Stop(iterations=self.iterations)
        settings = Settings(self.condensed, self.search, self.start, stop, self.seed)
        overhead = self._single.fixed_cost() / len(self.query) / max(self._single.slice_rows, 1.0)
        classifying = self._routing.get(self._single.slice_rows)
        task = Task(self._sample.copy(), self.query, self._costs(), settings, classifying, overhead)
        return Thought(task, self._register)

    def _consider(self, solution: Solution) -> tuple[Event, ...]:
        """Try a mesh if the sample expects it to be better than the plan in force."""
        if solution.mesh.classifier is not None and self._promises(solution.mesh):
            mesh = self._windowed(solution.mesh)
            self._propose(Proposal(mesh, "re-train", Refinement.of(mesh, self._sample)))
        elif self._mesh is None and solution.partitions:
            self._scout(solution)
        elif not self._looks:
            self._allowance.bore()
        return ()

    def _promises(self, mesh: Mesh) -> bool:
        """Whether the sample expects a mesh to be better than the plan in force."""
        now = expected(self.learned(), self._sample, self._costs())
        then = expected(mesh, self._sample, self._costs())
        if self._mesh is None:
            then += self._routing.get(self._single.slice_rows)
        return then < (1 - WORTH_TRYING) * now

    def _propose(self, proposal: Proposal, gain: float = 1.0, doubt: float = DOUBT) -> None:
        self._proposal = proposal
        self._test.begin(proposal.mesh, self.learned())
        assert self._test.trial is not None
        self._test.trial.doubt = doubt
        self._test.trial.most_rows = int(np.clip((SPREAD / gain) ** 2, MOST_ROWS, LONGEST_TRIAL))

    def _scout(self, solution: Solution) -> None:
        """No mesh pays by the sample, but attributes tell something: count rows by them."""
        cells = Cells(solution.partitions, ())
        mesh = replace(self._single.plan(), classifier=self._windowed_classifier(cells))
        self._refinement = Refinement.of(mesh, self._sample)
        self._refine_at = 2 * self._rows
        self._scout_until = self._rows + SCOUT_ROWS

    def _refine(self) -> None:
        """Are there better routes by what all rows told of their cells?"""
        if self._mesh is not None and self._rows >= self._test.audit_at:
            self._audit()
            return
        if self._refinement is None or self._rows < self._refine_at:
            return
        self._refine_at = min(round(REFINE_GROWTH * self._rows), self._rows + REFINE_ROWS)
        self._refinement.mesh = self.plan()
        costs, slice_rows = self._costs(), self._single.slice_rows
        overhead = self._single.fixed_cost() / len(self.query) / max(slice_rows, 1.0)
        repair, mesh, gain = self._refinement.repaired(costs, overhead)
        if self._mesh is None:
            gain -= self._routing.get(slice_rows) / max(self._cost, 1e-12)
        if gain >= GAIN:
            self._propose(Proposal(mesh, repair, self._refinement), gain, doubt=0.0)
        elif self._mesh is None and self._rows >= self._scout_until:
            self._refinement = None

    def _audit(self) -> None:
        """Does the mesh still pay?"""
        assert self._mesh is not None
        assert self._refinement is not None
        self._proposal = Proposal(self._mesh, "audit", self._refinement)
        self._test.begin(self._mesh, self._single.plan(), audit=True)

    def _windowed(self, mesh: Mesh) -> Mesh:
        if mesh.classifier is None:
            return mesh
        return replace(mesh, classifier=self._windowed_classifier(mesh.classifier))

    def _windowed_classifier(self, classifier: Classifier) -> Classifier:
        return classifier if self.window is None else Windowed(classifier, self.window)

    def _try(self, trial: Trial, feedback: Feedback) -> tuple[Event, ...]:
        costs, proposal = self._costs(), self._proposal
        assert proposal is not None
        classified = self._mesh is not None and not trial.audit  # both plans classify rows
        charge = 0.0 if classified else self._routing.get(self._single.slice_rows)
        trial.update(feedback.rows, self._single.work(feedback), costs, charge)
        if trial.kept is None:
            return ()
        measured = trial.without.mean(costs), trial.with_it.mean(costs)
        self._test.close(trial, self._rows)
        self._proposal = None
        return self._judged(proposal, trial, measured)

    def _judged(
        self, proposal: Proposal, trial: Trial, measured: tuple[float, float]
    ) -> tuple[Event, ...]:
        """A trial is over: take what was tried, or leave it."""
        mesh, before = proposal.mesh, self.learned().routes[0].order
        if trial.audit:
            if trial.kept:
                return ()
            self._mesh = self._refinement = None
            return (self._told("fallback", mesh, before, measured, ""),)
        if trial.kept:
            several = len(mesh.routes) > 1
            self._mesh = mesh if several else None
            self._refinement = proposal.refinement if several else None
            self._refine_at = self._rows + 10 * LEAST_SLICE
        elif proposal.refinement is self._refinement:
            self._refine_at = 2 * self._rows
        kind = "upgrade" if trial.kept else "revert"
        return (self._told(kind, mesh, before, measured, proposal.repair),)

    def _told(
        self,
        kind: str,
        mesh: Mesh,
        before: tuple[str, ...],
        measured: tuple[float, float],
        repair: str,
    ) -> Event:
        assert mesh.classifier is not None
        return Event(
            kind,
            self._rows,
            before,
            self.learned().routes[0].order,
            *measured,
            attribute=", ".join(mesh.classifier.attributes),
            routes=len(mesh.routes),
            repair=repair,
        )
