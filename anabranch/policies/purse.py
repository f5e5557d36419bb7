"""What profiling may cost: evaluations to a budget, and time to think."""

from collections import deque
from dataclasses import dataclass, field
from statistics import median

# The budget may be overdrawn by the cost of so many rows, or short runs would never learn.
CREDIT_ROWS = 50
# Share of the time that counting profiled rows and judging attributes may take. It may be overdrawn
# by what so many rows cost, as far as one costs more than a few microseconds: where rows are cheap,
# time to think must be earned. The more turns bring no news, the less may be overdrawn.
THINKING = 0.005
THOUGHT_ROWS, CHEAP_ROW, MOST_THOUGHT = 20_000, 4e-6, 0.1
# A turn that brings no news makes the next ones rarer by this factor, down to this share of the
# budget.
BOREDOM, LEAST_CURIOSITY = 0.9, 0.1


@dataclass
class Purse:
    """Earns with the work that is done and pays for what is learned.

    Examples
    --------
    >>> purse = Purse(budget=0.01)
    >>> purse.earn(seconds=10.0); round(purse.allowance, 3)
    0.1
    >>> purse.allowance -= 0.2; purse.is_empty(row_cost=1e-3)
    True
    """

    budget: float
    allowance: float = 0.0  # seconds that evaluations for profiling may cost now
    thinking: float = 0.0  # seconds that counting and judging may take now
    curiosity: float = 1.0
    learning: float = 0.0  # seconds that learning from an ordinary slice takes
    judged: bool = False  # whether attributes were judged since the last payment
    collected: bool = False  # whether profiled rows were counted
    _judging: deque[float] = field(default_factory=lambda: deque([0.0], maxlen=5))  # seconds each

    def earn(self, seconds: float) -> None:
        """Ordinary work was done for so long."""
        self.allowance += self.curiosity * self.budget * seconds
        self.thinking += self.curiosity * THINKING * seconds

    def pay(self, learning: float) -> None:
        """What profiled rows took beyond the usual is taken off the time for them."""
        # A hiccup of the machine must not end profiling for good.
        took = min(max(0.0, learning - self.learning), MOST_THOUGHT)
        if self.judged:
            self._judging.append(took)
        if self.judged or self.collected:
            self.thinking = max(self.thinking - took, -2 * MOST_THOUGHT)
        else:
            self.learning += 0.3 * (learning - self.learning)
        self.judged = self.collected = False

    def notice(self, news: bool) -> None:
        """Whether judging brought news."""
        self.curiosity = 1.0 if news else max(LEAST_CURIOSITY, BOREDOM * self.curiosity)

    def begin_again(self) -> None:
        """What was found no longer holds: there is time to think, as at the start."""
        self.thinking = max(self.thinking, 0.0)
        self.curiosity = 1.0

    def may_think(self, row_cost: float) -> bool:
        """Whether there is time to count rows that are profiled for nothing."""
        return self.thinking > -self._credit(row_cost)

    def _credit(self, row_cost: float) -> float:
        dear = max(row_cost - CHEAP_ROW, 0.0)
        return self.curiosity * min(THOUGHT_ROWS * dear, MOST_THOUGHT)

    def is_empty(self, row_cost: float) -> bool:
        """Whether there is nothing left for another turn."""
        left = self.thinking + self._credit(row_cost) - median(self._judging)
        return left < 0 or self.allowance < -CREDIT_ROWS * row_cost

    def affords(self, row_cost: float, extra: float, fixed: float) -> float:
        """Rows that may be profiled now, each at `extra` seconds and all at `fixed`."""
        left = self.allowance + CREDIT_ROWS * row_cost - fixed
        return max(left, 0.0) / max(extra, self.budget / 10 * row_cost)
