"""`anabranch bench rates`: the rate model against a simulation, and dynamic programming."""

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from anabranch.bench.figure import Figure, Line
from anabranch.bench.rates_spark import shapes
from anabranch.bench.runner import Bench
from anabranch.bench.size import Size, spread
from anabranch.cost.crossing import crossings, schedule
from anabranch.cost.flow import Flow
from anabranch.cost.objectives import (
    LocalRate,
    LocalTime,
    MostResults,
    Objective,
    Soonest,
    SteadyRate,
)
from anabranch.cost.pipeline import Selection, output_rate
from anabranch.cost.queueing import Simulated, simulate
from anabranch.cost.rate import JoinTree
from anabranch.cost.traditional import handled_bytes
from anabranch.cost.trees import all_trees
from anabranch.data.stream_specs import five_way, random_join, three_way

SEEDS = 9
FIVE_SEEDS = 3
SPECS = 500
# Seconds that plans are simulated for.
THREE_WAY_SECONDS, FIVE_WAY_SECONDS = 60.0, 360.0


def fig1(size: Size) -> Figure:
    """Figure 1: two selections, of which one is slow."""
    slow, fast = Selection("slow", 0.1, 1 / 50), Selection("fast", 0.1)
    orders = {"slow first": (slow, fast), "fast first": (fast, slow)}
    rows = [(name, round(output_rate(500.0, order), 9)) for name, order in orders.items()]
    size.tick()
    return Figure(
        "fig1",
        "two selections on 500 rows per second",
        "0.5 and 5 results per second",
        " and ".join(f"{rate:g}" for _, rate in rows) + " results per second",
        ("order", "results per second"),
        rows,
    )


def three_way_plans(size: Size) -> Figure:
    """Figures 7 to 10: where (A, C), B overtakes (A, B), C."""
    first, many = three_way()
    (predicted,) = crossings(first, many, THREE_WAY_SECONDS)
    found = []
    for seed in range(SEEDS):
        one, other = (simulate(tree, THREE_WAY_SECONDS, seed).times for tree in (first, many))
        count = min(len(one), len(other))
        found.append(int(np.flatnonzero(one[:count] < other[:count])[-1]))
        size.tick()
    simulated = float(np.median(found))
    by_paper = _crossing_by_equation(first, many)
    stages = schedule([first, many], THREE_WAY_SECONDS)
    rows = [
        ("flow", predicted.results, predicted.at),
        ("Equation 2, as printed", by_paper, first.time_to(by_paper)),
        (f"simulated, median of {SEEDS}", simulated, inf),
        (f"simulated, from {min(found):,} to {max(found):,}", simulated, inf),
    ]
    off = predicted.results / simulated - 1
    return Figure(
        "three_way",
        f"{stages[0].tree} is replaced by {stages[1].tree}",
        "roughly 2,000 results, predicted and measured",
        f"predicted at {predicted.results:,.0f} results, simulated at {simulated:,.0f} "
        f"({off:+.0%}); Equation 2 as printed says {by_paper:,.0f}",
        ("model", "results", "seconds"),
        [(name, round(results), "" if at == inf else round(at, 2)) for name, results, at in rows],
        _curves({"(A, B), C": first, "(A, C), B": many}, THREE_WAY_SECONDS),
        ("seconds", "results"),
    )


def _crossing_by_equation(first: JoinTree, many: JoinTree) -> float:
    """Results at which the paper's own model has the plans cross, by bisection."""
    low, high = 1.0, 50_000.0
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        ahead = first.time_to(middle) < many.time_to(middle)
        low, high = (middle, high) if ahead else (low, middle)
    return low


def _curves(trees: Mapping[str, JoinTree], until: float) -> dict[str, Line]:
    lines: dict[str, Line] = {}
    for name, tree in trees.items():
        times, found = Flow(tree).curve(until)
        lines[f"{name}, predicted"] = (times.tolist(), found.tolist())
        run = simulate(tree, until, seed=0)
        marks = np.linspace(0, until, 60)
        lines[f"{name}, simulated"] = (marks.tolist(), [float(run.results(t)) for t in marks])
    return lines


def _simulated(task: tuple[str, int]) -> Simulated:
    name, seed = task
    return simulate(five_way()[name], FIVE_WAY_SECONDS, seed)


