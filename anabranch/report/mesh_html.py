"""A mesh as pictures: its channels, its tree, what its routes cost, how it was found."""

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from anabranch.model import Mesh, Tree
from anabranch.model.tree import Leaf, Node, conditions
from anabranch.report.style import COLOURS, plain_layout

if TYPE_CHECKING:
    from anabranch.report.report import Report

# Routes drawn; the rows on others are few.
MOST_DRAWN = 8
GREY = "#4a5866"


def channels_text(report: "Report") -> str:
    """What the picture of the channels shows."""
    rows = sum(entry["rows"] for entry in report.route_costs)
    return (
        f"Over time {rows:,} rows took {len(report.route_costs)} routes. "
        "A channel is as wide as the rows that got so far, and grey ones were dropped."
    )


def channels(report: "Report") -> Any:
    """Routes as channels through the operators, as wide as the rows in them."""
    drawn = report.route_costs[:MOST_DRAWN]
    flows = _Flows()
    for place, entry in enumerate(drawn):
        reach = [entry["evaluations"][name] for name in entry["route"]]
        _flow(flows, entry["route"], reach, entry["rows"], COLOURS[place % len(COLOURS)])
    figure = go.Figure(
        go.Sankey(
            arrangement="snap",
            node={
                "label": [label for label, _ in flows.nodes],
                "pad": 14,
                "thickness": 14,
                "color": GREY,
            },
            link={
                "source": [link[0] for link in flows.links],
                "target": [link[1] for link in flows.links],
                "value": [link[2] for link in flows.links],
                "color": [link[3] for link in flows.links],
            },
        )
    )
    return plain_layout(figure, "", 160 + 60 * len(drawn))


class _Flows:
    def __init__(self) -> None:
        self.nodes: dict[tuple[str, int], int] = {}
        self.links: list[tuple[int, int, int, str]] = []

    def node(self, label: str, depth: int) -> int:
        return self.nodes.setdefault((label, depth), len(self.nodes))

    def link(self, source: int, target: int, rows: int, colour: str) -> None:
        if rows > 0:
            self.links.append((source, target, rows, colour))


def _flow(flows: _Flows, route: list[str], reach: list[int], rows: int, colour: str) -> None:
    """One route: rows pass from operator to operator, and are dropped on the way."""
    tint = _tint(colour)
    # Rows of a sample are evaluated everywhere: no more go on than came.
    alive = [rows]
    for count in reach[1:]:
        alive.append(min(alive[-1], count))
    before = flows.node("rows", -1)
    for depth, name in enumerate(route):
        here = flows.node(name, depth)
        flows.link(before, here, alive[depth], tint)
        last = depth == len(route) - 1
        passed = 0 if last else alive[depth + 1]
        if last:
            flows.link(here, flows.node("out or dropped last", 99), alive[depth], tint)
        else:
            flows.link(here, flows.node("dropped", 98), alive[depth] - passed, "#e3e8ee")
        before = here


def _tint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.55)"


def tree_html(report: "Report", mesh: Mesh) -> str:
    """The classifier as nested questions; the routes in the colours of their channels."""
    tree = mesh.classifier.each_row if mesh.classifier else None
    if not isinstance(tree, Tree):
        return ""
    drawn = enumerate(report.route_costs[:MOST_DRAWN])
    colours = {tuple(entry["route"]): COLOURS[place % len(COLOURS)] for place, entry in drawn}
    return f"<ul class='tree'>{_node(mesh, tree.root, colours)}</ul>"


def _node(mesh: Mesh, node: Node, colours: Mapping[tuple[str, ...], str]) -> str:
    if isinstance(node, Leaf):
        route = mesh.routes[node.route]
        colour = colours.get(route.order, GREY)
        return f"<li><b style='color:{colour}'>{html.escape(str(route))}</b></li>"
    asked = conditions([(node, True)], mesh.tell)[0]
    return (
        f"<li>{html.escape(asked)}<ul>{_node(mesh, node.yes, colours)}</ul></li>"
        f"<li>otherwise, or NULL<ul>{_node(mesh, node.no, colours)}</ul></li>"
    )


def costs(report: "Report") -> Any:
    """Measured beside expected cost per route."""
    drawn = report.route_costs[:MOST_DRAWN]
    names = [", ".join(entry["route"]) for entry in drawn]
    figure = go.Figure()
    for label, key, colour in (("expected", "expected", "#8a97a6"), ("measured", "measured", None)):
        figure.add_bar(
            y=names,
            x=[None if entry[key] is None else entry[key] * 1e6 for entry in drawn],
            orientation="h",
            name=label,
            marker_color=colour or COLOURS[0],
        )
    figure.update_layout(barmode="group", yaxis={"autorange": "reversed"})
    return plain_layout(figure, "us per row", 140 + 48 * max(len(drawn), 1))


def search(report: "Report") -> Any:
    """The best cost found so far, by move of the search."""
    figure = go.Figure()
    figure.add_scatter(
        x=[move for move, _ in report.search],
        y=[cost * 1e6 for _, cost in report.search],
        mode="lines+markers",
        line={"shape": "hv", "color": COLOURS[0]},
    )
    figure.update_layout(showlegend=False, yaxis_title="us per row, best so far")
    return plain_layout(figure, "moves", 300)
