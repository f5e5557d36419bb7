"""Plans from one sample whose rows were timed one by one, as Spark's own expressions are."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import conditional_drops, greedy_order, optimal_order
from anabranch.model import Mesh, Query, Route, Tree
from anabranch.policies.query_mesh.agree import reasoned
from anabranch.policies.query_mesh.optimise import THOROUGH, Task
from anabranch.policies.query_mesh.repair import routes_of
from anabranch.policies.query_mesh.search import Stop
from anabranch.policies.query_mesh.treed import solve
from anabranch.stats import Reservoir

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

# Operators up to which the best of all orders is looked for.
FEW = 12
# Rows from which on a route is ordered by what its own rows took.
LEAST_ROWS = 50
# Guesses, for the search: seconds to tell a row's class in Spark, and what a further route costs
# each row. What is found is measured before it is used.
CLASSIFYING, OVERHEAD = 60e-9, 5e-9
# Times below that are noise.
LEAST_SECONDS = 1e-9
# Seconds that a search may take.
SEARCH_SECONDS = 1.0


def single_from(query: Query, sample: Reservoir) -> Mesh:
    """The best order for all rows."""
    return explained(Mesh.single(query, best_order(query, sample.bits, sample.times)), sample)


def mesh_from(query: Query, sample: Reservoir, seed: int = 0) -> Mesh | None:
    """Several routes by a tree, if a search finds that these are cheaper."""
    if not query.attributes or len(query) < 2 or not len(sample):
        return None
    settings = replace(THOROUGH, seed=seed, tolerance=0.0, stop=Stop(seconds=SEARCH_SECONDS))
    task = Task(sample, query, mean_costs(sample), settings, CLASSIFYING, OVERHEAD)
    mesh = retimed(solve(task).mesh, sample)
    return explained(mesh, sample) if isinstance(mesh.classifier, Tree) else None


def best_order(query: Query, bits: Bits, seconds: Floats) -> tuple[str, ...]:
    """The cheapest order by what each row took; of many operators the greedy one."""
    if len(query) <= FEW:
        order = optimal_order(bits, seconds, query)
    else:
        order = greedy_order(bits, np.maximum(seconds.mean(axis=0), LEAST_SECONDS), query)
    return tuple(query.names[i] for i in order)


def mean_costs(sample: Reservoir) -> Floats:
    """Seconds per row of each operator."""
    return np.asarray(np.maximum(sample.times.mean(axis=0), LEAST_SECONDS))


def retimed(mesh: Mesh, sample: Reservoir) -> Mesh:
    """The mesh with each route ordered by what its own rows took.

    A predicate may take longer on some rows than on others, and longer to fail than to hold.
    """
    if not isinstance(mesh.classifier, Tree):
        return mesh
    taken, orders = routes_of(mesh, sample), []
    for place, route in enumerate(mesh.routes):
        rows = taken == place
        known = rows.sum() >= LEAST_ROWS
        own = best_order(mesh.query, sample.bits[rows], sample.times[rows])
        orders.append(own if known else route.order)
    return _routed(mesh, orders)


def _routed(mesh: Mesh, orders: Sequence[tuple[str, ...]]) -> Mesh:
    """The mesh with an order for each of its routes."""
    distinct = list(dict.fromkeys(orders))
    if len(distinct) == 1:
        return Mesh.single(mesh.query, distinct[0])
    assert isinstance(mesh.classifier, Tree)
    tree = mesh.classifier.mapped(lambda place: distinct.index(orders[place]))
    routes = tuple(Route(mesh.query, order) for order in distinct)
    return replace(mesh, routes=routes, classifier=tree, reasons=())


def same_ends(mesh: Mesh, own: int, shared: Sequence[str]) -> Mesh:
    """The mesh whose routes have so many operators in orders of their own, others as `shared`.

    Few rows get that far: there routes may as well be alike.

    >>> from anabranch.model import AtMost, Attribute, Leaf, Operator
    >>> query = Query(tuple(map(Operator, "abcd")), (Attribute("x"),))
    >>> routes = Route.of(query, (0, 1, 3, 2)), Route.of(query, (1, 2, 3, 0))
    >>> mesh = Mesh(query, routes, classifier=Tree(AtMost("x", Leaf(0), Leaf(1), 0.0)))
    >>> print(same_ends(mesh, 1, "abcd"))
    1: a, b, c, d
    2: b, a, c, d
    """
    orders = []
    for route in mesh.routes:
        first = route.order[:own]
        orders.append((*first, *(name for name in shared if name not in first)))
    return _routed(mesh, orders)


def fewer(mesh: Mesh, sample: Reservoir) -> Mesh | None:
    """The mesh without the route that is missed least; None if one route would be left.

    Its rows take the best of the others.

    >>> from anabranch.model import AtMost, Attribute, Leaf, Operator
    >>> query = Query(tuple(map(Operator, "abc")), (Attribute("x"),))
    >>> routes = tuple(Route.of(query, order) for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0)))
    >>> mesh = Mesh(query, routes, classifier=Tree(
    ...     AtMost("x", Leaf(0), AtMost("x", Leaf(1), Leaf(2), 1.0), 0.0)))
    >>> sample = Reservoir(attributes=1, operators=3)
    >>> x = np.arange(99) % 3
    >>> drops = np.column_stack([x == 0, (x == 1) & (np.arange(99) < 20), x == 2])
    >>> sample.update(x[:, None].astype(float), drops, np.full((99, 3), 1e-6))
    >>> print(fewer(mesh, sample))
    1: a, b, c
    2: c, b, a
    """
    if len(mesh.routes) <= 2 or not isinstance(mesh.classifier, Tree):
        return None
    taken = routes_of(mesh, sample)
    routes = range(len(mesh.routes))
    # Entry (i, j): seconds that the rows of route i would take on route j.
    seconds = np.array(
        [[_seconds(mesh.routes[j], sample, taken == i) for j in routes] for i in routes]
    )
    own = seconds.diagonal().copy()
    np.fill_diagonal(seconds, np.inf)
    gone = int((seconds.min(axis=1) - own).argmin())
    left = [place for place in routes if place != gone]
    heir = left.index(int(seconds[gone].argmin()))
    tree = mesh.classifier.mapped(lambda place: heir if place == gone else left.index(place))
    return replace(mesh, routes=tuple(mesh.routes[i] for i in left), classifier=tree, reasons=())


def _seconds(route: Route, sample: Reservoir, rows: Bits) -> float:
    """What these rows take on a route."""
    order = list(route.indexes)
    dropped = np.logical_or.accumulate(sample.bits[rows][:, order], axis=1)
    asked = np.ones(dropped.shape, bool)
    asked[:, 1:] = ~dropped[:, :-1]
    return float((sample.times[rows][:, order] * asked).sum())


def explained(mesh: Mesh, sample: Reservoir) -> Mesh:
    """The plan with what the sample tells of operators and routes."""
    order = mesh.routes[0].indexes
    costs, drops = mean_costs(sample), conditional_drops(sample.bits, order)
    figures = {
        mesh.query.names[i]: {"cost": float(costs[i]), "passed": 1 - float(dropped)}
        for i, dropped in zip(order, drops, strict=True)
    }
    return replace(reasoned(mesh, sample, costs), figures=figures)
