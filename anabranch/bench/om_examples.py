"""The examples of the paper on OM: the cost of two plans, and rounds over a stream."""

from collections.abc import Callable

import pyarrow as pa

from anabranch.bench.figure import Figure
from anabranch.bench.size import Size
from anabranch.cost.utility import Arrive, Conditions, Select, Weights
from anabranch.kernel import Fabric, RowPredicate
from anabranch.model import Operator, Query
from anabranch.policies import Fixed

# Figure 2: what the plans put out per second, and what they hold.
PLANS = {"plan 1": (5.0, 775.0), "plan 2": (2.5, 575.0)}
WEIGHTS = ((0.1, 0.9), (20_000.0, 2.0))


def figure_2(size: Size) -> Figure:
    """Figure 2: two selections of 500 and 50 rows per second in either order."""
    o1, o2 = ("o1", 500.0), ("o2", 50.0)
    under = Conditions({"s": 500.0}, {"o1": 0.5, "o2": 0.1})
    rows = []
    for (name, printed), (a, b) in zip(PLANS.items(), ((o1, o2), (o2, o1)), strict=True):
        plan = Select(Select(Arrive("s"), *a), *b)
        flows = [float(plan.below.told(under).flow), float(plan.told(under).flow)]
        rate = float(plan.told(under).rate)
        rows.append((name, printed[0], rate, printed[1], 500.0 + sum(flows)))
    size.tick()
    return Figure(
        "fig2",
        "output rate and memory of two orders of two selections",
        "5 results per second and 775 rows, 2.5 and 575",
        "; ".join(f"{row[2]:g} and {row[4]:g}" for row in rows),
        ("plan", "rate, printed", "rate", "memory, printed", "memory"),
        rows,
    )


def costs(size: Size) -> Figure:
    """The cost example: two weightings, two choices."""
    rows = []
    for rate, memory in WEIGHTS:
        weights = Weights(rate, memory)
        each = {name: weights.cost(*told) for name, told in PLANS.items()}
        rows.append((rate, memory, *each.values(), min(each, key=lambda name: each[name])))
    size.tick()
    return Figure(
        "costs",
        "cost of the plans of Figure 2 under two weightings",
        "697.52 and 517.54 under (0.1, 0.9), 5,550 and 9,150 under (20,000, 2)",
        "; ".join(f"{row[2]:,.2f} and {row[3]:,.2f}" for row in rows),
        ("rate weight", "memory weight", *PLANS, "chosen"),
        rows,
    )


# Section 3.1: values with the seconds at which they come, in windows of 20 seconds.
ARRIVALS = {1: 10, 5: 7, 10: 8, 15: 25, 20: 10, 25: 8, 30: 9, 35: 26, 40: 11, 45: 7, 50: 20}
WINDOW = 20
ROUNDS = ("10, 25", "11, 26", "20")


def rounds(size: Size) -> Figure:
    """The round example: a selection and a projection, through the fabric, round by round."""
    query = Query((Operator("a1 >= 10", ("a1",)),))
    fabric = Fabric(query, [(RowPredicate(lambda a: a >= 10), [0])], Fixed().bind(query))
    rows = []
    for number, printed in enumerate(ROUNDS):
        begin = number * WINDOW
        values = [a for second, a in ARRIVALS.items() if begin < second <= begin + WINDOW]
        kept = fabric.process([pa.array(values)], len(values))
        # 10 passes twice in the first round; the paper prints sets.
        passed = sorted({a for a, keep in zip(values, kept, strict=True) if keep})
        rows.append((number + 1, printed, ", ".join(map(str, passed))))
    size.tick()
    return Figure(
        "rounds",
        "what comes out of each round of a selection",
        "{10, 25}, {26, 11}, {20}",
        "; ".join(row[2] for row in rows),
        ("round", "printed", "here"),
        rows,
    )


EXAMPLES: dict[str, Callable[[Size], Figure]] = {
    "fig2": figure_2,
    "costs": costs,
    "rounds": rounds,
}
