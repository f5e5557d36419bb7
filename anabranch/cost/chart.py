"""Charts: which plan is the cheapest in which region of the statistics, made in advance.

OM, Section 4.4, Algorithm 1: each dimension is cut into k parts; a region has the plan that is the
cheapest at its centre. Regions are stored as runs of equal plans. Beyond the paper, regions are
refined only where neighbours differ.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import groupby, pairwise, product
from math import floor, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.cost.checks import check_selectivity
from anabranch.model import InputError

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Cell = tuple[int, ...]
# Cost of each plan (rows) at points (columns) that are given by an array for each axis.
CostAt = Callable[[Mapping[str, Floats]], Floats]
# Blocks that a refined chart begins with have so many cells to a side.
COARSE = 8
# Cells that are costed at a time by a thread.
SLAB = 4_096
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class Axis:
    """A dimension: a statistic, its range, and the number of parts.

    With `log` each part is the same factor further, as for rates with bursts.

    >>> [round(float(value)) for value in Axis("rate", 10, 1000, 2, log=True).centre(np.arange(2))]
    [32, 316]
    """

    name: str
    low: float
    high: float
    parts: int = 10
    log: bool = False

    def __post_init__(self) -> None:
        if not self.high > self.low:
            raise InputError(f"{self.name}: a range from {self.low} to {self.high} is empty")
        if self.log and not self.low > 0:
            raise InputError(f"{self.name}: factors need a range above 0, got {self.low}")
        whole = isinstance(self.parts, int) and not isinstance(self.parts, bool)
        if not whole or self.parts < 1:
            raise InputError(f"partitions is a whole number of at least 1, got {self.parts!r}")

    def _on_scale(self, value: float) -> float:
        return log(max(value, 1e-300)) if self.log else value

    @property
    def step(self) -> float:
        """The width of a part, on the scale of the axis."""
        return (self._on_scale(self.high) - self._on_scale(self.low)) / self.parts

    def centre(self, place: Floats | Codes) -> Floats:
        scaled = self._on_scale(self.low) + (np.asarray(place) + 0.5) * self.step
        return np.asarray(np.exp(scaled) if self.log else scaled)

    def place(self, value: float, away: float = 0.0) -> int:
        """The part that a value is in, so many parts away; beyond the range it is the nearest."""
        parts = (self._on_scale(value) - self._on_scale(self.low)) / self.step + away
        return min(max(floor(parts), 0), self.parts - 1)


@dataclass(frozen=True)
class Chart:
    """The plan of every region.

    Examples
    --------
    >>> axes = [Axis("sel", 0, 1, 4), Axis("rate", 0, 100, 4)]
    >>> def cost_at(point):
    ...     return np.array([point["sel"] * 100, point["rate"]])
    >>> chart = build(axes, ["by sel", "by rate"], cost_at)
    >>> print(chart)
    sel x rate: 4 x 4 regions, 2 plans
    87.5 | . . . .
    62.5 | . . . #
    37.5 | . . # #
    12.5 | . # # #
    . by sel
    # by rate
    >>> chart.plan_at({"sel": 0.9, "rate": 30})
    1
    """

    axes: tuple[Axis, ...]
    plans: tuple[str, ...]
    runs: tuple[
        tuple[int, int], ...
    ]  # how many cells in a row have which plan, the last axis first
    evaluated: int  # cells that plans were costed in

    @cached_property
    def cells(self) -> Codes:
        counts, plans = zip(*self.runs, strict=True)
        shape = tuple(axis.parts for axis in self.axes)
        return np.repeat(np.array(plans, np.int64), counts).reshape(shape)

    def cell(self, point: Mapping[str, float]) -> Cell:
        return tuple(axis.place(point[axis.name]) for axis in self.axes)

    def plan_at(self, point: Mapping[str, float]) -> int:
        return int(self.cells[self.cell(point)])

    def near(self, point: Mapping[str, float], share: float) -> set[int]:
        """Plans at most a share of a region away, in either direction of an axis."""
        here = self.cell(point)
        found = {int(self.cells[here])}
        for i, axis in enumerate(self.axes):
            for away in (-share, share):
                there = axis.place(point[axis.name], away)
                found.add(int(self.cells[(*here[:i], there, *here[i + 1 :])]))
        return found

    def cut(self, across: str, up: str, at: Mapping[str, float]) -> "Chart":
        """The two axes of these names, all others at a point."""
        shown = {axis.name: axis for axis in self.axes if axis.name in (across, up)}
        places = tuple(
            slice(None) if axis.name in shown else axis.place(at[axis.name]) for axis in self.axes
        )
        cells = self.cells[places]
        if list(shown) != [across, up]:
            cells = cells.T
        runs = tuple((len(list(same)), plan) for plan, same in groupby(cells.reshape(-1).tolist()))
        return Chart((shown[across], shown[up]), self.plans, runs, self.evaluated)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "axes": [asdict(axis) for axis in self.axes],
            "plans": list(self.plans),
            "runs": [list(run) for run in self.runs],
            "evaluated": self.evaluated,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Chart":
        return cls(
            tuple(Axis(**axis) for axis in data["axes"]),
            tuple(map(str, data["plans"])),
            tuple((int(count), int(plan)) for count, plan in data["runs"]),
            int(data["evaluated"]),
        )

    def __str__(self) -> str:
        names = " x ".join(axis.name for axis in self.axes)
        shape = " x ".join(str(axis.parts) for axis in self.axes)
        used = sorted({plan for _, plan in self.runs})
        head = f"{names}: {shape} regions, {len(used)} plan{'' if len(used) == 1 else 's'}"
        signs = {plan: SIGNS[i % len(SIGNS)] for i, plan in enumerate(used)}
        key = [f"{signs[plan]} {self.plans[plan]}" for plan in used]
        return "\n".join([head, *(self._map(signs) if len(self.axes) == 2 else ()), *key])

    def _map(self, signs: Mapping[int, str]) -> list[str]:
        up = self.axes[1]
        centres = [f"{value:.4g}" for value in up.centre(np.arange(up.parts)).tolist()]
        width = max(map(len, centres))
        return [
            f"{centres[j]:>{width}} | " + " ".join(signs[p] for p in self.cells[:, j].tolist())
            for j in reversed(range(up.parts))
        ]


SIGNS = ".#o+x*%@=~"


def build(
    axes: Sequence[Axis],
    plans: Sequence[str],
    cost_at: CostAt,
    refine: bool = False,
    threads: int = 2,
) -> Chart:
    """Algorithm 1, in parallel; or, refined, only as many regions as borders need."""
    size = prod(axis.parts for axis in axes)
    if size > MOST_CELLS:
        raise InputError(
            f"a chart has at most {MOST_CELLS:,} regions, got {size:,}: fewer partitions"
        )
    shape = tuple(axis.parts for axis in axes)
    if refine:
        cells, evaluated = _Refining(axes, cost_at).cells()
    else:
        cells, evaluated = _everywhere(axes, shape, cost_at, threads), size
    runs = tuple((len(list(same)), plan) for plan, same in groupby(cells.reshape(-1).tolist()))
    return Chart(tuple(axes), tuple(plans), runs, evaluated)


def _everywhere(
    axes: Sequence[Axis], shape: tuple[int, ...], cost_at: CostAt, threads: int
) -> Codes:
    size = prod(shape)

    def cheapest(begin: int) -> Codes:
        places = np.unravel_index(np.arange(begin, min(begin + SLAB, size)), shape)
        costs = cost_at(_point(axes, places))
        return np.asarray(np.argmin(costs, axis=0), np.int64)

    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(cheapest, range(0, size, SLAB)))).reshape(shape)


def _point(axes: Sequence[Axis], places: Sequence[Any]) -> dict[str, Floats]:
    return {axis.name: axis.centre(place) for axis, place in zip(axes, places, strict=True)}


Block = tuple[tuple[int, int], ...]  # first and last cell of each axis


@dataclass
class _Refining:
    """Corners of blocks first; a block whose corners differ is split, down to three cells a side.

    There the cell in the middle is decided by the mean costs of the corners around it.
    """

    axes: Sequence[Axis]
    cost_at: CostAt
    known: dict[Cell, Floats] = field(default_factory=dict)

    def cells(self) -> tuple[Codes, int]:
        chart = np.zeros([axis.parts for axis in self.axes], np.int64)
        blocks = [
            tuple(block)
            for block in product(*(_intervals(0, axis.parts - 1, COARSE) for axis in self.axes))
        ]
        while blocks:
            self._cost({corner for block in blocks for corner in _corners(block)})
            blocks = [part for block in blocks for part in self._filled(chart, block)]
        return chart, len(self.known)

    def _cost(self, cells: set[Cell]) -> None:
        new = sorted(cells - self.known.keys())
        if new:
            costs = self.cost_at(_point(self.axes, list(np.array(new).T)))
            self.known.update(zip(new, costs.T, strict=True))

    def _filled(self, chart: Codes, block: Block) -> Iterator[Block]:
        corners = _corners(block)
        plans = {int(np.argmin(self.known[corner])) for corner in corners}
        inside = tuple(slice(first, last + 1) for first, last in block)
        if len(plans) == 1:
            chart[inside] = plans.pop()
        elif max(last - first for first, last in block) > 2:
            halves = [_intervals(first, last, (last - first + 1) // 2) for first, last in block]
            yield from (tuple(part) for part in product(*halves))
        else:
            for cell in product(*(range(first, last + 1) for first, last in block)):
                chart[cell] = self._between(block, cell)

    def _between(self, block: Block, cell: Cell) -> int:
        """By the corners, as far as each is from the cell."""
        costs: Any = 0.0
        for corner in _corners(block):
            weight = 1.0
            for (first, last), at, end in zip(block, cell, corner, strict=True):
                away = abs(at - end) / (last - first) if last > first else 0.0
                weight *= 1 - away
            costs = costs + weight * self.known[corner]
        return int(np.argmin(costs))


def _intervals(first: int, last: int, step: int) -> list[tuple[int, int]]:
    """Stretches that touch, at most so long."""
    if first == last:
        return [(first, last)]
    marks = [*range(first, last, max(step, 1)), last]
    return list(pairwise(marks))


def _corners(block: Block) -> list[Cell]:
    return list(dict.fromkeys(product(*block)))


@dataclass
class Walk:
    """The way of a stream over a chart, round by round.

    Near a border (`hysteresis` of a region) the plan in use stays, so that it does not flap.
    """

    chart: Chart
    hysteresis: float = 0.0
    plan: int | None = None
    moves: int = 0
    switches: int = 0
    path: list[dict[str, float]] = field(default_factory=list)
    most: int = 10_000  # of the path that is kept, the newest
    _cell: Cell | None = None

    def __post_init__(self) -> None:
        check_selectivity("hysteresis", self.hysteresis)

    def go(self, point: Mapping[str, float]) -> int:
        """The plan for a round with these statistics (Algorithm 2)."""
        cell = self.chart.cell(point)
        self.moves += self._cell is not None and cell != self._cell
        self._cell = cell
        self.path = [*self.path[-self.most + 1 :], dict(point)]
        wanted = self.chart.plan_at(point)
        if self.plan is None:
            self.plan = wanted
        elif wanted != self.plan and self.plan not in self.chart.near(point, self.hysteresis):
            self.plan = wanted
            self.switches += 1
        return self.plan
