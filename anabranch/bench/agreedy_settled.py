"""The A-Greedy paper's experiments on data that stays as it is: Figures 9 to 15 and Table 2.

S. Babu et al.: Adaptive Ordering of Pipelined Stream Filters, SIGMOD 2004, Sections 9.2 and 9.3.
What a filter costs is counted in probes; rates are rows per 1,000 probes, profiling included.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.bench.figure import Figure
from anabranch.bench.replay import EVALUATION, replay
from anabranch.bench.size import Size
from anabranch.cost import optimal_order, order_cost
from anabranch.data.correlated import correlated_bits
from anabranch.model import AnabranchError, Operator, Query
from anabranch.policies import AGreedy, Independent, LocalSwaps, Policy, Sweep

Bits = NDArray[np.bool_]

# Table 1, and the larger share of profiled rows of Section 9.3.
P, MORE = 0.01, 0.05
GROUP = 2
SEEDS = 5
# Beyond this the best order takes too long to find: all orders are tried.
MOST_ORDERED = 8


@dataclass(frozen=True)
class Setting:
    """Filters of one experiment; `dear` is what every other one costs, in probes."""

    count: int
    drop: float = 0.5
    group: int = GROUP
    dear: float = 1.0

    @property
    def costs(self) -> NDArray[np.float64]:
        return np.array([self.dear if j % 2 else 1.0 for j in range(self.count)])

    def bits(self, rows: int, seed: int) -> Bits:
        return correlated_bits(rows, [self.drop] * self.count, self.group, seed)


@dataclass(frozen=True)
class Settled:
    """What a row costs once the order has settled, in probes."""

    useful: float
    profiling: float

    @property
    def rate(self) -> float:
        return 1_000 / (self.useful + self.profiling)

    @property
    def overhead(self) -> float:
        return self.profiling / (self.useful + self.profiling)


def as_in_the_paper(p: float = P) -> dict[str, Policy]:
    """The four algorithms with the parameters of Table 1."""
    return {
        "A-Greedy": AGreedy(p=p, window=1_000, alpha=0.9),
        "Independent": Independent(p=p / 2, window=1_000, alpha=0.9),
        "Sweep": Sweep(p=p, window=500, alpha=0.9),
        "LocalSwaps": LocalSwaps(p=p, window=1_000, alpha=0.9),
    }


def settled(policy: Policy, setting: Setting, rows: int) -> Settled:
    """Learn on one half of the rows, count on the other, for several draws of the filters."""
    useful = profiling = 0.0
    half = rows // 2
    for seed in range(SEEDS):
        bits = setting.bits(rows, seed)
        costs = EVALUATION * setting.costs
        learned = replay(policy, bits[:half], workers=1, costs=costs.tolist(), seed=seed)
        plan = learned.plans[0]
        done = replay(policy, bits[half:], workers=1, costs=costs.tolist(), seed=seed, start=plan)
        if not (done.keep == ~bits[half:].any(axis=1)).all():
            raise AnabranchError(f"{policy.name} returned other rows than the filters pass")
        for tally, cost in zip(done.ledger.operators, setting.costs, strict=True):
            useful += (tally.evaluated - tally.extra) * float(cost)
            profiling += tally.extra * float(cost)
    return Settled(useful / (SEEDS * (rows - half)), profiling / (SEEDS * (rows - half)))


def best(setting: Setting, rows: int) -> Settled:
    """The order of an exhaustive search, told before."""
    query = Query(tuple(Operator(f"d{j + 1}") for j in range(setting.count)))
    each = []
    for seed in range(SEEDS):
        bits = setting.bits(rows, seed)[rows // 2 :]
        each.append(order_cost(bits, setting.costs, optimal_order(bits, setting.costs, query)))
    return Settled(float(np.mean(each)), 0.0)


@cache
def _outcomes(settings: tuple[Setting, ...], p: float, size: Size) -> list[dict[str, Settled]]:
    """All algorithms and, where it can be found, the best order, for each setting."""
    told = []
    for setting in settings:
        outcome = {n: settled(q, setting, size.rows) for n, q in as_in_the_paper(p).items()}
        if setting.count <= MOST_ORDERED:
            outcome["Optimal"] = best(setting, size.rows)
        told.append(outcome)
        size.tick()
    return told


def _rates(
    name: str,
    about: str,
    paper: str,
    axis: tuple[str, Sequence[Any]],
    outcomes: Sequence[Mapping[str, Settled]],
    chosen: Sequence[str],
) -> Figure:
    """Processing rates along an axis."""
    label, places = axis
    rows = [
        (place, *(told[n].rate if n in told else "-" for n in chosen))
        for place, told in zip(places, outcomes, strict=True)
    ]
    ahead = [told["A-Greedy"].rate / told["Independent"].rate - 1 for told in outcomes]
    near = [told["A-Greedy"].rate / told["Optimal"].rate for told in outcomes if "Optimal" in told]
    lines = {}
    for n in chosen:
        there = [(x, told[n].rate) for x, told in zip(places, outcomes, strict=True) if n in told]
        lines[n] = ([x for x, _ in there], [y for _, y in there])
    return Figure(
        name,
        about,
        paper,
        f"A-Greedy against Independent from {min(ahead):+.1%} to {max(ahead):+.1%}, and at least "
        f"{min(near):.1%} of the best order's rate",
        (label, *chosen),
        rows,
        lines,
        (label, "rows per 1,000 probes"),
    )


def _broken_down(
    name: str, about: str, paper: str, axis: tuple[str, Sequence[Any]], outcomes: Any
) -> Figure:
    """What is useful and what is profiling, for each algorithm."""
    label, places = axis
    names = [n for n in ("Optimal", *as_in_the_paper()) if any(n in told for told in outcomes)]
    rows = [
        (place, n, told[n].useful, told[n].profiling, told[n].overhead)
        for place, told in zip(places, outcomes, strict=True)
        for n in names
        if n in told
    ]
    most = max(row[4] for row in rows if row[1] == "A-Greedy")
    shared = [f"{row[0]} {row[1]}" for row in rows]
    return Figure(
        name,
        about,
        paper,
        f"profiling takes A-Greedy {most:.1%} at most",
        (label, "algorithm", "useful probes per row", "profiling", "profiling, share of all"),
        rows,
        {
            "useful": (shared, [row[2] for row in rows]),
            "profiling": (shared, [row[3] for row in rows]),
        },
        (f"{label}, algorithm", "probes per row"),
        bars=True,
    )


COUNTS = (2, 4, 6, 8, 12, 16, 20)
DROPS = tuple(round(0.1 * i, 1) for i in range(1, 10))
GROUPS = (1, 2, 4, 8)
DEAR = (1, 10, 50, 100)
BY_COUNT = tuple(map(Setting, COUNTS))
BY_COST = tuple(Setting(8, dear=float(c)) for c in DEAR)


def by_count(size: Size) -> Figure:
    """Figure 9."""
    return _rates(
        "fig9",
        "processing rate by the number of filters",
        "A-Greedy is better than Independent throughout, by more the more filters there are, and "
        "near the best order for few filters",
        ("filters", COUNTS),
        _outcomes(BY_COUNT, P, size),
        ("Optimal", "A-Greedy", "Independent"),
    )


def by_selectivity(size: Size) -> Figure:
    """Figure 10."""
    settings = tuple(Setting(6, drop=drop) for drop in DROPS)
    return _rates(
        "fig10",
        "processing rate by selectivity, 6 filters",
        "A-Greedy is furthest ahead of Independent for medium selectivities",
        ("selectivity", [round(1 - drop, 1) for drop in DROPS]),
        _outcomes(settings, P, size),
        ("Optimal", "A-Greedy", "Independent"),
    )


def by_correlation(size: Size) -> Figure:
    """Figure 11."""
    return _rates(
        "fig11",
        "processing rate by the size of correlated groups, 8 filters",
        "A-Greedy's lead over Independent rises with correlation and falls again where all filters "
        "are alike",
        ("filters of a group", GROUPS),
        _outcomes(tuple(Setting(8, group=group) for group in GROUPS), P, size),
        ("Optimal", "A-Greedy", "Independent"),
    )


PRINTED = {(3, P): 0.0088, (3, MORE): 0.0417, (8, P): 0.0292, (8, MORE): 0.1334}


def overhead(size: Size) -> Figure:
    """Table 2: the share that profiling takes; to keep the window and the view is no probe."""
    rows = []
    for (count, p), printed in PRINTED.items():
        told = settled(as_in_the_paper(p)["A-Greedy"], Setting(count), size.rows)
        rows.append((count, p, printed, told.overhead))
        size.tick()
    said = "; ".join(f"{n} filters, p = {p}: {share:.2%}" for n, p, _, share in rows)
    marks = [f"n = {n}, p = {p}" for n, p, _, _ in rows]
    return Figure(
        "table2",
        "share of the run that A-Greedy spends on profile rows",
        "0.88 % (3 filters, p = 0.01), 4.17 % (3, 0.05), 2.92 % (8, 0.01), 13.34 % (8, 0.05)",
        said,
        ("filters", "p", "printed", "here"),
        rows,
        {"here": (marks, [100 * row[3] for row in rows])},
        ("", "% of all probes"),
        bars=True,
    )


def all_by_count(size: Size) -> Figure:
    """Figure 12."""
    return _rates(
        "fig12",
        "processing rate of all algorithms, p = 0.05",
        "Sweep and LocalSwaps are ahead of A-Greedy, by more the more filters there are",
        ("filters", COUNTS),
        _outcomes(BY_COUNT, MORE, size),
        ("Optimal", "A-Greedy", "Sweep", "LocalSwaps", "Independent"),
    )


def count_broken_down(size: Size) -> Figure:
    """Figure 13."""
    return _broken_down(
        "fig13",
        "useful and profiling probes of all algorithms, p = 0.05",
        "the gap of Figure 12 is overhead alone: useful work is alike for all but Independent",
        ("filters", COUNTS),
        _outcomes(BY_COUNT, MORE, size),
    )


def all_by_cost(size: Size) -> Figure:
    """Figure 14."""
    return _rates(
        "fig14",
        "processing rate if every other of 8 filters is dear",
        "Sweep and LocalSwaps are ahead of A-Greedy; LocalSwaps is behind Sweep at 50 and 100, "
        "where it misses the best order",
        ("cost of the dear ones", DEAR),
        _outcomes(BY_COST, P, size),
        ("Optimal", "A-Greedy", "Sweep", "LocalSwaps", "Independent"),
    )


def cost_broken_down(size: Size) -> Figure:
    """Figure 15."""
    return _broken_down(
        "fig15",
        "useful and profiling probes if every other of 8 filters is dear",
        "profiling takes A-Greedy around 25 % at a cost of 100",
        ("cost of the dear ones", DEAR),
        _outcomes(BY_COST, P, size),
    )


SETTLED: dict[str, Callable[[Size], Figure]] = {
    "fig9": by_count,
    "fig10": by_selectivity,
    "fig11": by_correlation,
    "table2": overhead,
    "fig12": all_by_count,
    "fig13": count_broken_down,
    "fig14": all_by_cost,
    "fig15": cost_broken_down,
}
