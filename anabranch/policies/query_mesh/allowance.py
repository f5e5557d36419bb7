"""What sampling and learning may cost, as shares of the time that the operators take."""

from dataclasses import dataclass

# Rows whose sampling may be paid before it is earned: at the start, and after an alarm.
CREDIT_ROWS = 200
# Rows that are sampled at once, at least or none, and at most: to sample any makes every call
# of a slice dearer. With more, a drift of a single route would be noticed too late.
LEAST_SAMPLED, MOST_SAMPLED = 50, 1_000
# In calm less is sampled and learned, by this factor for every sample without news, down to this
# share.
CALMING, LEAST_RATE = 0.5, 0.2
# Learning may be paid before it is earned, by what so many rows cost as far as one costs more than
# a few microseconds, at most so many seconds for each group of attributes: where rows are cheap it
# must be earned.
THOUGHT_ROWS, CHEAP_ROW, MOST_THOUGHT = 10_000, 4e-6, 0.03
# A hiccup of the machine must not end learning for good.
LONGEST_THOUGHT = 0.1
# Share of a batch's time for thought that other learning leaves it, however long that takes.
LEAST_LEFT = 0.3
# Seconds that a step of thought is believed to take before one was timed, and the steps that this
# weighs as much as; how earlier steps fade.
FIRST_STEP, FIRST_STEPS, FADING = 1e-4, 50, 0.7
# Of the duty, the share that is planned for in the first batches: what a row or a piece of learning
# takes is hardly known there.
EARLY_DUTY, EARLY_BATCHES = 0.92, 3
# Share of the time left that steps are planned for: some take longer than others.
CAUTION = 0.6


