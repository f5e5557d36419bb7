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

from anabranch.model import Cells, Mesh, Query
from anabranch.policies.agreedy import AGreedy
from anabranch.policies.base import Event, Feedback, Opinion, Sampling
from anabranch.policies.query_mesh.agree import agree
from anabranch.policies.query_mesh.allowance import CREDIT_ROWS, Allowance
from anabranch.policies.query_mesh.brain import Alarm
from anabranch.policies.query_mesh.contest import Contest, Proposal
from anabranch.policies.query_mesh.evidence import EARLY, Evidence
from anabranch.policies.query_mesh.means import Means
from anabranch.policies.query_mesh.optimise import Solution, Task
from anabranch.policies.query_mesh.parameters import Parameters
from anabranch.policies.query_mesh.refine import Refinement
from anabranch.policies.query_mesh.slices import slice_rows
from anabranch.policies.query_mesh.thinking import Thinking
from anabranch.policies.query_mesh.tuning import REPAIR_ROWS, Tuning
from anabranch.policies.query_mesh.watch import Watcher
from anabranch.policies.trial import DOUBT

# A mesh by what all rows tell must be expected to save this share of the cost of the plan in force
# to be tried, a first one more.
GAIN, FIRST_GAIN = 0.005, 0.015
# A sample is stable if rows cost at most this share more under meshes that were found without them.
STABLE = 0.03
# Rows without news after which less is sampled and learned.
CALM_ROWS = 50_000
# A-Greedy's profile window. To a budget of 1 % one of the paper's 1000 rows takes hundreds of
# thousands of rows to turn over; a quarter of it costs the same on stable data and follows a drift
# much faster.
WINDOW = 250


