"""Output rates of operators over streams, and of trees of joins.

S. Viglas, J. Naughton: Rate-Based Query Optimization for Streaming Information Sources, SIGMOD
2002, Sections 3 and 4.1. Rates are rows per second, costs are seconds per row.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf, isinf
from typing import Literal

import scipy  # its parts are loaded where they are used: every worker imports this module

from anabranch.cost.checks import check_not_negative, check_selectivity, is_number
from anabranch.model import InputError

# No tree is followed for longer than this, in seconds: some thirty years.
FOREVER = 1e9
# The first guess at how long a number of results takes.
SOON = 1.0


def projection_rate(rate: float, cost: float, transmission: float = 0.0) -> float:
    """Section 3.1: that of the input, unless a row takes longer than the next one needs to come.

    >>> projection_rate(500, 0.001), projection_rate(500, 0.02)
    (500, 50.0)
    """
    check_not_negative("rate", rate)
    check_not_negative("cost", cost)
    check_not_negative("transmission", transmission)
    each = cost + transmission
    return rate if each * rate <= 1 else 1 / each


def selection_rate(
    rate: float, cost: float, selectivity: float, transmission: float = 0.0
) -> float:
    """Section 3.2, and Figure 1: with the slow predicate first ten times fewer rows come out.

    >>> slow_first = selection_rate(selection_rate(500, 1 / 50, 0.1), 0.0, 0.1)
    >>> slow_last = selection_rate(selection_rate(500, 0.0, 0.1), 1 / 50, 0.1)
    >>> round(slow_first, 9), round(slow_last, 9)
    (0.5, 5.0)
    """
    check_selectivity("selectivity", selectivity)
    return selectivity * projection_rate(rate, cost, transmission)


def join_rate(
    selectivity: float,
    left_rate: float,
    right_rate: float,
    left_cost: float,
    right_cost: float,
    at: float,
) -> float:
    """Equation 2: results per second, on average up to a time; a product has selectivity 1.

    Where rows are handled as fast as they come, the denominator is 1: no result can come before the
    rows that it is made of.

    >>> join_rate(0.01, 10, 20, 0.001, 0.001, at=5), join_rate(0.01, 10, 20, 0.1, 0.1, at=5)
    (10.0, 3.3333333333333335)
    """
    check_selectivity("selectivity", selectivity)
    given = {
        "left_rate": left_rate,
        "right_rate": right_rate,
        "left_cost": left_cost,
        "right_cost": right_cost,
        "at": at,
    }
    for name, value in given.items():
        check_not_negative(name, value)
    busy = left_rate * left_cost + right_rate * right_cost
    return selectivity * left_rate * right_rate * at / max(busy, 1.0)


@dataclass(frozen=True)
class Handling:
    """What handling a row takes in a join (Table 2), and by which algorithm (Table 3).

    `extra` is what a predicate adds, as a remote call would; `transmission` is per result.

    >>> Handling(move=1, hash=2, probe=3).costs(10, 20, at=5)
    (6.0, 6.0)
    >>> Handling(move=1, compare=1, algorithm="loops").costs(10, 20, at=5)
    (101.0, 51.0)
    """

    move: float = 0.0
    hash: float = 0.0
    probe: float = 0.0
    compare: float = 0.0
    extra: float = 0.0
    transmission: float = 0.0
    algorithm: Literal["hash", "loops"] = "hash"

    def __post_init__(self) -> None:
        for name in ("move", "hash", "probe", "compare", "extra", "transmission"):
            check_not_negative(name, getattr(self, name))
        if self.algorithm not in ("hash", "loops"):
            raise InputError(f'algorithm is "hash" or "loops", got {self.algorithm!r}')

    @property
    def per_row(self) -> float:
        """Whatever the other side holds."""
        own = self.hash + self.probe if self.algorithm == "hash" else 0.0
        return float(self.move + self.extra + own)

    @property
    def per_pair(self) -> float:
        """For each row that the other side holds."""
        return self.compare if self.algorithm == "loops" else 0.0

    def costs(self, left_rate: float, right_rate: float, at: float) -> tuple[float, float]:
        """Of a row from the left, and of one from the right, at a time."""
        return (
            self.per_row + right_rate * at * self.per_pair,
            self.per_row + left_rate * at * self.per_pair,
        )


@dataclass(frozen=True)
class Source:
    """A stream: its rate; and if known how many rows it has, their bytes, its window in seconds."""

    name: str
    rate: float
    rows: float = inf
    width: float = 1.0
    window: float = inf

    def __post_init__(self) -> None:
        for what in ("rate", "rows", "width", "window"):
            value = getattr(self, what)
            if not is_number(value) or not value > 0:
                raise InputError(f"{what} of {self.name} is a number above 0, got {value!r}")
        if isinf(self.rate):
            raise InputError(f"rate of {self.name} is finite: rows per second")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def total(self) -> float:
        return self.rows

    def mean_rate(self, at: float) -> float:
        """Rows per second, on average up to a time: a finite stream ends."""
        return min(self.rate, self.rows / at) if at > 0 else self.rate

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class JoinTree:
    """A join of two inputs, each of them a stream or a join, by the paper's own model.

    Equation 2 tells the mean rate up to a time, which the paper feeds into the next join as if all
    rows had come at it; where operators cannot keep up, `anabranch.cost.flow.Flow` is nearer to
    what happens.

    Examples
    --------
    >>> tree = JoinTree(Source("a", 10), Source("b", 20), 0.01)
    >>> tree.rate(5), round(tree.results(5), 6), round(tree.time_to(25), 6)
    (10.0, 25.0, 5.0)
    >>> print(JoinTree(tree, Source("c", 1), 0.5))
    ((a, b), c)
    """

    left: "Source | JoinTree"
    right: "Source | JoinTree"
    selectivity: float = 1.0
    handling: Handling = Handling()

    def __post_init__(self) -> None:
        check_selectivity(f"selectivity of {self}", self.selectivity)
        if both := set(self.left.names) & set(self.right.names):
            raise InputError(f"{', '.join(sorted(both))}: on both sides of {self}")

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*self.left.names, *self.right.names)

    @cached_property
    def window(self) -> float:
        """How long a result can find partners, on average.

        Of combinations of which the newest row is of any stream, each other row may be as old as
        its window; so all trees over the same streams find the same number.

        >>> a, b = Source("a", 1, window=10), Source("b", 1, window=40)
        >>> JoinTree(a, b).window
        8.0
        """
        shares = 1 / self.left.window + 1 / self.right.window
        return 1 / shares if shares else inf

    @cached_property
    def width(self) -> float:
        return self.left.width + self.right.width

    @cached_property
    def total(self) -> float:
        """All results that there will be, if streams are finite and windows are not."""
        if not self.selectivity:
            return 0.0
        return self.selectivity * self.left.total * self.right.total

    def mean_rate(self, at: float) -> float:
        return self.rate(at)

    def rate(self, at: float) -> float:
        """Results per second at a time, by Equation 2."""
        return self.joined(self.left.mean_rate(at), self.right.mean_rate(at), at)

    def joined(self, left: float, right: float, at: float) -> float:
        """Equation 2 for given rates of the inputs."""
        costs = list(self.handling.costs(left, right, at))
        if self.handling.transmission and left:
            sent = self.selectivity * right * at * self.handling.transmission
            costs[0] += sent
        return join_rate(self.selectivity, left, right, costs[0], costs[1], at)

    def results(self, by: float) -> float:
        """Equation 3: how many there are by a time."""
        check_not_negative("by", by)
        ends = sorted(end for end in self._ends() if 0 < end < by)
        found, _ = scipy.integrate.quad(self.rate, 0.0, by, limit=200, points=ends or None)
        return min(float(found), self.total)

    def _ends(self) -> set[float]:
        """When finite streams end: the rate has a kink there."""
        parts = (self.left, self.right)
        own = {part.rows / part.rate for part in parts if isinstance(part, Source)}
        below = (part._ends() for part in parts if isinstance(part, JoinTree))
        return own.union(*below) - {inf}

    def time_to(self, results: float) -> float:
        """By when there are so many; infinite if there never are."""
        check_not_negative("results", results)
        if results > self.total:
            return inf
        late = SOON
        while self.results(late) < results:
            late *= 2
            if late > FOREVER:
                return inf
        return float(
            scipy.optimize.brentq(
                lambda t: self.results(t) - results, 0.0, late, xtol=1e-9, rtol=1e-9
            )
        )

    def joins(self) -> "list[JoinTree]":
        """All joins in it, those of streams before those of their results."""
        below = [part.joins() for part in (self.left, self.right) if isinstance(part, JoinTree)]
        return [join for joins in below for join in joins] + [self]

    def __str__(self) -> str:
        return f"({self.left}, {self.right})"


Node = Source | JoinTree
