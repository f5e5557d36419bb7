"""A query and its plan in plain words."""

from collections.abc import Mapping, Sequence

from anabranch.model import Mesh, Query
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
    """The order, with what was measured of each operator where it stands."""
    lines = ["order now:"]
    for route in mesh.routes:
        for position, name in enumerate(route.order, start=1):
            figures = mesh.figures.get(name, {})
            operator = mesh.query.operators[mesh.query.index(name)]
            lines.append(f"  {position}. {operator}{_told(figures)}")
    return "\n".join(lines)


def _told(figures: Mapping[str, float]) -> str:
    if not figures:
        return ""
    cost, passed = figures["cost"], figures["passed"]
    drops = (1 - passed) / cost if cost > 0 else float("inf")
    return (
        f": {cost * 1e6:.2f} us per row, drops {1 - passed:.1%} of the rows it sees, "
        f"{drops:,.0f} drops per second"
    )
