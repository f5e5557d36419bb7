"""What sampling and learning may cost, as shares of the time that the operators take."""

from dataclasses import dataclass

# Rows whose sampling may be paid before it is earned: at the start, and after an alarm.
CREDIT_ROWS = 200
# In calm less is sampled and learned, by this factor for every sample without news, down to this
# share.
CALMING, LEAST_RATE = 0.5, 0.2
# Learning may be paid before it is earned, by what so many rows cost as far as one costs more than
# a few microseconds, at most so many seconds: where rows are cheap it must be earned.
THOUGHT_ROWS, CHEAP_ROW, MOST_THOUGHT = 10_000, 4e-6, 0.03
# A hiccup of the machine must not end learning for good.
LONGEST_THOUGHT = 0.1


@dataclass
class Allowance:
    """Earned by useful work; half of the budget is for sampling, half for learning from it.

    Parameters
    ----------
    budget
        Share of the useful work that evaluating sampled rows and learning may add.
    duty
        Share of a batch's time that thinking may add to it.

    Examples
    --------
    >>> allowance = Allowance(budget=0.02, duty=0.15)
    >>> allowance.rate(rows=1_000, extra=2e-5)  # on credit
    0.2
    >>> allowance.earn(useful=1.0, extra=0.012, spent=1.1, row_cost=1e-5)
    >>> round(allowance.rate(rows=1_000, extra=2e-5), 3)
    0.1
    """

    budget: float
    duty: float
    credit: int = CREDIT_ROWS  # rows that may be sampled before that is earned
    calm: float = 1.0
    _sampling: float = 0.0  # seconds left for evaluating sampled rows
    _learning: float = 0.0  # seconds left for learning
    _thinking: float = 0.0  # seconds left for thought in this batch
    _step: float = 0.0  # seconds that a step of thought takes
    _steps: int = 0  # of thought since the last payment
    _advance: float = 0.0  # seconds that learning may be overdrawn by
    _usual: float = 0.0  # seconds that an ordinary slice takes to learn from

    def earn(self, useful: float, extra: float, spent: float, row_cost: float) -> None:
        """A slice took `spent` seconds; its operators `useful`, and `extra` for sampled rows."""
        half = self.calm * self.budget / 2
        self._sampling += half * useful - extra
        self._learning += half * spent
        dear = max(row_cost - CHEAP_ROW, 0.0)
        self._advance = min(THOUGHT_ROWS * dear, MOST_THOUGHT)
        # What was not thought about in a batch is not saved up: no batch is to wait long.
        self._thinking = min(self._thinking, 0.0) + self.duty * spent

    def pay(self, learning: float, ordinary: bool) -> None:
        """Learning took so long the last time; was there nothing but an ordinary slice?

        What comes with every slice cannot be saved, and is not counted.
        """
        if ordinary:
            self._usual += 0.3 * (learning - self._usual)
            return
        took = min(max(learning - self._usual, 0.0), LONGEST_THOUGHT)
        self._learning -= took
        if self._steps:
            each = took / self._steps
            self._step = each if self._step == 0 else 0.7 * self._step + 0.3 * each
            self._thinking -= took
            self._steps = 0

    @property
    def may_learn(self) -> bool:
        """Whether there is time to learn from sampled rows, and to count others."""
        return self._learning > -self._advance

    def rate(self, rows: float, extra: float) -> float:
        """Share of so many rows to sample, each at `extra` seconds."""
        if extra <= 0 or rows <= 0:
            return 0.0
        affordable = self._sampling / extra + self.credit
        return float(min(max(affordable / rows, 0.0), 1.0))

    def alarm(self) -> None:
        """The data is not what it was: sample and learn at once."""
        self.calm = 1.0
        self._sampling, self._learning = max(self._sampling, 0.0), max(self._learning, 0.0)
        self.credit = CREDIT_ROWS

    def bore(self) -> None:
        """A whole sample brought no news."""
        self.calm = max(LEAST_RATE, CALMING * self.calm)
        # What was advanced need not be paid back at the lower rate.
        self._sampling, self.credit = 0.0, 0

    def steps(self, at_once: bool) -> int:
        """Steps of thought that there is time for now; `at_once` to the end, on credit."""
        if at_once and self._advance:
            return 1_000_000
        if self._thinking <= 0:
            return 0
        return max(1, int(self._thinking / self._step)) if self._step > 0 else 1

    def thought(self, steps: int) -> None:
        """So many steps were taken; what they took is told with the next feedback."""
        self._steps += steps
