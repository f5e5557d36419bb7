"""OM by replay: how often the plan looked up is the best one in hindsight."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.bench.figure import Figure
from anabranch.bench.size import Size, spread
from anabranch.cost.chart import Axis, Chart, Walk, build
from anabranch.cost.om_plans import ContinuousQuery, Equality, Selection, candidates
from anabranch.cost.utility import (
    EQUALITY,
    RANGE,
    Arrive,
    Conditions,
    Number,
    Step,
    Utility,
    Weights,
)
from anabranch.data.erratic import wandering
from anabranch.stats.decayed import Decayed

Floats = NDArray[np.float64]
# Ten minutes of rounds of a second.
ROUNDS = 600
VARIATIONS = (0.09, 0.12, 0.15, 0.18, 0.22, 0.26)
SEEDS = 5
# Rows per second on average, of the streams of Q2 as well.
RATE = 500.0
RATES = {"tcp": 500.0, "udp": 400.0, "sf": 600.0}
# The selection that wanders around the other one's selectivity.
SHARE, WANDERS = 0.35, 0.35
SPEEDS = {"as in the paper": (EQUALITY, RANGE), "near the arrival rate": (1_500.0, 1_000.0)}
HISTORY, DECAY = 10, 1.0


@dataclass(frozen=True)
class Scene:
    """A query, the statistics that wander, and those that do not."""

    query: ContinuousQuery
    series: Mapping[str, Floats]  # by axis
    known: Mapping[str, float]
    window: float = 1.0
    utility: Utility = field(default_factory=Utility)

    def costs(self, plans: Sequence[Step], point: Mapping[str, Floats]) -> Floats:
        """Of each plan at points."""
        streams = {stream.name for stream in self.query.streams}
        rates = {name: point[name] for name in streams}
        wanders: dict[str, Number] = {n: v for n, v in point.items() if n not in streams}
        shares = {**self.known, **wanders}
        under = Conditions(rates, shares, self.window)
        shape = next(iter(point.values())).shape
        return np.array([np.broadcast_to(self.utility(plan, under), shape) for plan in plans])

    def chart(self, plans: Sequence[Step], parts: int, refine: bool = False) -> Chart:
        # Algorithm 1 is told the least and the greatest value of each statistic.
        axes = [
            Axis(name, float(values.min()), float(values.max()), parts)
            for name, values in self.series.items()
        ]
        return build(axes, list(map(str, plans)), partial(self.costs, plans), refine)


def single(variation: float, seed: int, speeds: tuple[float, float]) -> Scene:
    """Two selections on one stream: its rate and the first one's selectivity wander."""
    query = ContinuousQuery(
        [Arrive("tcp")],
        [
            Selection("equal", "tcp", "dest", speeds[0]),
            Selection("range", "tcp", "size", speeds[1]),
        ],
    )
    series = {
        "equal": np.clip(wandering(ROUNDS, SHARE, WANDERS, seed + 1_000), 0.0, 1.0),
        "tcp": wandering(ROUNDS, RATE, variation, seed),
    }
    return Scene(query, series, {"range": SHARE})


def joined(variation: float, seed: int) -> Scene:
    """Q2: three streams that are equal in one key, joined left-deep in three ways."""
    pairs = [("tcp", "udp"), ("udp", "sf"), ("tcp", "sf")]
    query = ContinuousQuery(
        [Arrive(name) for name in RATES], joins=[Equality(f"{a} {b}", a, b) for a, b in pairs]
    )
    series = {
        name: wandering(ROUNDS, rate, variation, seed + 100 * i)
        for i, (name, rate) in enumerate(RATES.items())
    }
    return Scene(query, series, {f"{a} {b}": 2e-3 for a, b in pairs})


@dataclass(frozen=True)
class Followed:
    """How the rounds of a stream went."""

    hits: NDArray[np.bool_]
    moves: int
    switches: int
    evaluated: int
    decisions: int
    rate: float  # share of hits of the plan that has the highest rate on average
    random: float  # and of a plan drawn anew for every round

    @property
    def fidelity(self) -> float:
        return float(self.hits.mean())


