"""Orders of operators as OM's plans."""

from collections.abc import Mapping, Sequence
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import merit_order
from anabranch.cost.chart import Axis, Chart, build
from anabranch.cost.utility import Arrive, Conditions, Select, Step, Utility
from anabranch.model import Query

Floats = NDArray[np.float64]
Order = tuple[int, ...]
# The stream's name in conditions, and the name of its axis.
STREAM = "arrival rate"
# All orders are candidates up to so many; of more, those that are good somewhere.
MOST_ORDERS = 120
LOOKS = 200
# Regions of a chart over all selectivities and the rate, at most; from how many on those of up to
# three axes are refined at borders only.
MOST_REGIONS, MANY_REGIONS = 20_000, 2_000


def candidate_orders(query: Query, speeds: Sequence[float], seed: int = 0) -> list[Order]:
    """Orders to choose among, each with its guards in front.

    >>> from anabranch.model import Operator
    >>> query = Query((Operator("a"), Operator("b", after=("a",)), Operator("c")))
    >>> candidate_orders(query, [1.0, 1.0, 1.0])
    [(0, 1, 2), (0, 2, 1), (2, 0, 1)]
    """
    if factorial(len(query)) <= MOST_ORDERS:
        return list(_all(query, ()))
    random, found = np.random.default_rng(seed), dict[Order, None]()
    for _ in range(LOOKS):
        shares, trust = random.random(len(query)), random.random()
        # Drops per second to begin with, or few rows behind, or something in between.
        merit = (1 - shares) * np.asarray(speeds) ** trust
        found[merit_order(query, merit)] = None
    return list(found)[:MOST_ORDERS]


def _all(query: Query, placed: Order) -> list[Order]:
    if len(placed) == len(query):
        return [placed]
    return [order for i in query.eligible(placed) for order in _all(query, (*placed, i))]


def as_plan(query: Query, order: Order, speeds: Sequence[float]) -> Step:
    """An order as a chain of selections."""
    plan: Step = Arrive(STREAM)
    for i in order:
        plan = Select(plan, query.names[i], speeds[i])
    return plan


def parts_for(partitions: int, dimensions: int) -> int:
    """So many to an axis that the chart stays small: the more operators, the coarser it is.

    >>> [parts_for(10, dimensions) for dimensions in (3, 4, 5, 8)]
    [10, 10, 7, 3]
    """
    parts = partitions
    while parts > 2 and parts**dimensions > MOST_REGIONS:
        parts -= 1
    return parts


def order_chart(
    query: Query,
    orders: Sequence[Order],
    speeds: Sequence[float],
    utility: Utility,
    rates: tuple[float, float],
    partitions: int,
    window: float,
    varied: Sequence[str],
    known: Mapping[str, float],
) -> Chart:
    """The sel-lambda chart: an axis for the selectivities that vary, one for the arrival rate."""
    parts = parts_for(partitions, len(varied) + 1)
    axes = [
        *(Axis(name, 0.0, 1.0, parts) for name in varied),
        Axis(STREAM, *rates, parts, log=True),
    ]
    plans = [as_plan(query, order, speeds) for order in orders]

    def cost_at(point: Mapping[str, Floats]) -> Floats:
        shares = {name: point.get(name, known.get(name, 0.5)) for name in query.names}
        under = Conditions({STREAM: point[STREAM]}, shares, window)
        return np.array([np.broadcast_to(utility(p, under), point[STREAM].shape) for p in plans])

    names = [", ".join(query.names[i] for i in order) for order in orders]
    refine = len(axes) <= 3 and prod(axis.parts for axis in axes) > MANY_REGIONS
    return build(axes, names, cost_at, refine)
