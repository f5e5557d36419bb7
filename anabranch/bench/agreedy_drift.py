"""The A-Greedy paper's experiments on data that changes: Figures 16 to 21.

S. Babu et al.: Adaptive Ordering of Pipelined Stream Filters, SIGMOD 2004, Section 9.4: 8 filters
in groups of unequal selectivities, which are dealt out anew at every change.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.bench.agreedy_settled import DEAR, GROUP, as_in_the_paper
from anabranch.bench.figure import Figure
from anabranch.bench.replay import EVALUATION, Replayed, replay
from anabranch.bench.size import Size, spread
from anabranch.data.correlated import correlated_bits
from anabranch.model import AnabranchError

Bits = NDArray[np.bool_]

# Drop rates of the four groups: as in Section 9.2, filters of a group have one selectivity.
UNEQUAL = (0.1, 0.3, 0.5, 0.7)
SEEDS = 5
BATCH = 2_000  # rows by which the paper counts
SMOOTH = 5  # batches to average over in a plot


def changing(rows: int, period: int, seed: int = 0) -> Bits:
    """Which filter drops which row, dealt anew after each period."""
    random = np.random.default_rng([seed, 17])
    parts = []
    for begin in range(0, rows, period):
        dealt = np.repeat(random.permutation(UNEQUAL), GROUP).tolist()
        parts.append(correlated_bits(min(period, rows - begin), dealt, GROUP, seed + begin))
    return np.concatenate(parts)


def _run(name: str, bits: Bits, dear: float = 1.0, batch: int = BATCH) -> Replayed:
    costs = [EVALUATION * (dear if j % 2 else 1.0) for j in range(bits.shape[1])]
    done = replay(as_in_the_paper()[name], bits, workers=1, batch=batch, costs=costs)
    if not (done.keep == ~bits.any(axis=1)).all():
        raise AnabranchError(f"{name} returned other rows than the filters pass")
    return done


# Figures 16 to 18 ------------------------------------------------------------------------------


def _each(task: tuple[str, int, int]) -> NDArray[np.float64]:
    """Filters per row in each batch, through a change half way."""
    name, rows, seed = task
    return np.array(_run(name, changing(2 * rows, rows, seed)).per_batch) / BATCH


@cache
def _timeline(name: str, size: Size) -> tuple[NDArray[np.float64], float, float, float]:
    """Filters per row over time; before the change and in the end, and in excess of the latter."""
    each = np.mean(spread(_each, [(name, size.rows, seed) for seed in range(SEEDS)], size), axis=0)
    half = size.rows // BATCH
    before, after = each[half // 2 : half].mean(), each[-half // 2 :].mean()
    return each, float(before), float(after), float(BATCH * (each[half:] - after).sum())


def timeline(name: str, other: str, paper: str, size: Size) -> Figure:
    """A-Greedy and another algorithm through one change."""
    rows, lines = [], {}
    for algorithm in ("A-Greedy", other):
        each, before, after, excess = _timeline(algorithm, size)
        rows.append((algorithm, before, after, excess))
        smooth = np.convolve(each, np.ones(SMOOTH) / SMOOTH, "same")
        places = (BATCH * np.arange(len(smooth)))[SMOOTH:-SMOOTH:SMOOTH]
        lines[algorithm] = (
            places.tolist(),
            (BATCH * smooth[SMOOTH:-SMOOTH:SMOOTH]).tolist(),
        )
    return Figure(
        name,
        f"A-Greedy and {other} through a change after {size.rows:,} rows, 8 filters",
        paper,
        f"until they have adapted, A-Greedy evaluates {rows[0][3]:,.0f} filters more than in the "
        f"end for as many rows, {other} {rows[1][3]:,.0f}; in the end {rows[0][2]:.2f} and "
        f"{rows[1][2]:.2f} per row (means of {SEEDS} draws)",
        ("algorithm", "filters per row before", "in the end", "filters more until adapted"),
        rows,
        lines,
        ("rows", f"filters per {BATCH:,} rows"),
    )


# Figures 19 to 21 ------------------------------------------------------------------------------

CONTESTANTS = ("A-Greedy", "Independent", "Sweep", "LocalSwaps")


Task = tuple[str, int, float, int, int]


def _probes(task: Task) -> float:
    """Per row, profiling included."""
    name, period, dear, rows, seed = task
    tallies = _run(name, changing(rows, period, seed), dear, 5 * BATCH).ledger.operators
    return sum(t.evaluated * (dear if j % 2 else 1.0) for j, t in enumerate(tallies)) / rows


@cache
def _mean_probes(period: int, dear: float, size: Size) -> list[float]:
    """Of each contestant, over several draws."""
    tasks = [(n, period, dear, 2 * size.rows, s) for n in CONTESTANTS for s in range(SEEDS)]
    told = np.array(spread(_probes, tasks, size)).reshape(len(CONTESTANTS), SEEDS)
    return [float(mean) for mean in told.mean(axis=1)]


def _costs(
    name: str, about: str, paper: str, axis: tuple[str, Sequence[Any]], points: Any, size: Size
) -> Figure:
    rows = []
    for place, (period, dear) in zip(axis[1], points, strict=True):
        rows.append((place, *_mean_probes(period, dear, size)))
    ahead = [row[3] / row[1] - 1 for row in rows]
    told = ", ".join(f"{row[0]:,}: {share:+.1%}" for row, share in zip(rows, ahead, strict=True))
    return Figure(
        name,
        about,
        paper,
        f"what Sweep costs more than A-Greedy by {axis[0]}: {told}",
        (axis[0], *CONTESTANTS),
        rows,
        {n: (list(axis[1]), [row[i + 1] for row in rows]) for i, n in enumerate(CONTESTANTS)},
        (axis[0], "probes per row"),
    )


def by_period(size: Size) -> Figure:
    """Figure 19."""
    periods = [p for p in (25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000) if p <= size.rows]
    return _costs(
        "fig19",
        "cost by the rows between changes, every other of 8 filters costs 10 probes",
        "A-Greedy and Independent are well ahead of Sweep where changes are frequent; Sweep "
        "overtakes where they are rare (A-Greedy is better at 100,000 rows, Sweep at 1,000,000)",
        ("rows between changes", periods),
        [(period, 10.0) for period in periods],
        size,
    )


def by_cost(name: str, period: int, paper: str, size: Size) -> Figure:
    """Figures 20 and 21."""
    each = min(period, size.rows)
    return _costs(
        name,
        f"cost by what every other of 8 filters costs, a change every {each:,} rows",
        paper,
        ("cost of the dear ones", DEAR),
        [(each, float(dear)) for dear in DEAR],
        size,
    )


CHANGING: dict[str, Callable[[Size], Figure]] = {
    "fig16": partial(timeline, "fig16", "Sweep", "A-Greedy adapts much faster than Sweep"),
    "fig17": partial(timeline, "fig17", "LocalSwaps", "and than LocalSwaps"),
    "fig18": partial(
        timeline,
        "fig18",
        "Independent",
        "Independent adapts as quickly, to a worse order before and after the change",
    ),
    "fig19": by_period,
    "fig20": partial(
        by_cost,
        "fig20",
        100_000,
        "A-Greedy is better than Sweep, by more the dearer the filters",
    ),
    "fig21": partial(
        by_cost,
        "fig21",
        1_000_000,
        "Sweep is better than A-Greedy, by more the dearer the filters",
    ),
}