def follow(
    scene: Scene, parts: int, refine: bool = False, hysteresis: float = 0.0, seed: int = 0
) -> Followed:
    """Algorithm 2, round by round, against the best plan for what each round really was."""
    plans = candidates(scene.query)
    chart = scene.chart(plans, parts, refine)
    best = np.argmin(scene.costs(plans, dict(scene.series)), axis=0)
    told = {name: Decayed(HISTORY, DECAY) for name in scene.series}
    start = {name: float(values[0]) for name, values in scene.series.items()}
    walk, hits = Walk(chart, hysteresis), np.zeros(ROUNDS, bool)
    for number in range(ROUNDS):
        known = {name: one.get() for name, one in told.items()}
        point = {name: start[name] if v is None else v for name, v in known.items()}
        hits[number] = walk.go(point) == best[number]
        for name, one in told.items():
            one.update(scene.series[name][number])
    mean = {name: np.array([values.mean()]) for name, values in scene.series.items()}
    by_rate = replace(scene, utility=Utility(Weights(1.0, 0.0), False))
    static = int(np.argmin(by_rate.costs(plans, mean)[:, 0]))
    drawn = np.random.default_rng(seed).integers(0, len(plans), ROUNDS)
    return Followed(
        hits,
        walk.moves,
        walk.switches,
        chart.evaluated,
        len(walk.path),
        float((best == static).mean()),
        float((best == drawn).mean()),
    )


Task = tuple[str, float, int, int, bool, float]


def _run(task: Task) -> Followed:
    kind, variation, seed, parts, refine, hysteresis = task
    scene = joined(variation, seed) if kind == "join" else single(variation, seed, SPEEDS[kind])
    return follow(scene, parts, refine, hysteresis, seed)


def _mean(runs: Sequence[Followed], what: Callable[[Followed], float]) -> float:
    return float(np.mean([what(run) for run in runs]))


def fidelity(size: Size) -> Figure:
    """Figure 3(b): erratic streams."""
    rows: list[tuple[Any, ...]] = []
    lines = dict[str, tuple[list[float], list[float]]]()
    for kind in SPEEDS:
        for variation in VARIATIONS:
            by_parts = {}
            for parts in (10, 40):
                tasks = [(kind, variation, seed, parts, parts > 10, 0.0) for seed in range(SEEDS)]
                by_parts[parts] = spread(_run, tasks, size)
            ten, forty = by_parts[10], by_parts[40]
            told = [_mean(runs, lambda run: run.fidelity) for runs in (ten, forty)]
            others = [_mean(ten, lambda run: run.rate), _mean(ten, lambda run: run.random)]
            rows.append((kind, variation, *told, *others))
            for name, value in zip(
                ("k = 10", "k = 40", "RATE", "RAND"), [*told, *others], strict=True
            ):
                x, y = lines.setdefault(f"{name}, {kind}", ([], []))
                x.append(variation)
                y.append(value)
    least = [min(row[i] for row in rows) for i in (2, 3)]
    return Figure(
        "fidelity",
        f"two selections on one stream, {ROUNDS} rounds, {SEEDS} seeds each",
        "76 to 81 % at k = 10; RAND at most 50 %, RATE lower",
        f"at least {least[0]:.1%} at k = 10 and {least[1]:.1%} at k = 40",
        ("speeds", "variation", "k = 10", "k = 40", "RATE", "RAND"),
        rows,
        lines,
        ("coefficient of variation of the arrival rate", "fidelity"),
    )


def partitions(size: Size) -> Figure:
    """Figure 3(c): fidelity against the plans that a chart costs."""
    rows = []
    for parts in (2, 5, 10, 20, 40, 80):
        whole, refined = (
            spread(
                _run,
                [
                    (kind, variation, seed, parts, refine, 0.0)
                    for kind in SPEEDS
                    for variation in (0.09, 0.26)
                    for seed in range(SEEDS)
                ],
                size,
            )
            for refine in (False, True)
        )
        rows.append(
            (
                parts,
                _mean(whole, lambda run: run.fidelity),
                parts**2,
                _mean(refined, lambda run: run.fidelity),
                round(_mean(refined, lambda run: run.evaluated)),
                round(_mean(refined, lambda run: run.moves)),
                round(_mean(refined, lambda run: run.switches)),
            )
        )
    forty = next(row for row in rows if row[0] == 40)
    numbers = [float(row[0]) for row in rows]
    return Figure(
        "partitions",
        "regions of a sel-lambda chart",
        "rises from k = 10 to 40, then about 95 %; k^2 plans",
        f"{forty[3]:.1%} at k = 40 with {forty[4]} regions costed of {forty[2]:,}",
        ("k", "fidelity", "regions", "refined", "regions costed", "moves", "switches"),
        rows,
        {
            "all regions": (numbers, [row[1] for row in rows]),
            "refined at borders": (numbers, [row[3] for row in rows]),
        },
        ("k", "fidelity"),
    )