@dataclass
class QueryMesh(Parameters):
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
        Local optimisations or temperatures at most. None: 3 of the first, or until it is frozen.
    plateau, seconds, subsets
        When else a search ends: iterations in a row that brought nothing better, its time, and its
        memory, in subsets of training tuples whose cost is kept. None: no such limit.
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
        Share of the useful work that sampling, and learning from it, may add.
    duty
        Share of a batch's time that searching, with other learning, may add.
    first_rows
        Rows sampled in full at the start, besides 50 that warm up.
    seed
        For the sample and the search.
    """

    name: ClassVar[str] = "mesh"
    summary: ClassVar[str] = "Query Mesh: several routes and a classifier, found from a sample"
    uses_attributes: ClassVar[bool] = True

    # State ----------------------------------------------------------------------------------

    def begin(self, start: Mesh | None) -> None:
        stage = AGreedy(p="auto", window=WINDOW, budget=self.budget, first_rows=self.first_rows)
        self._single = stage.bind(self.query, start)  # one route for all rows
        self._mesh = start.alike(self.window) if start and start.celled else None  # if any
        self._evidence = Evidence(self.query, self.sample, self.seed)
        credit, groups = 0 if start else CREDIT_ROWS, self._evidence.groups
        self._allowance = Allowance(self.budget, self.duty, credit, groups)
        self._early = len(EARLY) * groups  # searches that are made of few rows
        self._watcher = Watcher()
        self._thinking = Thinking()
        self._contest = Contest()
        self._tuning = Tuning()
        if self._mesh is not None:
            self._tuning.begin(Refinement.blank(self._mesh), 0)
        self._means = Means(self._single)
        self._given = start is not None
        self._since = 0  # the last alarm
        self._bore_at = CALM_ROWS
        self._learned_something = False  # in the last slice
        self._wants_thorough = False  # search of the complete sample
        self._saved = 0.0  # seconds per row by which the mesh is better than one route
        self._rows = 0

    def beside(self) -> None:
        from anabranch.policies.query_mesh.beside import Beside  # needs what workers may lack

        self._watcher.brain = Beside()

    def close(self) -> None:
        self._watcher.brain.close()

    # What to do next ------------------------------------------------------------------------

    def plan(self) -> Mesh:
        if tried := self._contest.plan:
            return tried
        if self._mesh is None and self._tuning.refinement is not None:
            classifier = self._tuning.refinement.mesh.classifier
            return replace(self._single.plan(), classifier=classifier)
        return self.learned()

    def learned(self) -> Mesh:
        """The plan without what a trial changes for its time."""
        return self._mesh or self._single.plan()

    def testimony(self) -> dict[str, Any] | None:
        means = self._means
        return self._evidence.news(
            self._thinking.trace, classifying=means.classifying, overhead=means.overhead
        )

    def agree(self, query: Query, opinions: Sequence[Opinion], search: bool = True) -> Mesh | None:
        agreed = agree(query, opinions, self.seed, search, self.tolerance)
        return agreed.alike(self.window) if agreed else None

    def effort(self) -> int:
        return self._thinking.steps

    def sampling(self) -> Sampling:
        told = self._sampling()
        rows = told.rows
        if rows and self.window:  # a slice has whole windows
            rows = -(-rows // self.window) * self.window
        saved = self._saved if self._mesh else 0.0
        least = self._means.least_ruster(saved) if self.ruster == "auto" else int(self.ruster)
        return replace(told, rows=rows, least=self._means.in_slice(rows, least))

    def _sampling(self) -> Sampling:
        if len(self.query) < 2 or self._single.beginning:
            return self._single.sampling()
        if self._contest.trial is not None:
            return Sampling(rows=self._contest.trial.slice_rows)
        rows = None
        thinks = self._thinking.busy and self._allowance.has_time
        if self._evidence.eager:
            seen = self._rows - self._since
            rows = slice_rows(seen, self._means.row, patient=self._fresh, thinks=thinks)
        usual = min(rows or self._means.batch, self._means.batch)
        if not self._allowance.may_learn:
            return Sampling(rows=rows)
        if self._evidence.free:  # thought comes first
            return Sampling(0.0 if thinks else self._evidence.rate(usual), None, rows)
        rate = self._allowance.rate(usual, self._means.extra)
        return Sampling.everything(len(self.query), rate, rows)

    # What is learned ------------------------------------------------------------------------

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        if not feedback.rows or len(self.query) < 2:
            return ()
        self._rows += feedback.rows
        self._thinking.steps = 0
        self._allowance.pay(feedback.learning, not self._learned_something)
        self._allowance.pass_by(feedback.rows, feedback.batch, feedback.spent)
        self._learned_something = len(feedback.profiled) > 0
        self._tally(feedback)
        switched = self._single.observe(self._evidence.complete_rows(feedback))
        self._take_in(feedback)
        promised = next((event.cost_after for event in switched), None)
        self._means.update(feedback, self._allowance, promised)
        if self._mesh is not None or self._contest.trial is not None:
            if switched:  # what the sampled rows say of one route has changed: does the mesh pay?
                self._contest.hurry(self._rows)
            switched = ()  # the order is kept for the day when one route is better again
        return switched if self._single.beginning else (*switched, *self._go_on(feedback))

    def _take_in(self, feedback: Feedback) -> None:
        costs = self._single.costs() if self._single.timed else np.full(len(self.query), np.nan)
        self._evidence.update(feedback, costs, self._knows_nothing)

    def _go_on(self, feedback: Feedback) -> tuple[Event, ...]:
        """Watch the plan in force, try another, or think of one."""
        if self._contest.in_force:
            self._watcher.update(feedback, self.plan(), self._means.costs, self._rows)
        if failure := self._watcher.failed():
            return (Event("alone", self._rows, repair=failure),)
        if alarm := self._watcher.alarm(self._rows):
            return (self._drift(alarm),)
        if self._contest.trial is not None:
            return self._try(feedback)
        self._think()
        return ()

    @property
    def _fresh(self) -> bool:
        """Whether all that is known was learned since the start."""
        return not self._since and not self._given

    @property
    def _knows_nothing(self) -> bool:
        """Whether no attribute is known to tell rows apart."""
        nothing = self._mesh is None and self._tuning.refinement is None
        return nothing and not self._single.beginning

    def _tally(self, feedback: Feedback) -> None:
        """Count rows by the cells that they were classified by."""
        refinement = self._contest.tallied(self._tuning.refinement)
        trying = self._contest.trial is not None
        if refinement is not None and (self._allowance.may_learn or trying):
            refinement.update(feedback)
            self._learned_something = True

    def _drift(self, alarm: Alarm) -> Event:
        """The data is not what it was: sample anew, and mend the mesh by what all rows tell now."""
        self._contest.abandon(audit_from=self._rows + 2 * REPAIR_ROWS)
        self._begin_again()
        self._tuning.alarm(self._rows)
        reading = alarm.reading
        return Event("drift", self._rows, attribute=reading.what, routes=reading.route + 1)

    def _begin_again(self) -> None:
        """What was learned from earlier rows no longer holds."""
        self._since = self._rows
        self._bore_at = self._rows + CALM_ROWS
        self._allowance.alarm()
        self._evidence.begin_again()
        self._thinking.forget()
        self._wants_thorough = False

    # A mesh is looked for -------------------------------------------------------------------

    def _think(self) -> None:
        """Is there a better mesh? The cheapest ways to find one come first."""
        if self._rows >= self._bore_at:
            self._bore()
        self._refine()
        mending = self._rows < self._since + REPAIR_ROWS and self._tuning.refinement is not None
        if self._contest.trial is not None or mending:
            return
        if solution := self._watcher.solution():
            self._consider(solution)
            return
        if self._wants_thorough and self._watcher.may_ask:
            self._wants_thorough = False
            self._watcher.ask(self._task(thorough=True))
        due = not self._thinking.busy and self._evidence.is_due(self._knows_nothing)
        if due and self._allowance.may_think:
            self._evidence.looked(self._knows_nothing)
            self._thinking.begin(self._task(), self._evidence.register)
        if self._thinking.busy and self._allowance.steps():
            self._learned_something = True
            self._evidence.count()
            if found := self._thinking.go_on(self._allowance):
                self._conclude(found)

    def _conclude(self, solution: Solution) -> None:
        """A search is over."""
        if not solution.partitions and self._knows_nothing:
            self._evidence.turn()
        if solution.gap > STABLE:
            self._evidence.grow()
        self._consider(solution)
        self._wants_thorough = not self._evidence.eager and not self._knows_nothing

    def _task(self, thorough: bool = False) -> Task:
        return Task(
            self._evidence.sample.copy(),
            self.query,
            self._means.costs,
            self.thorough if thorough else self.quick(first=self._thinking.done < self._early),
            self._means.classifying,
            self._means.overhead,
            self._mesh,
            check=self._evidence.complete and not thorough,
        )

    def _consider(self, solution: Solution) -> None:
        """Try a mesh if the sample expects it to be better than the plan in force."""
        found, told = solution.mesh, (self.learned(), self._evidence.sample, self._mesh is not None)
        if found.classifier is not None and self._means.promises(found, *told):
            mesh = found.alike(self.window)
            proposal = Proposal(mesh, "re-train", Refinement.of(mesh, self._evidence.sample))
            self._contest.propose(proposal, self.learned())
        elif self._mesh is None and solution.partitions:
            self._scout(solution)
        elif not self._evidence.eager and self._evidence.swept:
            self._bore()

    def _bore(self) -> None:
        """Nothing new: sample and learn less, until there is."""
        self._allowance.bore()
        self._bore_at = self._rows + CALM_ROWS

    def _scout(self, solution: Solution) -> None:
        """No mesh pays by the sample, but attributes tell something: count rows by them."""
        cells = Cells(solution.partitions, ())
        mesh = replace(self._single.plan(), classifier=cells).alike(self.window)
        self._tuning.scout(Refinement.of(mesh, self._evidence.sample), self._rows)

    def _refine(self) -> None:
        """Are there better routes by what all rows told of their cells?"""
        tuning, means = self._tuning, self._means
        refinement = tuning.refinement
        if refinement is None:
            return
        if self._mesh is not None and self._contest.is_audit_due(self._rows):
            self._contest.audit(Proposal(self._mesh, "", refinement), self._single.plan())
            return
        allowance = self._allowance
        if not tuning.is_due(self._rows) or not allowance.may_learn or not allowance.in_time:
            return
        self._learned_something = True
        repair, mesh, gain = tuning.look(self.plan(), means.costs, means.overhead, self._rows)
        least, doubt = GAIN, 0.0
        if self._mesh is None:
            gain -= means.classifying / max(means.row, 1e-12)
            least, doubt = FIRST_GAIN, DOUBT
        if gain >= least and len(mesh.routes) > 1:
            found = Proposal(mesh, repair, refinement)
            self._contest.propose(found, self.learned(), gain, doubt)
        else:
            tuning.bore(self._rows, scouting=self._mesh is None)
            if self._knows_nothing:  # what told something was of no use
                self._evidence.turn()

    # It is tried ----------------------------------------------------------------------------

    def _try(self, feedback: Feedback) -> tuple[Event, ...]:
        means, work = self._means, self._single.work(feedback)
        verdict = self._contest.update(
            feedback, work, means.costs, means.classifying, self._rows, self._mesh is not None
        )
        if verdict is None:
            return ()
        proposal, before = verdict.proposal, self.learned().routes[0].order
        if verdict.audit or self._mesh is None:
            self._saved = verdict.saved
        if verdict.audit:
            if verdict.kept:
                return ()
            self._fall_back(proposal)
            kind = "fallback"
        elif verdict.kept:
            self._adopt(proposal)
            kind = "upgrade"
        else:
            if proposal.refinement is self._tuning.refinement:
                self._tuning.in_vain(self._rows)
            elif self._mesh is None:
                self._count_by(proposal)
            kind = "revert"
        return (verdict.told(kind, self._rows, before, self.learned().routes[0].order),)

    def _adopt(self, proposal: Proposal) -> None:
        self._bore_at = self._rows + CALM_ROWS
        several = len(proposal.mesh.routes) > 1
        self._mesh = proposal.mesh if several else None
        self._evidence.free = False  # it is known what tells rows apart
        self._tuning.settle(proposal.refinement if several else None, self._rows)

    def _fall_back(self, proposal: Proposal) -> None:
        """One route for all rows is better again."""
        self._mesh = None
        self._begin_again()
        proposal.refinement.clear()
        self._count_by(proposal, again=True)

    def _count_by(self, proposal: Proposal, again: bool = False) -> None:
        """What tells rows apart may do so by other routes: rows are counted by it for a while."""
        celled = proposal.mesh.celled
        assert celled is not None
        proposal.refinement.mesh = replace(self._single.plan(), classifier=celled.labelled({}))
        self._tuning.scout(proposal.refinement, self._rows, again)
