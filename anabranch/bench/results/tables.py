"""Markdown tables."""

from collections.abc import Sequence
from typing import Any


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """As GitHub shows it; numbers with as many digits as one reads.

    >>> print(table(["a", "b"], [["x|y", 1.23456], ["", 12345]]))
    | a | b |
    |---|---|
    | x\\|y | 1.23 |
    |  | 12,345 |
    """
    lines = [_line(columns), "|" + "---|" * len(columns)]
    return "\n".join([*lines, *(_line([shown(value) for value in row]) for row in rows)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def shown(value: Any) -> str:
    """A cell.

    >>> shown(0.00123), shown(1234567.8), shown(3), shown(None)
    ('0.00123', '1,234,568', '3', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
