"""An Eddy with content-based routing, row by row: what the papers compare with, in plain Python."""

from collections.abc import Callable, Sequence

# Content-based routing, Section 4.1: what a row adds to an estimate.
ALPHA = 0.95


class RowEddy:
    """Sends each row to the operator that passes fewest rows of its class, one hop at a time.

    It is told which attribute has the classes, and does not profile: both favour it.
    """

    def __init__(self, operators: Sequence[Callable[[int], bool]]) -> None:
        self._operators = operators
        self._passed: dict[int, list[float]] = {}

    def __call__(self, code: int, value: int) -> bool:
        """Whether a row passes all operators."""
        passed = self._passed.get(value)
        if passed is None:
            passed = self._passed[value] = [0.5] * len(self._operators)
        left = list(range(len(self._operators)))
        while left:
            operator = min(left, key=passed.__getitem__)
            fine = self._operators[operator](code)
            passed[operator] = ALPHA * passed[operator] + (1 - ALPHA) * fine
            if not fine:
                return False
            left.remove(operator)
        return True
