"""The examples of the paper on content-based routing: orders by class, and gain ratios."""

from collections.abc import Callable
from itertools import permutations

import numpy as np

from anabranch.bench.figure import Figure
from anabranch.bench.size import Size
from anabranch.stats.gain import gain_ratio

OPERATORS = ("O1", "O2", "O3")
# Table 1: the share of rows that an operator passes, by the value of A.
PASSED = {"a": (0.32, 0.10, 0.55), "b": (0.31, 0.20, 0.65), "c": (0.27, 0.90, 0.60)}
EVERYWHERE = "all"
# As printed: the order of each class, and the gain ratio of A for each operator.
ORDERS = {"a": (1, 0, 2), "b": (1, 0, 2), "c": (0, 2, 1), EVERYWHERE: (0, 1, 2)}
RATIOS = (0.33, 0.63, 0.37)


def _cost(order: tuple[int, ...], passed: tuple[float, ...]) -> float:
    """Operators per row, as if they dropped rows independently of each other."""
    alive = np.cumprod([1.0, *(passed[i] for i in order[:-1])])
    return float(alive.sum())


def _named(order: tuple[int, ...]) -> str:
    return ", ".join(OPERATORS[i] for i in order)


def table_1(size: Size) -> Figure:
    """Example 3.1: the best order of each class by brute force."""
    overall = tuple(float(np.mean(column)) for column in zip(*PASSED.values(), strict=True))
    rows = []
    for name, passed in {**PASSED, EVERYWHERE: overall}.items():
        best = min(permutations(range(3)), key=lambda order: _cost(order, passed))
        same = _cost(ORDERS[EVERYWHERE], passed)
        rows.append((name, _named(ORDERS[name]), _named(best), _cost(best, passed), same))
    size.tick()
    return Figure(
        "table1",
        "the best order of three operators, by the value of an attribute",
        "O2, O1, O3 for a and b, O1, O3, O2 for c; O1, O2, O3 for all together",
        "; ".join(f"{row[0]}: {row[2]}" for row in rows),
        ("class", "printed", "by brute force", "operators per row", "in the order for all"),
        rows,
    )


def example_3_2(size: Size) -> Figure:
    """Example 3.2: how much A tells of each operator."""
    passed = np.array([[100 * PASSED[k][i] for k in PASSED] for i in range(3)])
    ours = gain_ratio(np.full((3, 3), 100.0), passed)
    rows = [
        (name, printed, round(float(ratio), 3))
        for name, printed, ratio in zip(OPERATORS, RATIOS, ours, strict=True)
    ]
    size.tick()
    return Figure(
        "example3.2",
        "gain ratio of an attribute for three operators",
        "0.33, 0.63 and 0.37",
        ", ".join(f"{row[2]:g}" for row in rows),
        ("operator", "printed", "by Equations 2 to 5"),
        rows,
    )


EXAMPLES: dict[str, Callable[[Size], Figure]] = {"table1": table_1, "example3.2": example_3_2}
