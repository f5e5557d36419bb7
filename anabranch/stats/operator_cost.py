"""What an operator costs: processor time if it computes, elapsed time if it waits."""

from dataclasses import dataclass, field

from anabranch.stats.cost_fit import CostFit

# How fast it is forgotten that a call was busy: a share of a call's time per further call.
FORGETTING = 0.95


@dataclass
class OperatorCost:
    """Cost per call and per row of an operator.

    An operator that computes is judged by its processor time, so that the time of competing
    processes is not put down to whichever operator runs then. One that mostly waits, for a remote
    call or for threads of its own, is judged by the time that passed. One call cannot tell the two
    apart (a short one that loses the processor looks like waiting), so the busiest of the recent
    calls decides.

    Examples
    --------
    >>> cost = OperatorCost()
    >>> cost.update(100, seconds=5e-3, busy=1e-4)  # lost the processor
    >>> cost.update(100, seconds=1e-4, busy=1e-4)
    >>> round(cost.get(100), 8)
    1e-06
    >>> remote = OperatorCost()
    >>> remote.update(100, seconds=5e-3, busy=1e-4); remote.update(100, seconds=5e-3, busy=1e-4)
    >>> round(remote.get(100), 8)
    5e-05
    """

    elapsed: CostFit = field(default_factory=CostFit)
    busy: CostFit = field(default_factory=CostFit)
    busiest: float = 0.0

    def update(self, rows: int, seconds: float, busy: float, fading: float = 1.0) -> None:
        """Add a call; those before weigh less by the factor `fading`."""
        share = busy / seconds if seconds > 0 else 0.0
        self.busiest = max(share, FORGETTING * self.busiest)
        self.elapsed.update(rows, seconds, fading)
        self.busy.update(rows, busy, fading)

    def merge(self, other: "OperatorCost") -> "OperatorCost":
        return OperatorCost(
            self.elapsed.merge(other.elapsed),
            self.busy.merge(other.busy),
            max(self.busiest, other.busiest),
        )

    @property
    def fit(self) -> CostFit:
        return self.busy if self.busiest > 0.5 else self.elapsed

    def get(self, rows: float) -> float | None:
        """Seconds per row in a call of that many rows; None before the first call."""
        return self.fit.get(rows)
