"""Examples 6 and 7 of the A-Greedy paper: where its cheaper variants go wrong."""

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from anabranch.bench.figure import Figure
from anabranch.bench.replay import replay
from anabranch.bench.size import Size
from anabranch.cost import order_cost
from anabranch.model import Mesh, Operator, Query
from anabranch.policies import AGreedy, Independent, LocalSwaps, Policy

Bits = NDArray[np.bool_]

VALUES = np.arange(1, 101)
TURNS = 60  # times that every value comes


def _drops(*contents: Collection[int]) -> Bits:
    """A filter drops what it does not contain; every value once."""
    return np.column_stack([~np.isin(VALUES, list(content)) for content in contents])


def _cost(policy: Policy, before: Bits, after: Bits) -> float:
    """Filters per row by the order that is used in the end."""
    count = after.shape[1]
    query = Query(tuple(Operator(f"d{j + 1}") for j in range(count)))
    stream = np.concatenate([np.tile(before, (TURNS, 1)), np.tile(after, (TURNS, 1))])
    start = Mesh.single(query, query.names)
    done = replay(policy, stream, workers=1, batch=500, start=start)
    order = [query.names.index(name) for name in done.plans[0].routes[0].order]
    return order_cost(after, np.ones(count), tuple(order))


def example_6(size: Size) -> Figure:
    """All filters but one agree: Independent puts that one last."""
    rows = []
    for n in (4, 6, 10):
        bits = _drops(*[range(1, 50)] * (n - 1), range(50, 101))
        costs = [_cost(policy, bits, bits) for policy in (Independent(p=1.0), AGreedy(p=1.0))]
        rows.append((n, 0.49 * n + 0.51, costs[0], 1.49, costs[1]))
        size.tick()
    return Figure(
        "example6",
        "filters per row where all filters but one agree",
        "Independent 0.49 n + 0.51, A-Greedy 1.49",
        "; ".join(f"n = {n}: {a:.2f} and {b:.2f}" for n, _, a, _, b in rows),
        ("filters", "0.49 n + 0.51", "Independent", "1.49", "A-Greedy"),
        rows,
        {
            "Independent": ([row[0] for row in rows], [row[2] for row in rows]),
            "A-Greedy": ([row[0] for row in rows], [row[4] for row in rows]),
        },
        ("filters", "filters per row"),
    )


def example_7(size: Size) -> Figure:
    """One filter changes so that no swap of neighbours helps: LocalSwaps stays where it is."""
    rows = []
    for n in (5, 10, 20):
        each = 100 // n
        blocks = [range(i * each + 1, (i + 1) * each + 1) for i in range(n)]
        before = _drops(*[set(VALUES.tolist()) - set(block) for block in blocks])
        after = before.copy()
        after[:, -1] = ~np.isin(VALUES, list(blocks[-2]))
        costs = [_cost(policy, before, after) for policy in (LocalSwaps(p=1.0), AGreedy(p=1.0))]
        rows.append((n, (n + 1) / 2, costs[0], 1 + 1 / n, costs[1]))
        size.tick()
    return Figure(
        "example7",
        "filters per row after a change that LocalSwaps cannot follow",
        "LocalSwaps stays at 50 (n + 1) for 100 rows; A-Greedy finds the best order (printed: "
        "1 + 200/n, which does not follow)",
        "; ".join(f"n = {n}: {a:.2f} and {b:.2f} per row" for n, _, a, _, b in rows),
        ("filters", "stuck, by brute force", "LocalSwaps", "best, by brute force", "A-Greedy"),
        rows,
        {
            "LocalSwaps": ([row[0] for row in rows], [row[2] for row in rows]),
            "A-Greedy": ([row[0] for row in rows], [row[4] for row in rows]),
        },
        ("filters", "filters per row"),
    )


EXAMPLES: dict[str, Callable[[Size], Figure]] = {"example6": example_6, "example7": example_7}