def join(size: Size) -> Figure:
    """Figure 4: the join of three streams."""
    rows = []
    for variation in VARIATIONS:
        runs = spread(_run, [("join", variation, s, 10, False, 0.0) for s in range(SEEDS)], size)
        rows.append(
            (
                variation,
                _mean(runs, lambda run: run.fidelity),
                _mean(runs, lambda run: run.rate),
                _mean(runs, lambda run: run.random),
            )
        )
    numbers = [row[0] for row in rows]
    return Figure(
        "join",
        f"three streams joined on one key, k = 10, {SEEDS} seeds each",
        "80 to 99 %; RAND about 30 %, RATE static",
        f"{min(row[1] for row in rows):.1%} to {max(row[1] for row in rows):.1%}",
        ("variation", "OM", "RATE", "RAND"),
        rows,
        {
            name: (numbers, [row[i] for row in rows])
            for i, name in ((1, "OM"), (2, "RATE"), (3, "RAND"))
        },
        ("coefficient of variation of the arrival rates", "fidelity"),
    )


def join_partitions(size: Size) -> Figure:
    """Figure 4(b): regions of a lambda-lambda chart."""
    rows = []
    for parts in (2, 4, 5, 6, 8, 10, 14):
        tasks: list[Task] = [
            ("join", variation, seed, parts, False, 0.0)
            for variation in (0.09, 0.26)
            for seed in range(SEEDS)
        ]
        runs = spread(_run, tasks, size)
        rows.append((parts, _mean(runs, lambda run: run.fidelity), parts**3))
    numbers = [float(row[0]) for row in rows]
    return Figure(
        "join_partitions",
        "regions of a lambda-lambda chart, three streams",
        "stable from k = 5 (traffic) or k = 8 (random data) on",
        f"{rows[-1][1]:.1%} at k = {rows[-1][0]}",
        ("k", "fidelity", "regions"),
        rows,
        {"OM": (numbers, [row[1] for row in rows])},
        ("k", "fidelity"),
    )


def trace(size: Size) -> Figure:
    """Figure 3(a): a stream over time, with its moves, switches and decisions."""
    rows, lines = [], {}
    for hysteresis in (0.0, 0.25):
        run = _run(("near the arrival rate", 0.26, 1, 10, False, hysteresis))
        size.tick()
        by_time = [float(part.mean()) for part in np.array_split(run.hits, 6)]
        lines[f"hysteresis {hysteresis}"] = ([100.0 * (i + 1) for i in range(6)], by_time)
        rows.append(
            (hysteresis, run.fidelity, run.moves, run.switches, run.decisions, round(RATE * ROUNDS))
        )
    return Figure(
        "trace",
        f"{ROUNDS} rounds of a second, k = 10, variation 0.26",
        "80 % on average, 84 moves, 23 switches; 600 decisions, an eddy 300,000",
        f"{rows[0][1]:.1%}, {rows[0][2]} moves, {rows[0][3]} switches, {rows[0][4]} decisions",
        ("hysteresis", "fidelity", "moves", "switches", "decisions", "decisions per row"),
        rows,
        lines,
        ("second", "fidelity"),
    )


def several(size: Size) -> Figure:
    """Section 5: ten queries, served in turns, of one stream and of joins."""
    kinds = [*(6 * [("single", 40)]), *(4 * [("join", 10)])]
    names = list(SPEEDS)
    tasks: list[Task] = [
        (names[seed % len(names)] if kind == "single" else kind, 0.26, seed, parts, False, 0.0)
        for seed, (kind, parts) in enumerate(kinds)
    ]
    runs = spread(_run, tasks, size)
    rows = []
    for name, printed in (("single", 0.95), ("join", 0.90)):
        mine = [run.fidelity for run, (kind, _) in zip(runs, kinds, strict=True) if kind == name]
        rows.append((name, len(mine), printed, float(np.mean(mine)), min(mine)))
    return Figure(
        "several",
        f"ten queries, a stream of its own for each, {ROUNDS} rounds, variation 0.26",
        "95 % for queries on one stream, 90 % for joins",
        "; ".join(f"{row[0]}: {row[3]:.1%}" for row in rows),
        ("queries", "how many", "printed", "fidelity", "least"),
        rows,
    )
