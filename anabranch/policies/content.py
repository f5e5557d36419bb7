"""Content-Learns: classes of rows are found while the data flows, each with an order of its own.

P. Bizarro, S. Babu, D. DeWitt, J. Widom: Content-Based Routing: Different Plans for Different Data,
VLDB 2005, Section 4. An operator whose selectivity depends on an attribute is paired with it; a row
goes to the operator that drops most per cost for rows with the same attribute values.

>>> from anabranch.model import Attribute, Operator, Query
>>> learner = ContentLearns().bind(Query((Operator("a"), Operator("b")), (Attribute("x"),)))
>>> learner.sampling().rate, learner.sampling().rows  # a first slice is profiled in full
(1.0, 50)
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np

from anabranch.model import InputError, Mesh
from anabranch.policies.base import Event, Feedback, Sampling
from anabranch.policies.drift import Watch
from anabranch.policies.eddy import check_alpha
from anabranch.policies.judge import Judge
from anabranch.policies.keep_or_drop import KeepOrDrop
from anabranch.policies.knowledge import Knowledge
from anabranch.policies.measured import COLD_ROWS, Measured, check_rows, check_share
from anabranch.policies.pace import SLICES, slice_rows
from anabranch.policies.planner import Planner
from anabranch.policies.purse import Purse
from anabranch.policies.register import Found, Register
from anabranch.policies.trial import Trial
from anabranch.policies.turns import LONGEST_TURN, Turns
from anabranch.stats.routing_cost import CLASSIFYING

# Bounds on |R| when it is chosen automatically.
LEAST_SAMPLE, MOST_SAMPLE = 150, 1_500
# A new plan must be expected to save this share.
GAIN = 0.005
# New pairs are tried together when a round is over, or when they are expected to save this share.
PROMISING = 0.02
# Ordinary rows of a slice that are looked at while nothing is found, and how long.
FREE_ROWS, CURIOUS = 1_000, 0.3
# A plan is made anew when the worker has seen this factor of rows, or this many more.
REPLAN_GROWTH, REPLAN_ROWS = 1.4, 20_000
# After a drift the next one is not looked for within so many times the rows of a first profile.
QUIET = 50


@dataclass
class ContentLearns(Measured):
    """Route by content: several orders, found and dropped by what they measurably save.

    Parameters
    ----------
    p
        Share of the rows that is profiled, one operator at a time: they meet it first. `"auto"`
        profiles all rows of short slices instead, as often as `budget` allows.
    sample
        Rows that profile an operator before its attributes are judged (|R|). `"auto"`: 150, more
        if calls have a large fixed cost or nothing is given up by it, at most 1,500; the evidence
        of earlier turns counts, up to 6,000 rows.
    partitions
        Parts of an attribute's domain (d). `"auto"`: one per known value where there are few, else
        equal shares of the rows, as many as the sample can tell apart and at most 64.
    threshold
        Gain ratio above which an attribute can be a classifier. It must also be more than chance.
    pairs
        Whether two attributes are tried together when no single one is a classifier.
    alpha
        Memory of the selectivities; see `Eddy`.
    budget
        Share of the work that profiling may add, with `p="auto"`.
    first_rows
        Rows profiled in full by all operators at the start, besides 50 that warm up; 0 for the
        paper's way.

    The paper's setting is `ContentLearns(p=0.06, sample=150, partitions=24, first_rows=0)`.
    """

    name: ClassVar[str] = "content"
    summary: ClassVar[str] = "Content-Learns: an order per class of rows, classes found on the way"
    uses_attributes: ClassVar[bool] = True
    p: float | str = "auto"
    sample: int | str = "auto"
    partitions: int | str = "auto"
    threshold: float = 0.001
    pairs: bool = True
    alpha: float = 0.999
    budget: float = 0.003
    first_rows: int = 50

    def __post_init__(self) -> None:
        if self.p != "auto":
            check_share('p (or "auto")', self.p)
        if self.sample != "auto":
            check_rows('sample (or "auto")', self.sample)
        if self.partitions != "auto":
            check_rows('partitions (or "auto")', self.partitions, "")
        if not 0 <= self.threshold < 1:
            raise InputError(f"threshold is a gain ratio from 0 to below 1, got {self.threshold!r}")
        if self.first_rows:
            check_rows("first_rows (or 0)", self.first_rows)
        check_alpha(self.alpha)
        check_share("budget", self.budget)

    # State ----------------------------------------------------------------------------------

    def begin(self, start: Mesh | None) -> None:
        super().begin(start)
        parts = None if self.partitions == "auto" else int(self.partitions)
        rows = 0 if self.sample == "auto" else int(self.sample)
        register = Register(self.query.attributes, len(self.query), parts, rows)
        self._known = Knowledge(self.query, register, self.alpha)
        self._pairs = self._known.pairs
        self._judge = Judge(self._known, self.threshold, self.pairs)
        self._purse = Purse(self.budget)
        self._test = KeepOrDrop()
        self._cold = COLD_ROWS
        self._to_profile = COLD_ROWS + self.first_rows if self.first_rows and not start else 0
        self._turns = Turns()
        self._cost = 0.0  # seconds per row of the last slice
        self._watch = Watch()
        self._replan_at = self._quiet_until = 0
        self._mesh = start or Mesh.single(self.query, self.query.written())
        self._reported = self._mesh  # the last one that an event told of
        if start is not None:
            self._known.resume(start)

    # What to do next ------------------------------------------------------------------------

    def plan(self) -> Mesh:
        return self._mesh

    def learned(self) -> Mesh:
        """The plan without what a turn or a trial changes for its time."""
        passing = self._turns.profiling is not None or self._test.trial is not None
        return self._planner().build(self._pairs.in_use) if passing else self._mesh

    def sampling(self) -> Sampling:
        if len(self.query) < 2:
            return Sampling()
        if self._to_profile:
            return Sampling.everything(len(self.query), 1.0, self._cold or self._to_profile)
        if self._test.trial is not None:
            return Sampling(rows=self._test.trial.slice_rows)
        if self._turns.profiling is None:
            by_slice = self.fixed_cost() + self._purse.learning
            rows = self._cold or slice_rows(self._rows, self._cost, by_slice)
            return Sampling(self._free_rate(rows), rows=rows)
        return self._turns.sampling(self.p)

    def _free_rate(self, rows: int) -> float:
        """Share of ordinary rows to look at; no evaluation is made for it."""
        if self._strange():
            return 1.0
        if self._pairs.in_use or not self.query.attributes:
            return 0.0
        if self._purse.curiosity < CURIOUS or not self._purse.may_think(self._cost):
            return 0.0
        return min(1.0, FREE_ROWS / min(rows, max(self.slice_rows, 1.0)))

    def _strange(self) -> bool:
        """Whether the run began with a plan and has not seen yet which classes there are."""
        return bool(self._pairs.in_use) and self._known.register.kept < LEAST_SAMPLE

    @property
    def sample_rows(self) -> int:
        """|R|: enough rows to judge by, and for the fixed cost of calls to be small."""
        if self.sample != "auto":
            return int(self.sample)
        return int(np.clip(self.rows_to_hide(0.1), LEAST_SAMPLE, MOST_SAMPLE))

    # What is learned ------------------------------------------------------------------------

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        if not feedback.rows or len(self.query) < 2:
            return ()
        self.measure(feedback)
        # Calls of the short slices at the start can hide what a row costs behind what a call costs:
        # no operator is believed to cost less than classifying.
        self._costs = self._known.costs = np.maximum(self.cautious_costs(), CLASSIFYING)
        self._unit = median(self._costs.tolist())
        self._known.tally(feedback, self._mesh)
        self._purse.pay(feedback.learning)
        self._cold = max(0, self._cold - feedback.rows)
        if self._turns.profiling is None:  # what a turn leaves out as extra is work at other times
            self._cost = float(self.work(feedback) @ self._costs)
        if self._to_profile:
            return self._profile_all(feedback)
        if self._test.trial is not None:
            return self._try(self._test.trial, feedback)
        if self._turns.profiling is not None:
            return self._profile(self._turns.profiling, feedback)
        return self._follow(feedback)

    def _collect(self, feedback: Feedback, operators: Collection[int]) -> None:
        self._purse.collected = True
        self._known.collect(feedback, operators)

    # The first profile ----------------------------------------------------------------------

    def _profile_all(self, feedback: Feedback) -> tuple[Event, ...]:
        self._collect(feedback, range(len(self.query)))
        self._to_profile = max(0, self._to_profile - feedback.rows)
        if self._to_profile:
            return ()
        self._known.begin_overall()
        self._watch = Watch()
        events = self._settle(self._search(range(len(self.query))))
        return (*events, *self._try_new())

    def _search(self, operators: Collection[int]) -> dict[int, Found | None]:
        self._purse.judged = True
        return self._judge.search(operators)

    def _settle(self, found: Mapping[int, Found | None]) -> tuple[Event, ...]:
        events, news = self._judge.settle(found, self._rows)
        self._purse.notice(news)
        return tuple(events)

    # Keep or drop ---------------------------------------------------------------------------

    def _try_new(self) -> tuple[Event, ...]:
        """Begin to measure with and without the pairs noted, if they would change a route."""
        planner = self._planner()
        with_it, without = planner.build(self._pairs.known), planner.build(self._pairs.in_use)
        if not self._pairs.new or len(with_it.routes) == len(without.routes) == 1:
            self._pairs.settle(False, self._rows)  # would change nothing: not again soon
            return self._install(without)
        self._mesh = self._test.begin(with_it, without)
        return ()

    def _promising(self) -> bool:
        """Whether the pairs noted are expected to save enough for a short trial to show it."""
        planner, known = self._planner(), self._pairs.known
        now = planner.expected(planner.build(self._pairs.in_use), known)
        return planner.expected(planner.build(known), known) < (1 - PROMISING) * now

    def _try(self, trial: Trial, feedback: Feedback) -> tuple[Event, ...]:
        classifying = self._known.routing.get(self.slice_rows)
        trial.update(feedback.rows, self.work(feedback), self._costs, classifying)
        if trial.kept is None:
            self._mesh = self._test.next_mesh(trial)
            return ()
        self._test.close(trial, self._rows, older=bool(self._pairs.in_use))
        measured = trial.without.mean(self._costs), trial.with_it.mean(self._costs)
        if trial.audit:
            in_use = self._pairs.in_use
            return (
                self._install(self._planner().build(in_use))
                if trial.kept
                else self._forget(*measured)
            )
        kind = "keep" if trial.kept else "drop"
        events = self._pairs.tell(kind, self._pairs.new, self._rows, *measured)
        self._pairs.settle(trial.kept, self._rows)
        self._watch = Watch()
        return (*events, *self._install(self._planner().build(self._pairs.in_use)))

    def _audit(self) -> tuple[Event, ...]:
        """Do all pairs together still pay?"""
        planner = self._planner()
        with_them, without = planner.build(self._pairs.in_use), planner.build({})
        self._mesh = self._test.begin(with_them, without, audit=True)
        return ()

    # Round-robin profiling ------------------------------------------------------------------

    def _begin_turn(self) -> None:
        """Profile the next operator that is worth it; its pair is not used meanwhile."""
        early = bool(self._pairs.in_use) and self._turns.is_early(self._rows)
        wait = early or self._purse.is_empty(self._cost)
        if not self.query.attributes or (wait and self.p == "auto"):
            return
        worth = self._judge.worth()
        if not worth:
            return
        operator = self._turns.next(worth)
        rows = self._affordable(operator)
        if rows < self.sample_rows:
            self._turns.postpone(self._rows)
            return
        self._turns.begin(operator, rows)
        if self.sample != "auto":
            self._known.register.clear_operator(operator)
        if operator in self._pairs.in_use:
            self._mesh = self._planner().build(self._pairs.without(operator))

    def _affordable(self, operator: int) -> int:
        """Rows that may profile an operator now, by what that is expected to cost.

        What a turn did cost beyond the usual is lost in the noise of so few rows.
        """
        if self.p != "auto":
            return self.sample_rows
        planner, known = self._planner(), self._pairs.known
        usual = planner.expected(self._mesh, known)
        extra = max(0.0, planner.expected(self._mesh, known, operator) - usual)
        most, fixed = self.sample_rows, self.fixed_cost()  # a slice of its own, as short as can be
        if not self._pairs.in_use:  # nothing is given up meanwhile: as long as any slice
            most, fixed = max(most, min(self._rows // SLICES, LONGEST_TURN)), 0.0
        self._turns.extra, self._turns.fixed = extra, fixed
        return int(min(most, self._purse.affords(usual, extra, fixed)))

    def _profile(self, operator: int, feedback: Feedback) -> tuple[Event, ...]:
        # As long as all rows take one route, those that get further tell of other operators, too.
        self._collect(feedback, [operator] if self._pairs.in_use else range(len(self.query)))
        self._purse.allowance -= self._turns.extra * feedback.rows + self._turns.fixed
        if not self._turns.update(operator, feedback, self.sample_rows):
            return ()
        found = self._search([operator])
        if found.get(operator) is not None and operator not in self._pairs.in_use:
            # What is news for one may be so for others.
            found = self._search(self._judge.worth())
        events = self._settle(found)
        last = operator == max(self._judge.worth(), default=operator)
        if self._pairs.new and (last or self._promising()):
            return (*events, *self._try_new())
        events += self._install(self._planner().build(self._pairs.in_use))
        if not self._pairs.in_use:
            self._begin_turn()
        return events

    # Ordinary rows --------------------------------------------------------------------------

    def _follow(self, feedback: Feedback) -> tuple[Event, ...]:
        """Is the plan still right, is the next turn due?"""
        if len(feedback.profiled):
            # Under several routes the rows that an operator sees are not like all others.
            self._collect(feedback, () if self._pairs.in_use else range(len(self.query)))
        if self._strange():
            return ()
        self._purse.earn(feedback.spent)
        # In units of a usual evaluation: how busy the machine is does not matter.
        if self._watch.update(feedback.rows, self._cost / self._unit):
            if self._rows >= self._quiet_until:
                return self._start_over()
            self._watch = Watch()
        events: tuple[Event, ...] = ()
        if self._pairs.in_use and self._rows >= self._test.audit_at:
            # Pairs that wait for their trial must not put the audit off.
            return self._try_new() if self._pairs.new else self._audit()
        if self._rows >= self._replan_at:
            events = self._replan()
        self._begin_turn()
        return events

    def _start_over(self) -> tuple[Event, ...]:
        """The data is not what it was: begin as at the start."""
        before, after = self._unit * self._watch.usual.mean, self._unit * self._watch.risen_to
        self._to_profile = COLD_ROWS + (self.first_rows or LEAST_SAMPLE)
        self._quiet_until = self._rows + QUIET * self._to_profile
        drift = Event("drift", self._rows, cost_before=before, cost_after=after)
        return (drift, *self._forget())

    def _forget(self, *measured: float) -> tuple[Event, ...]:
        """Drop all pairs and the evidence for them, and look for new ones."""
        dropped = self._pairs.tell("drop", self._pairs.in_use, self._rows, *measured)
        self._known.forget()
        self._purse.begin_again()
        self._watch = Watch()
        return (*dropped, *self._install(self._planner().build({})))

    # Plans ----------------------------------------------------------------------------------

    def _replan(self) -> tuple[Event, ...]:
        """A plan by the newest selectivities, if it is expected to be better."""
        self._replan_at = min(round(REPLAN_GROWTH * self._rows), self._rows + REPLAN_ROWS)
        in_use = self._pairs.in_use
        worth = self._judge.worth()
        idle = {o: in_use.pop(o) for o in list(in_use) if o not in worth}
        if idle:
            dropped = self._pairs.tell("drop", idle, self._rows)
            return (*dropped, *self._install(self._planner().build(self._pairs.in_use)))
        planner, known = self._planner(), self._pairs.known
        mesh = planner.build(self._pairs.in_use)
        expected = planner.expected(self._mesh, known)
        if self._pairs.in_use:
            self._test.compare(self._watch.usual.mean * self._unit, expected)
        if planner.expected(mesh, known) <= (1 - GAIN) * expected:
            return self._install(mesh)
        return ()

    def _planner(self) -> Planner:
        # A further route means one more call, spread over a batch: rusters that wait for one
        # operator share a call.
        overhead = self.fixed_cost() / max(len(self.query), 1) / max(self.slice_rows, 1.0)
        return self._known.planner(overhead)

    def _install(self, mesh: Mesh) -> tuple[Event, ...]:
        """Follow a plan. What a turn or a trial changes for its time is no change of order."""
        self._mesh = mesh
        before, self._reported = self._reported, mesh
        orders = before.routes[0].order, mesh.routes[0].order
        if orders[0] == orders[1] and len(before.routes) == len(mesh.routes):
            return ()
        expected = self._planner().expected(mesh, self._pairs.known)
        return (Event("switch", self._rows, *orders, self._cost, expected),)
