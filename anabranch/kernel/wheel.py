"""The lottery by which uncertain routes are resolved (Query Mesh, Section 5.4)."""

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from anabranch.kernel.token import Token

# Choice points remembered, the least recently used going first.
MOST_WHEELS = 256
# Rows that an operator is believed to have dropped half of before it was tried at a choice point,
# and rows after which counts are halved, so that old ones fade.
PRIOR_ROWS, MEMORY_ROWS = 20.0, 20_000.0
# The least slice of a wheel, as a share of an equal one.
LEAST_SLICE = 0.1


@dataclass
class Slice:
    """What became of the rows that an operator was chosen for, and what it took."""

    rows: float = 0.0
    passed: float = 0.0
    seconds: float = 0.0


Point = tuple[tuple[int, ...], Token]  # the rows' route, and what is left of it


@dataclass
class Wheels:
    """A wheel for each choice point, with a slice for each operator that may be next.

    All slices are alike at first. The share of rows that an operator drops per second there makes
    its slice larger.

    Examples
    --------
    >>> wheels, point = Wheels(), ((0, 1), ((0, 1),))
    >>> wheels.chances(point)
    [0.5, 0.5]
    >>> wheels.update(point, 0, rows=1_000, passed=900, seconds=0.1)
    >>> wheels.update(point, 1, rows=1_000, passed=200, seconds=0.1)
    >>> [round(chance, 1) for chance in wheels.chances(point)]
    [0.1, 0.9]
    """

    _known: OrderedDict[Point, dict[int, Slice]] = field(default_factory=OrderedDict)

    def draw(self, point: Point, random: np.random.Generator) -> int:
        """One of the operators on top of the token."""
        options = point[1][0]
        left = random.random()
        for operator, chance in zip(options, self.chances(point), strict=True):
            left -= chance
            if left < 0:
                return operator
        return options[-1]

    def chances(self, point: Point) -> list[float]:
        """The size of each slice; together 1."""
        slices = self._of(point)
        each = [slices[operator] for operator in point[1][0]]
        timed = [s.seconds / s.rows for s in each if s.rows and s.seconds]
        usual = sum(timed) / len(timed) if timed else 1.0
        worth = [_worth(s, usual) for s in each]
        least = LEAST_SLICE * sum(worth) / len(worth)
        sizes = [max(size, least) for size in worth]
        return [size / sum(sizes) for size in sizes]

    def update(self, point: Point, operator: int, rows: int, passed: int, seconds: float) -> None:
        """An operator that was chosen saw so many rows and passed some of them."""
        known = self._of(point)[operator]
        known.rows, known.passed = known.rows + rows, known.passed + passed
        known.seconds += seconds
        if known.rows > MEMORY_ROWS:
            known.rows, known.passed = known.rows / 2, known.passed / 2
            known.seconds /= 2

    def _of(self, point: Point) -> dict[int, Slice]:
        if point not in self._known:
            self._known[point] = {operator: Slice() for operator in point[1][0]}
            while len(self._known) > MOST_WHEELS:
                self._known.popitem(last=False)
        self._known.move_to_end(point)
        return self._known[point]


def _worth(known: Slice, usual: float) -> float:
    """Share of rows dropped per second."""
    dropped = (known.rows - known.passed + PRIOR_ROWS / 2) / (known.rows + PRIOR_ROWS)
    seconds = known.seconds / known.rows if known.rows and known.seconds else usual
    return dropped / seconds
