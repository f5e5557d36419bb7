"""What sampling and thinking may cost, as shares of the time that the operators take."""

from dataclasses import dataclass

# Rows whose sampling may be paid before it is earned: at the start, and after an alarm.
CREDIT_ROWS = 300
# In calm the sampling rate falls by this factor for every sample without news, down to this share.
CALMING, LEAST_RATE = 0.5, 0.2
# The first thoughts are thought to their end at once, where a row costs as much as this: what they
# take is soon won back. Steps that such a thought has at most.
CHEAP_ROW, AT_ONCE = 4e-6, 5_000


@dataclass
class Allowance:
    """Earned by useful work; sampling and thinking are paid from it.

    Parameters
    ----------
    budget
        Share of the useful work that evaluating sampled rows may add.
    duty
        Share of the time that thinking may add.

    Examples
    --------
    >>> allowance = Allowance(budget=0.01, duty=0.15)
    >>> allowance.rate(rows=1_000, extra=2e-5)  # on credit
    0.3
    >>> allowance.earn(useful=1.0, extra=0.012, spent=1.1)
    >>> round(allowance.rate(rows=1_000, extra=2e-5), 3)
    0.2
    """

    budget: float
    duty: float
    credit: int = CREDIT_ROWS  # rows that may be sampled before that is earned
    calm: float = 1.0
    _sampling: float = 0.0  # seconds left for evaluating sampled rows
    _thinking: float = 0.0  # seconds left for thought
    _step: float = 0.0  # seconds that a step of thought takes
    _steps: int = 0  # of thought since the last payment

    def earn(self, useful: float, extra: float, spent: float) -> None:
        """A slice took `spent` seconds; its operators `useful`, and `extra` for sampled rows."""
        self._sampling += self.calm * self.budget * useful - extra
        # What was not thought about in a batch is not saved up: no batch is to wait long.
        self._thinking = min(self._thinking, 0.0) + self.duty * spent

    def rate(self, rows: float, extra: float) -> float:
        """Share of so many rows to sample, each at `extra` seconds."""
        if extra <= 0 or rows <= 0:
            return 0.0
        affordable = self._sampling / extra + self.credit
        return float(min(max(affordable / rows, 0.0), 1.0))

    def alarm(self) -> None:
        """The data is not what it was: sample at once."""
        self.calm = 1.0
        self._sampling = max(self._sampling, 0.0)
        self.credit = CREDIT_ROWS

    def bore(self) -> None:
        """A whole sample brought no news."""
        self.calm = max(LEAST_RATE, CALMING * self.calm)
        # What was advanced need not be paid back at the lower rate.
        self.credit = 0
        self._sampling = 0.0

    def steps(self, row_cost: float, first: bool) -> int:
        """Steps of thought that there is time for now."""
        if first and row_cost >= CHEAP_ROW:
            return AT_ONCE
        if self._thinking <= 0:
            return 0
        return max(1, int(self._thinking / self._step)) if self._step > 0 else 1

    def thought(self, steps: int) -> None:
        """So many steps were taken; what they took is told with the next feedback."""
        self._steps += steps

    def pay(self, learning: float) -> None:
        """Learning took so long the last time."""
        if not self._steps:
            return
        each = learning / self._steps
        self._step = each if self._step == 0 else 0.7 * self._step + 0.3 * each
        self._thinking -= learning
        self._steps = 0
