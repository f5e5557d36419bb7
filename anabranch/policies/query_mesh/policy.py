"""Query Mesh as a policy: sample, search, try, keep, repair.

R. Nehme, K. Works, C. Lei, E. Rundensteiner, E. Bertino: Multi-route Query Processing and
Optimization, 2012. The first stage runs one route, A-Greedy's, and samples; from the sample the
search finds a mesh, which is used if it is measurably cheaper (plan staging, Section 4.2).

>>> from anabranch.model import Attribute, Operator, Query
>>> learner = QueryMesh().bind(Query((Operator("a"), Operator("b")), (Attribute("x"),)))
>>> learner.sampling().rate, learner.sampling().rows  # a first slice is sampled in full
(1.0, 50)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from anabranch.model import Cells, Classifier, InputError, Mesh, Query, Windowed
from anabranch.policies.agreedy import AGreedy
from anabranch.policies.base import Event, Feedback, Floats, Opinion, Policy, Sampling
from anabranch.policies.keep_or_drop import KeepOrDrop
from anabranch.policies.measured import check_rows, check_share
from anabranch.policies.query_mesh.agree import agree
from anabranch.policies.query_mesh.allowance import CREDIT_ROWS, Allowance
from anabranch.policies.query_mesh.brain import Alarm
from anabranch.policies.query_mesh.evidence import EARLY, Evidence
from anabranch.policies.query_mesh.optimise import THOROUGH, Settings, Solution, Task, Thought
from anabranch.policies.query_mesh.refine import Refinement
from anabranch.policies.query_mesh.repair import expected
from anabranch.policies.query_mesh.search import SEARCHES, Stop
from anabranch.policies.query_mesh.starts import STARTS
from anabranch.policies.query_mesh.watch import Watcher
from anabranch.policies.trial import DOUBT, MOST_ROWS, Trial
from anabranch.stats import RoutingCost

# A mesh must be expected to save this share of the cost of the plan in force to be tried.
WORTH_TRYING = 0.01
# A sample is stable if rows cost at most this share more under meshes that were found without them.
STABLE = 0.03
# While there is news to expect, a slice has at most this part of the rows since the start.
SLICES, LEAST_SLICE = 3, 150
# What all rows tell is looked at when there are this factor of rows, or so many more. A refined
# mesh must be expected to save this share, a first one more.
REFINE_GROWTH, REFINE_ROWS, GAIN, FIRST_GAIN = 1.4, 50_000, 0.005, 0.015
# While such looks bring news, they come more often, down to every so many rows; tallies then forget
# faster, too: they remember so many times these rows.
LEAST_PACE, MEMORY = 5_000, 3.0
# Rows under a new mesh, and after an alarm, before its cells and routes are mended by them.
SETTLED_ROWS, REPAIR_ROWS = 1_500, 1_000
# Calls that a ruster of its own costs: others wait for the same operators. The most rows asked of
# one.
EXTRA_CALLS, LARGEST_RUSTER = 2, 1_000
# Rows without news after which less is sampled and learned.
CALM_ROWS = 50_000
# Rows for which cells are counted before a mesh is known to pay, and the factor when one did.
SCOUT_ROWS, LONG_SCOUT = 30_000, 5
# The less a mesh is expected to save, the longer the trial: by the spread of a row's cost.
SPREAD, LONGEST_TRIAL = 1.5, 8_000
# A-Greedy's profile window. To a budget of 1 % one of the paper's 1000 rows takes hundreds of
# thousands of rows to turn over; a quarter of it costs the same on stable data and follows a drift
# much faster.
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
    ruster
        Rows that a ruster must have: the rows of a route that fewer take join the largest one.
        `"auto"`: as many as make up for the calls that a ruster of its own costs.
    tolerance
        Share of a route's cost within which orders are as good as each other: there the route is
        uncertain, and a lottery decides.
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
    ruster: int | str = "auto"
    tolerance: float = 0.002
    budget: float = 0.01
    duty: float = 0.15
    first_rows: int = 150
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("sample", "condensed", "iterations", "first_rows"):
            check_rows(name, getattr(self, name))
        if self.window is not None:
            check_rows("window (or None)", self.window)
        if self.ruster != "auto":
            check_rows('ruster (or "auto")', self.ruster)
        if not 0 <= self.tolerance < 1:
            raise InputError(f"tolerance is a share from 0 to below 1, got {self.tolerance!r}")
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
        self._evidence = Evidence(self.query, self.sample, self.seed)
        self._allowance = Allowance(self.budget, self.duty, 0 if start else CREDIT_ROWS)
        self._watcher = Watcher()
        self._thought: Thought | None = None
        self._thoughts = 0
        self._trace: tuple[tuple[int, float], ...] = ()  # of the last search
        self._test = KeepOrDrop()
        self._proposal: Proposal | None = None  # on trial
        self._refinement: Refinement | None = None  # of the classifier in force
        self._refine_at = 0
        self._pace = float(REFINE_ROWS)  # rows from one look at the tallies to the next
        self._since = 0  # the last alarm
        self._bore_at = CALM_ROWS
        self._scout_until = 0  # until then rows are classified only to count them
        self._routing = RoutingCost()
        self._extra = 0.0  # seconds to evaluate a sampled row by all that would not see it
        self._cost = 0.0  # seconds per row
        self._costs: Floats = np.ones(len(self.query))  # seconds per row of each operator
        self._learned_something = False  # in the last slice
        self._saved = 0.0  # seconds per row by which the mesh is better than one route
        self._rows = 0

    def beside(self) -> None:
        from anabranch.policies.query_mesh.beside import Beside  # needs what workers may lack

        self._watcher.brain = Beside()

    def close(self) -> None:
        self._watcher.brain.close()

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

    def testimony(self) -> dict[str, Any] | None:
        return self._evidence.news(self._single.costs(), self._trace)

    def agree(self, query: Query, opinions: Sequence[Opinion], search: bool = True) -> Mesh | None:
        return agree(query, opinions, self.seed, search)

    def sampling(self) -> Sampling:
        told = self._sampling()
        rows = told.rows
        if rows and self.window:  # a slice has whole windows
            rows = -(-rows // self.window) * self.window
        return replace(told, rows=rows, least=self._least_ruster)

    @property
    def _least_ruster(self) -> int:
        """Rows that save what the calls of a ruster of its own cost."""
        if self.ruster != "auto":
            # A short slice has fewer rows of every route.
            rows = self._test.trial.slice_rows if self._test.trial else self._batch
            return int(int(self.ruster) * min(rows / self._batch, 1.0))
        if self._mesh is None or self._saved <= 0:
            return 0
        call = self._single.fixed_cost() / len(self.query)
        return int(min(EXTRA_CALLS * call / self._saved, LARGEST_RUSTER))

    def _sampling(self) -> Sampling:
        first = self._single.sampling()
        if len(self.query) < 2 or self._single.beginning:
            return first
        if self._test.trial is not None:
            return Sampling(rows=self._test.trial.slice_rows)
        seen = self._rows - self._since
        rows = max(LEAST_SLICE, seen // SLICES) if self._evidence.eager else None
        usual = min(rows or self._batch, self._batch)
        if not self._allowance.may_learn:
            return Sampling(rows=rows)
        if self._evidence.free:
            return Sampling(self._evidence.rate(usual), None, rows)
        return Sampling(self._allowance.rate(usual, self._extra), first.extra, rows)

    # What is learned ------------------------------------------------------------------------

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        if not feedback.rows or len(self.query) < 2:
            return ()
        self._rows += feedback.rows
        self._allowance.pay(feedback.learning, not self._learned_something)
        self._learned_something = len(feedback.profiled) > 0
        self._tally(feedback)
        switched = self._single.observe(feedback)
        self._costs = self._single.cautious_costs()
        beginning = self._single.beginning
        self._evidence.update(feedback, self._single.costs(), self._knows_nothing)
        self._pay(feedback)
        if self._mesh is not None or self._proposal is not None:
            if switched:  # what the sampled rows say of one route has changed: does the mesh pay?
                self._test.hurry(self._rows)
            switched = ()  # the order is kept for the day when one route is better again
        if beginning:
            return switched
        if self._in_force:
            self._watcher.update(feedback, self.plan(), self._costs, self._rows)
        if failure := self._watcher.failed():
            return (*switched, Event("alone", self._rows, repair=failure))
        if alarm := self._watcher.alarm(self._rows):
            return (*switched, self._drift(alarm))
        if self._test.trial is not None:
            return (*switched, *self._try(self._test.trial, feedback))
        self._think()
        return switched

    @property
    def _in_force(self) -> bool:
        """Whether the slice ran under the plan in force, and not under one that is tried."""
        trial = self._test.trial
        return trial is None or (trial.turn == "with") == trial.audit

    @property
    def _knows_nothing(self) -> bool:
        """Whether no attribute is known to tell rows apart."""
        return self._mesh is None and self._refinement is None and not self._single.beginning

    def _tally(self, feedback: Feedback) -> None:
        """Count rows by the cells that they were classified by."""
        trial, proposal = self._test.trial, self._proposal
        refinement = self._refinement
        if trial is not None and proposal is not None and trial.turn == "with":
            refinement = proposal.refinement
        if refinement is not None and (self._allowance.may_learn or trial is not None):
            refinement.update(feedback)
            self._learned_something = True

    def _pay(self, feedback: Feedback) -> None:
        costs, work = self._costs, self._single.work(feedback)
        extra = np.zeros(len(self.query))
        for call in feedback.calls:
            extra[call.operator] += call.extra
        self._cost = float(work @ costs)
        self._extra = max(float(costs.sum()) - self._cost, 0.0)
        if len(feedback.cells):
            self._routing.update(feedback.rows, feedback.routing)
        if not self._single.beginning:
            # What nothing was timed of yet has no cost to speak of: no more was earned than spent.
            useful = min(self._cost * feedback.rows, feedback.spent)
            paid = min(float(extra @ costs), feedback.spent)
            self._allowance.earn(useful, paid, feedback.spent, self._cost)

    @property
    def _batch(self) -> float:
        return max(self._single.slice_rows, 1.0)

    @property
    def _classifying(self) -> float:
        """Seconds per row."""
        return self._routing.get(self._batch)

    @property
    def _overhead(self) -> float:
        """Seconds per row that a further route costs: one more call, spread over a batch."""
        return self._single.fixed_cost() / len(self.query) / self._batch

    def _drift(self, alarm: Alarm) -> Event:
        """The data is not what it was: sample anew, and mend the mesh by what all rows tell now."""
        self._test.abandon()
        self._proposal = None
        self._begin_again()
        if self._refinement is not None:
            self._refinement.clear()
            self._refine_at = self._rows + REPAIR_ROWS
            self._test.audit_at = max(self._test.audit_at, self._rows + 2 * REPAIR_ROWS)
        reading = alarm.reading
        return Event("drift", self._rows, attribute=reading.what, routes=reading.route + 1)

    def _begin_again(self) -> None:
        """What was learned from earlier rows no longer holds."""
        self._since = self._rows
        self._bore_at = self._rows + CALM_ROWS
        self._allowance.alarm()
        self._evidence.begin_again()
        self._thought = None

    # A mesh is looked for -------------------------------------------------------------------

    def _think(self) -> None:
        """Is there a better mesh? The cheapest ways to find one come first."""
        if self._rows >= self._bore_at:
            self._bore()
        if self._thought is None:
            self._refine()
        mending = self._refinement is not None and self._rows < self._since + REPAIR_ROWS
        if self._test.trial is not None or mending:
            return
        if solution := self._watcher.solution():
            self._consider(solution)
            return
        if self._thought is None and self._evidence.is_due(self._knows_nothing):
            self._evidence.looked()
            self._thought = Thought(self._task(), self._evidence.register)
        if self._thought is not None:
            self._go_on(self._thought)

    def _go_on(self, thought: Thought) -> None:
        """A little further, as far as there is time."""
        first = self._thoughts < len(EARLY) and not self._since
        steps = self._allowance.steps(at_once=first)
        taken = 0
        while taken < steps and thought.solution is None:
            thought.step()
            taken += 1
        self._allowance.thought(taken)
        self._learned_something = True
        if thought.solution is not None:
            self._thought = None
            self._thoughts += 1
            self._trace = thought.solution.trace
            if thought.solution.gap > STABLE:
                self._evidence.grow()
            self._consider(thought.solution)
            if not self._evidence.eager and not self._knows_nothing:
                self._watcher.ask(self._task(thorough=True))

    def _task(self, thorough: bool = False) -> Task:
        stop = Stop(iterations=self.iterations)
        settings = Settings(
            self.condensed, self.search, self.start, stop, self.seed, self.tolerance
        )
        return Task(
            self._evidence.sample.copy(),
            self.query,
            self._costs,
            replace(THOROUGH, seed=self.seed, tolerance=self.tolerance) if thorough else settings,
            self._classifying,
            self._overhead,
            self._mesh,
            check=self._evidence.complete and not thorough,
        )

    def _consider(self, solution: Solution) -> None:
        """Try a mesh if the sample expects it to be better than the plan in force."""
        if solution.mesh.classifier is not None and self._promises(solution.mesh):
            mesh = replace(solution.mesh, classifier=self._windowed(solution.mesh.classifier))
            self._propose(Proposal(mesh, "re-train", Refinement.of(mesh, self._evidence.sample)))
        elif self._mesh is None and solution.partitions:
            self._scout(solution)
        elif not self._evidence.eager:
            self._bore()

    def _bore(self) -> None:
        """Nothing new: sample and learn less, until there is."""
        self._allowance.bore()
        self._bore_at = self._rows + CALM_ROWS

    def _promises(self, mesh: Mesh) -> bool:
        """Whether the sample expects a mesh to be better than the plan in force."""
        now, then = (
            expected(plan, self._evidence.sample, self._costs) for plan in (self.learned(), mesh)
        )
        then += self._classifying if self._mesh is None else 0.0
        return then < (1 - WORTH_TRYING) * now

    def _propose(self, proposal: Proposal, gain: float = 1.0, doubt: float = DOUBT) -> None:
        self._proposal = proposal
        self._test.begin(proposal.mesh, self.learned())
        assert self._test.trial is not None
        self._test.trial.doubt = doubt
        self._test.trial.most_rows = int(np.clip((SPREAD / gain) ** 2, MOST_ROWS, LONGEST_TRIAL))

    def _scout(self, solution: Solution) -> None:
        """No mesh pays by the sample, but attributes tell something: count rows by them."""
        cells = self._windowed(Cells(solution.partitions, ()))
        mesh = replace(self._single.plan(), classifier=cells)
        self._refinement = Refinement.of(mesh, self._evidence.sample)
        self._begin_scouting(SCOUT_ROWS)

    def _begin_scouting(self, rows: int) -> None:
        self._refine_at = self._rows + min(max(self._rows, SETTLED_ROWS), LEAST_PACE)
        self._scout_until = self._rows + rows

    def _refine(self) -> None:
        """Are there better routes by what all rows told of their cells?"""
        sample = self._evidence.sample
        if self._refinement is None and self._mesh is not None and len(sample) >= LEAST_SLICE:
            self._refinement = Refinement.of(self._mesh, sample)  # the run began with a mesh
            self._refine_at = self._rows + SETTLED_ROWS
        if self._refinement is None:
            return
        if self._mesh is not None and self._rows >= self._test.audit_at:
            self._proposal = Proposal(self._mesh, "", self._refinement)
            self._test.begin(self._mesh, self._single.plan(), audit=True)
            assert self._test.trial is not None
            # Of plans that differ little, either is as good: it costs nothing to compare for long.
            self._test.trial.most_rows, self._test.trial.patient = LONGEST_TRIAL, True
            return
        if self._rows < self._refine_at or not self._allowance.may_learn:
            return
        self._learned_something = True
        self._refine_at = min(round(REFINE_GROWTH * self._rows), self._rows + round(self._pace))
        self._refinement.mesh = self.plan()
        self._refinement.remember(MEMORY * self._pace)
        repair, mesh, gain = self._refinement.repaired(self._costs, self._overhead)
        if self._mesh is None:
            gain -= self._classifying / max(self._cost, 1e-12)
        if gain >= (FIRST_GAIN if self._mesh is None else GAIN):
            doubt = DOUBT if self._mesh is None else 0.0
            self._propose(Proposal(mesh, repair, self._refinement), gain, doubt)
            return
        self._pace = min(REFINE_ROWS, 1.5 * self._pace)
        if self._mesh is None and self._rows >= self._scout_until:
            self._refinement = None

    def _windowed(self, classifier: Classifier) -> Classifier:
        return classifier if self.window is None else Windowed(classifier, self.window)

    # It is tried ----------------------------------------------------------------------------

    def _try(self, trial: Trial, feedback: Feedback) -> tuple[Event, ...]:
        costs, proposal = self._costs, self._proposal
        assert proposal is not None
        classified = self._mesh is not None and not trial.audit  # both plans classify rows
        charge = 0.0 if classified else self._classifying
        trial.update(feedback.rows, self._single.work(feedback), costs, charge)
        if trial.kept is None:
            return ()
        measured = trial.without.mean(costs), trial.with_it.mean(costs)
        # A mesh that takes the place of another was not compared with one route.
        self._test.close(trial, self._rows, older=self._mesh is not None)
        self._proposal = None
        if trial.audit or self._mesh is None:
            self._saved = trial.saved
        if trial.audit:
            return () if trial.kept else (self._fall_back(proposal, measured),)
        before = self.learned().routes[0].order
        if trial.kept:
            self._adopt(proposal)
        elif proposal.refinement is self._refinement:
            self._refine_at = 2 * self._rows
        kind = "upgrade" if trial.kept else "revert"
        return (self._told(kind, proposal, before, measured),)

    def _adopt(self, proposal: Proposal) -> None:
        self._bore_at = self._rows + CALM_ROWS
        if proposal.refinement is self._refinement:  # what all rows tell has changed
            self._pace = max(LEAST_PACE, self._pace / 2)
        several = len(proposal.mesh.routes) > 1
        self._mesh = proposal.mesh if several else None
        self._refinement = proposal.refinement if several else None
        self._refine_at = self._rows + SETTLED_ROWS

    def _fall_back(self, proposal: Proposal, measured: tuple[float, float]) -> Event:
        """One route for all rows is better again."""
        before = self.learned().routes[0].order
        self._mesh = None
        self._begin_again()
        # What told rows apart may do so again: they are counted by it for a while.
        classifier = proposal.mesh.classifier
        assert classifier is not None
        proposal.refinement.clear()
        proposal.refinement.mesh = replace(self._single.plan(), classifier=classifier.labelled({}))
        self._begin_scouting(LONG_SCOUT * SCOUT_ROWS)
        return self._told("fallback", proposal, before, measured)

    def _told(
        self, kind: str, proposal: Proposal, before: tuple[str, ...], measured: tuple[float, float]
    ) -> Event:
        classifier = proposal.mesh.classifier
        return Event(
            kind,
            self._rows,
            before,
            self.learned().routes[0].order,
            *measured,
            attribute=", ".join(classifier.attributes) if classifier else "",
            routes=len(proposal.mesh.routes),
            repair=proposal.repair,
        )


@dataclass
class Auto(QueryMesh):
    """The policy that nobody has to think about: A-Greedy, and a mesh where that measurably pays.

    It is `QueryMesh` as it is, but takes few attributes where none are named: those that the
    predicates read, and some more. Without attributes that tell anything it stays with one route.
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "A-Greedy, upgraded to a mesh where that measurably pays"
    most_attributes: ClassVar[int] = 6
