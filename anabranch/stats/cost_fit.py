"""Cost of a call as a fixed part and a part per row."""

from dataclasses import dataclass


@dataclass
class CostFit:
    """Least squares of seconds = fixed + per_row * rows over the timed calls.

    A call is weighted by 1 / rows, because the spread of its time grows with its rows;
    without that the large calls would drown the small ones, which alone show the fixed part.

    Examples
    --------
    >>> fit = CostFit()
    >>> for rows in (10, 100, 1000):
    ...     fit.update(rows, 0.002 + 0.00001 * rows)
    >>> round(fit.fixed, 6), round(fit.per_row, 8)
    (0.002, 1e-05)
    >>> round(fit.get(1000), 8)
    1.2e-05
    """

    calls: float = 0.0
    rows: float = 0.0
    seconds: float = 0.0
    inverse: float = 0.0  # sum of 1 / rows
    rate: float = 0.0  # sum of seconds / rows

    def update(self, rows: int, seconds: float, fading: float = 1.0) -> None:
        """Add a call; those before weigh less by the factor `fading`."""
        if rows > 0:
            self.calls = fading * self.calls + 1
            self.rows = fading * self.rows + rows
            self.seconds = fading * self.seconds + seconds
            self.inverse = fading * self.inverse + 1 / rows
            self.rate = fading * self.rate + seconds / rows

    def merge(self, other: "CostFit") -> "CostFit":
        return CostFit(
            self.calls + other.calls,
            self.rows + other.rows,
            self.seconds + other.seconds,
            self.inverse + other.inverse,
            self.rate + other.rate,
        )

    def _solve(self) -> tuple[float, float]:
        mean = self.seconds / self.rows if self.rows else 0.0
        spread = self.inverse * self.rows - self.calls**2
        # Calls of one size say nothing of the fixed part.
        if spread <= 1e-6 * self.calls**2:
            return 0.0, mean
        fixed = (self.rate * self.rows - self.calls * self.seconds) / spread
        per_row = (self.inverse * self.seconds - self.calls * self.rate) / spread
        # Neither part can be negative: then the best fit has the other part only.
        if per_row <= 0:
            return self.rate / self.inverse, 0.0
        return (fixed, per_row) if fixed > 0 else (0.0, mean)

    @property
    def fixed(self) -> float:
        return self._solve()[0]

    @property
    def per_row(self) -> float:
        return self._solve()[1]

    def get(self, rows: float) -> float | None:
        """Seconds per row in a call of that many rows; None before the first call."""
        if not self.calls:
            return None
        fixed, per_row = self._solve()
        return fixed / max(rows, 1.0) + per_row
