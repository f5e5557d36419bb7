"""A query and its plan in plain words."""

from collections import Counter
from collections.abc import Mapping, Sequence

from anabranch.model import Cells, Mesh, Query
from anabranch.policies import Policy


def explain(query: Query, mesh: Mesh, outline: Sequence[str], policy: Policy) -> str:
    """The stages, then the order with the figures that it was chosen by.

    >>> from anabranch.model import Operator
    >>> from anabranch.policies import Fixed
    >>> query = Query((Operator("a", ("x",)), Operator("b", ("y",), after=("a",))))
    >>> mesh = Mesh.single(query, ("a", "b"))
    >>> print(explain(query, mesh, ["fused operator: a(x), b(y) after a"], Fixed()))
    fused operator: a(x), b(y) after a
    policy: fixed, the order written, or the one given; never profiles
    order now:
      1. a(x)
      2. b(y) after a
    """
    order = explain_plan(mesh) if len(query) else "nothing to order"
    return "\n".join([*outline, f"policy: {policy.name}, {policy.summary}", order])


def explain_plan(mesh: Mesh) -> str:
    """The order, with what was measured of each operator; with classes, their routes as well.

    >>> from anabranch.model import Cells, Operator, Pairing, Route, ValuePartition
    >>> query = Query((Operator("a"), Operator("b")))
    >>> routes = Route(query, ("a", "b")), Route(query, ("b", "a"))
    >>> city = ValuePartition("city", (1.0, 2.0))
    >>> pairing = Pairing("b", 0, (0.9, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5))
    >>> print(explain_plan(Mesh(query, routes, {}, Cells((city,), ((1, 1),), (pairing,)))))
    main order now:
      1. a()
      2. b()
    routes by content:
      b depends on city: passes 10.0% to 90.0% of the rows, by class
      1. a, b (all other rows)
      2. b, a (1 class)
    """
    classified = mesh.classifier is not None
    lines = ["main order now:" if classified else "order now:"]
    for position, name in enumerate(mesh.routes[0].order, start=1):
        figures = mesh.figures.get(name, {})
        operator = mesh.query.operators[mesh.query.index(name)]
        lines.append(f"  {position}. {operator}{_told(figures)}")
    if isinstance(mesh.classifier, Cells):
        lines += ["routes by content:", *_pairings(mesh.classifier), *_classes(mesh)]
    elif classified:
        lines.append(f"a row draws one of {len(mesh.routes)} routes, drawn anew for every slice")
    return "\n".join(lines)


def _pairings(cells: Cells) -> list[str]:
    return [
        f"  {p.operator} depends on {cells.partitions[p.partition]}: passes {min(p.passed):.1%} to "
        f"{max(p.passed):.1%} of the rows, by class"
        for p in cells.pairings
    ]


def _classes(mesh: Mesh) -> list[str]:
    assert isinstance(mesh.classifier, Cells)
    counts = Counter(route for _, route in mesh.classifier.table)
    lines = []
    for place, route in enumerate(mesh.routes):
        classes = f"{counts[place]} class{'' if counts[place] == 1 else 'es'}"
        lines.append(f"  {place + 1}. {route} ({classes if place else 'all other rows'})")
    return lines


def _told(figures: Mapping[str, float]) -> str:
    if not figures:
        return ""
    cost, passed = figures["cost"], figures["passed"]
    drops = (1 - passed) / cost if cost > 0 else float("inf")
    return (
        f": {cost * 1e6:.2f} us per row, drops {1 - passed:.1%} of the rows it sees, "
        f"{drops:,.0f} drops per second"
    )
