"""A query and its plan in plain words."""

from collections import Counter
from collections.abc import Mapping, Sequence

from anabranch.model import Cells, Lottery, Mesh, microseconds
from anabranch.policies import Policy


def explain(mesh: Mesh, outline: Sequence[str], policy: Policy) -> str:
    """The stages, then the order with the figures that it was chosen by.

    >>> from dataclasses import replace
    >>> from anabranch.model import Operator, Query
    >>> from anabranch.policies import Fixed
    >>> query = Query((Operator("a", ("x",)), Operator("b", ("y",), after=("a",))))
    >>> native = Query((Operator("c", ("z > 1",)), Operator("d", ("z < 9",))))
    >>> mesh = Mesh.single(query, ("a", "b"))
    >>> mesh = replace(mesh, before=Mesh.single(native, ("d", "c")))
    >>> print(explain(mesh, ["fused operator: a(x), b(y) after a"], Fixed()))
    fused operator: a(x), b(y) after a
    policy: fixed, the order written, or the one given; never profiles
    order now:
      1. a(x)
      2. b(y) after a
    native predicates, before these:
      order now:
        1. d(z < 9)
        2. c(z > 1)
    """
    order = explain_plan(mesh) if len(mesh.query) else "nothing to order"
    lines = [*outline, f"policy: {policy.name}, {policy.summary}", order]
    for native, where in ((mesh.before, "before"), (mesh.behind, "behind")):
        if native is not None and len(native.query) > 1:
            told = explain_plan(native).splitlines()
            lines += [f"native predicates, {where} these:", *(f"  {line}" for line in told)]
    return "\n".join(lines)


def explain_plan(mesh: Mesh) -> str:
    """The order, with what was measured of each operator; with classes, their routes as well.

    >>> from anabranch.model import AtMost, Leaf, Operator, Query, Reason, Route, Tree
    >>> query = Query((Operator("a"), Operator("b")))
    >>> routes = Route(query, ("a", "b")), Route(query, ("b", "a"))
    >>> why = (Reason(0.6, 1.1e-6, 1.1e-6, {"a": 0.1, "b": 0.9}),
    ...        Reason(0.4, 1.2e-6, 1.9e-6, {"a": 0.9, "b": 0.2}))
    >>> tree = Tree(AtMost("size", Leaf(0), Leaf(1), 512.0))
    >>> print(explain_plan(Mesh(query, routes, {}, tree, {}, why)))
    main order now:
      1. a()
      2. b()
    2 routes, by size:
      if size <= 512: a, b
      if size > 512: b, a
      (a NULL goes with "not in" and ">")
    because, by a sample, a row costs 1.14 us there, 1.42 us on the best route for all, 20% less:
      a, b: 60% of the rows, 1.1 us instead of 1.1; a drops 90% of them, 10% of the others
      b, a: 40% of the rows, 1.2 us instead of 1.9; b drops 80% of them, 10% of the others

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
    several = len(mesh.routes) > 1
    lines = ["main order now:" if mesh.classifier is not None else "order now:"]
    for position, name in enumerate(mesh.routes[0].order, start=1):
        figures = mesh.figures.get(name, {})
        operator = mesh.query.operators[mesh.query.index(name)]
        lines.append(f"  {position}. {operator}{_told(figures)}")
    match mesh.classifier:
        case None:
            pass
        case Lottery():
            lines.append(f"a row draws one of {len(mesh.routes)} routes, anew for every slice")
        case Cells() if mesh.classifier.pairings or not several:
            lines += ["routes by content:", *_pairings(mesh.classifier), *_classes(mesh)]
        case _:
            lines += _mesh(mesh)
    return "\n".join(lines)


def _mesh(mesh: Mesh) -> list[str]:
    """A mesh: which rows take which route, and why that is cheaper."""
    assert mesh.classifier is not None
    told = ", ".join(mesh.classifier.attributes)
    lines = [f"{len(mesh.routes)} routes, by {told}:"]
    rules = mesh.rules()
    lines += [f"  {rule}" for rule in rules] or _classes(mesh)
    if any(" not in " in rule or " > " in rule for rule in rules):
        lines.append('  (a NULL goes with "not in" and ">")')
    if mesh.reasons:
        now = sum(reason.share * reason.cost for reason in mesh.reasons)
        alone = sum(reason.share * reason.alone for reason in mesh.reasons)
        saved = f", {1 - now / alone:.0%} less" if alone > 0 else ""
        lines.append(
            f"because, by a sample, a row costs {microseconds(now)} us there, "
            f"{microseconds(alone)} us on the best route for all{saved}:"
        )
        lines += [_why(mesh, place) for place in range(len(mesh.routes))]
    return lines


def _why(mesh: Mesh, place: int) -> str:
    """What is special about the rows on a route: the operator that drops them, and not others."""
    route, reason = mesh.routes[place], mesh.reasons[place]
    first = route.order[0]
    others = [r for i, r in enumerate(mesh.reasons) if i != place]
    weight = sum(r.share for r in others)
    elsewhere = sum(r.share * (1 - r.passed[first]) for r in others) / max(weight, 1e-12)
    return (
        f"  {route}: {reason.share:.0%} of the rows, {microseconds(reason.cost)} us instead of "
        f"{microseconds(reason.alone)}; {first} drops {1 - reason.passed[first]:.0%} of them, "
        f"{elsewhere:.0%} of the others"
    )


def _pairings(cells: Cells) -> list[str]:
    return [
        f"  {p.operator} depends on {cells.partitions[p.partition]}: passes {min(p.passed):.1%} to "
        f"{max(p.passed):.1%} of the rows, by class"
        for p in cells.pairings
    ]


def _classes(mesh: Mesh) -> list[str]:
    cells = mesh.classifier.each_row if mesh.classifier else None
    counts = Counter(route for _, route in cells.table) if isinstance(cells, Cells) else Counter()
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
