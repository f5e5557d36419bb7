"""What profiling may cost: evaluations to a budget, and time to think."""

from dataclasses import dataclass, field

from anabranch.policies.drift import RowCost

# The budget may be overdrawn by the cost of so many rows, or short runs would never learn.
CREDIT_ROWS = 50
# Share of the time that judging attributes may take, and seconds that it may take at the start. The
# debt never gets deeper than these: a hiccup of the machine must not end profiling for good.
THINKING, FIRST_THOUGHTS = 0.005, 0.03
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
    thinking: float = FIRST_THOUGHTS  # seconds that judging attributes may take now
    curiosity: float = 1.0
    learning: float = 0.0  # seconds that learning from an ordinary slice takes
    judged: bool = False  # whether attributes were judged since the last payment
    _judging: RowCost = field(default_factory=RowCost)  # seconds that this takes

    def earn(self, seconds: float) -> None:
        """Ordinary work was done for so long."""
        self.allowance += self.curiosity * self.budget * seconds
        self.thinking += self.curiosity * THINKING * seconds

    def pay(self, learning: float) -> None:
        """What judging attributes took beyond the usual is taken off the time for it."""
        if self.judged:
            took = max(0.0, learning - self.learning)
            self._judging.update(1, took, memory=0.8)
            self.thinking = max(self.thinking - took, -FIRST_THOUGHTS)
        else:
            self.learning += 0.3 * (learning - self.learning)
        self.judged = False

    def notice(self, news: bool) -> None:
        """Whether judging brought news."""
        self.curiosity = 1.0 if news else max(LEAST_CURIOSITY, BOREDOM * self.curiosity)

    def is_empty(self, row_cost: float) -> bool:
        """Whether there is nothing left for another turn."""
        return self.thinking < self._judging.mean or self.allowance < -CREDIT_ROWS * row_cost

    def affords(self, row_cost: float, extra: float, fixed: float) -> float:
        """Rows that may be profiled now, each at `extra` seconds and all at `fixed`."""
        left = self.allowance + CREDIT_ROWS * row_cost - fixed
        return max(left, 0.0) / max(extra, self.budget / 10 * row_cost)