def five_way_plans(size: Size) -> Figure:
    """Figures 12 to 15 and Table 6."""
    plans = five_way()
    tasks = [(name, seed) for name in plans for seed in range(FIVE_SEEDS)]
    runs = dict(zip(tasks, spread(_simulated, tasks, size), strict=True))
    rows: list[tuple[Any, ...]] = []
    for results in (1_000, 20_000, 100_000):
        for name, tree in plans.items():
            times = [runs[name, seed].time_to(results) for seed in range(FIVE_SEEDS)]
            rows.append(
                (
                    results,
                    name,
                    round(Flow(tree).time_to(results), 1),
                    round(tree.time_to(results), 1),
                    round(float(np.median(times)), 1),
                    "",
                )
            )
    rows += [
        ("the last", name, round(Flow(tree).end, 1), "", "", f"{handled_bytes(tree) / 1e6:,.0f}")
        for name, tree in plans.items()
    ]
    ends = {name: Flow(tree).end for name, tree in plans.items()}
    cheapest = min(plans, key=lambda name: handled_bytes(plans[name]))
    return Figure(
        "five_way",
        "seconds until so many results; Left Deep, Fast Leaves, Evenly Spread",
        "the last after 1,300, 970 and 880 seconds; by cardinalities Fast Leaves is the cheapest",
        f"{_ranks(rows)}; the last after {ends['Left Deep']:,.0f}, {ends['Fast Leaves']:,.0f} and "
        f"{ends['Evenly Spread']:,.0f} s by flow; by cardinalities {cheapest}",
        ("results", "plan", "flow", "Equation 2", "simulated", "megabytes read"),
        rows,
        _curves(plans, 120.0),
        ("seconds", "results"),
    )


def _ranks(rows: list[tuple[Any, ...]]) -> str:
    """Which plan is ahead of which, by each model."""
    counts = [row[0] for row in rows if isinstance(row[0], int)]
    by_model = {}
    for place, model in ((2, "flow"), (3, "Equation 2"), (4, "simulation")):
        told = []
        for count in dict.fromkeys(counts):
            ranked = sorted((row for row in rows if row[0] == count), key=lambda row: row[place])
            told.append(", ".join(row[1] for row in ranked))
        by_model[model] = tuple(told)
    orders = {order for told in by_model.values() for order in told}
    if len(orders) == 1:
        return (
            f"first to last: {orders.pop()}, for {min(counts):,} to {max(counts):,} results by all"
        )
    return "the models rank differently: " + "; ".join(f"{m}: {t}" for m, t in by_model.items())


def _searched(seed: int) -> dict[str, float]:
    """For every objective, how much worse dynamic programming is than all trees."""
    join = random_join(seed)
    endless = replace(join, sources=[replace(s, window=inf) for s in join.sources])
    trees = all_trees(endless)
    most = max(Flow(tree).results(60.0) for tree in trees)
    some = max(1.0, min(1_000.0, most / 2))
    asked: dict[str, tuple[Objective, bool]] = {
        "local rate maximisation": (LocalRate(60.0), False),
        "steady rate": (SteadyRate(), True),
        "local time minimisation": (LocalTime(some), False),
        "most results by 60 s": (MostResults(60.0), False),
        "soonest": (Soonest(some), False),
    }
    gaps = {}
    for name, (objective, windowed) in asked.items():
        spec = join if windowed else endless
        found = objective.loss(objective.search(spec, "bushy"))
        best = min(objective.loss(tree) for tree in (all_trees(join) if windowed else trees))
        gaps[name] = abs(found - best) / abs(best) if best else 0.0
    return gaps


def search(size: Size) -> Figure:
    """Dynamic programming against all trees."""
    told = spread(_searched, list(range(SPECS)), size)
    rows = []
    for name in told[0]:
        gaps = np.array([one[name] for one in told])
        exact = int((gaps < 1e-9).sum())
        rows.append((name, exact, int((gaps > 0.05).sum()), f"{gaps.max():.2%}"))
    worst = max(float(row[3].rstrip("%")) for row in rows)
    return Figure(
        "search",
        f"dynamic programming on {SPECS} random joins of up to 6 streams",
        "no figure; wanted: exact for local rates, within 5 % for the others",
        f"{rows[0][1]} of {SPECS} exact for local rates, at worst {worst:.2f} % off for any",
        ("objective", "exact", "over 5 % off", "worst"),
        rows,
    )


RATES = Bench(
    "rates",
    {
        "fig1": fig1,
        "three_way": three_way_plans,
        "five_way": five_way_plans,
        "search": search,
    },
    {"shapes": shapes},
)