@dataclass
class Allowance:
    """Earned by useful work; half of the budget is for sampling, half for learning from it.

    Of that, half is for thought: a search that was dear must not keep rows from being counted.

    Parameters
    ----------
    budget
        Share of the useful work that evaluating sampled rows and learning may add.
    duty
        Share of a batch's time that thought, with other learning, may add to it.

    Examples
    --------
    >>> allowance = Allowance(budget=0.02, duty=0.15)
    >>> allowance.rate(rows=1_000, extra=2e-5)  # on credit
    0.2
    >>> allowance.earn(useful=1.0, extra=0.012, spent=1.1, row_cost=1e-5)
    >>> round(allowance.rate(rows=1_000, extra=2e-5), 3)
    0.1
    >>> allowance.pass_by(rows=2_000, batch=10_000, spent=0.02)  # as it goes, it takes 0.1 s
    >>> allowance.steps()  # 15 ms, less a safety margin
    82
    """

    budget: float
    duty: float
    credit: int = CREDIT_ROWS  # rows that may be sampled before that is earned
    groups: int = 1  # of attributes, which are judged in turns
    calm: float = 1.0
    _sampling: float = 0.0  # seconds left for evaluating sampled rows
    _learning: float = 0.0  # seconds left for taking in sampled rows and counting others
    _thinking: float = 0.0  # seconds left for searches
    _thought: float = 0.0  # seconds of thought in this batch
    _besides: float = 0.0  # seconds of other learning in it
    _rows: int = 0  # of this batch, so far
    _batch: int = 0  # rows that it has in all
    _batches: int = 0  # so far, with this one
    _spent: float = 0.0  # seconds that it has taken so far
    _row: float = 0.0  # seconds that a row takes
    _timed: tuple[float, float] = (FIRST_STEPS * FIRST_STEP, FIRST_STEPS)  # seconds, steps
    _steps: int = 0  # of thought since the last payment
    _advance: float = 0.0  # seconds that learning may be overdrawn by
    _usual: float = 0.0  # seconds that an ordinary slice takes to learn from
    _intake: float = 0.0  # seconds that sampled and counted rows take beyond that

    def earn(self, useful: float, extra: float, spent: float, row_cost: float) -> None:
        """A slice took `spent` seconds; its operators `useful`, and `extra` for sampled rows."""
        half = self.calm * self.budget / 2
        self._sampling += half * useful - extra
        self._learning += half / 2 * spent
        self._thinking += half / 2 * spent
        dear = max(row_cost - CHEAP_ROW, 0.0)
        self._advance = min(THOUGHT_ROWS * dear, self.groups * MOST_THOUGHT)
        self._row = row_cost

    def pass_by(self, rows: int, batch: int, spent: float) -> None:
        """Rows of a batch went by. Each batch has its time for thought, which may be used at once.

        What was not used is not saved up: no batch is to wait long.
        """
        if self._rows >= self._batch:  # the one before is over
            self._thought = max(self._thought - self._time, 0.0)
            self._rows, self._spent, self._besides = 0, 0.0, 0.0
            self._batches += 1
        self._rows, self._batch = self._rows + rows, batch
        self._spent += spent

    @property
    def _time(self) -> float:
        """Seconds by which thought may prolong a batch that other learning prolongs, too."""
        return max(self._whole - self._besides, LEAST_LEFT * self._whole)

    @property
    def _whole(self) -> float:
        """Seconds by which all learning is to prolong a batch."""
        left = max(self._batch - self._rows, 0)
        duty = self.duty * (EARLY_DUTY if self._batches <= EARLY_BATCHES else 1.0)
        return duty * (self._spent + left * self._row)

    @property
    def in_time(self) -> bool:
        """Whether learning has not prolonged the batch by all that it may."""
        return self._besides + self._thought < self._whole

    def pay(self, learning: float, ordinary: bool) -> None:
        """Learning took so long the last time; was there nothing but an ordinary slice?

        What comes with every slice cannot be saved, and is not counted.
        """
        if ordinary:
            self._besides += learning
            self._usual += 0.3 * (learning - self._usual)
            return
        took = min(max(learning - self._usual, 0.0), LONGEST_THOUGHT)
        if not self._steps:
            self._besides += learning
            self._intake += 0.3 * (took - self._intake)
            self._learning -= took
            return
        intake = min(took, self._intake)
        self._besides += intake
        self._learning -= intake
        self._pay_thought(took - intake)

    def _pay_thought(self, seconds: float) -> None:
        self._thinking -= seconds
        self._thought += seconds
        self._timed = FADING * self._timed[0] + seconds, FADING * self._timed[1] + self._steps
        self._steps = 0

    @property
    def may_learn(self) -> bool:
        """Whether there is time to learn from sampled rows, and to count others."""
        return self._learning > -self._advance

    @property
    def may_think(self) -> bool:
        """Whether there is time for another search."""
        return self._thinking > -self._advance

    def rate(self, rows: float, extra: float) -> float:
        """Share of so many rows to sample, each at `extra` seconds."""
        if extra <= 0 or rows <= 0:
            return 0.0
        affordable = self._sampling / extra + self.credit
        if affordable < LEAST_SAMPLED:
            return 0.0
        return float(min(affordable, MOST_SAMPLED) / max(rows, min(affordable, MOST_SAMPLED)))

    def alarm(self) -> None:
        """The data is not what it was: sample and learn at once."""
        self.calm = 1.0
        self._sampling, self._learning = max(self._sampling, 0.0), max(self._learning, 0.0)
        self._thinking = max(self._thinking, 0.0)
        self.credit = CREDIT_ROWS

    def bore(self) -> None:
        """A whole sample brought no news."""
        self.calm = max(LEAST_RATE, CALMING * self.calm)
        # What was advanced need not be paid back at the lower rate; what was saved is kept.
        self._sampling, self.credit = max(self._sampling, 0.0), 0

    def steps(self) -> int:
        """Steps of thought that there is time for now."""
        left = self._time - self._thought
        seconds, steps = self._timed
        return max(1, int(CAUTION * left * steps / max(seconds, 1e-9))) if left > 0 else 0

    @property
    def has_time(self) -> bool:
        """Whether there will be time for thought after the next rows: a new batch brings some."""
        if self._rows < self._batch:
            return self.steps() > 0
        brought = self.duty * self._batch * self._row
        return brought > self._thought - self._time

    def thought(self, steps: int) -> None:
        """So many steps were taken; what they took is told with the next feedback."""
        self._steps += steps
