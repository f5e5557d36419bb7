"""The report as one self-contained page."""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import plotly.io as pio

from anabranch.model import Mesh
from anabranch.report import mesh_html
from anabranch.report.style import COLOURS, plain_layout
from anabranch.report.text import ROUTED, headline, is_by_content

if TYPE_CHECKING:
    from anabranch.report.report import Report

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
       color: #1c2733; background: #fff; }
h1 { font-size: 1.5rem; margin-bottom: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .25rem; }
p { margin: .25rem 0 1rem; color: #4a5866; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid #e3e8ee; text-align: right; }
ul.tree, ul.tree ul { list-style: none; border-left: 1px solid #c9d1d9; padding-left: 1rem; }
th:first-child, td:first-child { text-align: left; }
"""


def write_html(report: "Report", path: Path) -> Path:
    """Routes, evaluations against all on every row, a timeline of the order."""
    sections = [
        ("Evaluations", _evaluations_text(report), _evaluations(report)),
        ("Routes", "Rows that followed each order.", _routes(report)),
        ("Order over time", _timeline_text(report), _timeline(report)),
    ]
    if report.mesh is not None:
        sections += _mesh_sections(report, report.mesh)
    if is_by_content(report):
        sections.append(("Routed by", _routed_text(report), _routed(report)))
    if report.gains:
        sections.append(("Gain ratio over time", _gains_text(report), _gains(report)))
    return write_page("Anabranch report", headline(report), _table(report), sections, path)


def write_page(
    title: str, text: str, table: str, sections: Sequence[tuple[str, str, Any]], path: Path
) -> Path:
    """A page of pictures (or markup), each under a title and a sentence."""
    parts = [
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        f"<h1>{title}</h1><p>{html.escape(text)}</p>",
        table,
    ]
    script: bool = True  # plotly's code goes in once, with the first picture
    for heading, sentence, figure in sections:
        picture = figure
        if not isinstance(figure, str):
            picture = pio.to_html(
                figure, full_html=False, include_plotlyjs=script, config={"displayModeBar": False}
            )
            script = False
        parts.append(f"<h2>{heading}</h2><p>{html.escape(sentence)}</p>{picture}")
    parts.append("</body></html>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _mesh_sections(report: "Report", mesh: Mesh) -> list[tuple[str, str, Any]]:
    sections = [("The mesh", mesh_html.channels_text(report), mesh_html.channels(report))]
    if tree := mesh_html.tree_html(report, mesh):
        sections.append(("The tree", "Which rows take which route.", tree))
    text = "Seconds per row on each route: by the sample that it was chosen by, and as it came."
    sections.append(("What routes cost", text, mesh_html.costs(report)))
    if len(report.search) > 1:
        text = "The search for a mesh of the worker that saw most rows."
        sections.append(("The search", text, mesh_html.search(report)))
    return sections


def _table(report: "Report") -> str:
    head = "<tr><th>operator</th><th>evaluated</th><th>profiling</th><th>passed</th>"
    head += "<th>us per row</th><th>seconds</th></tr>"
    rows = []
    for name in report.order or tuple(report.evaluations):
        count = report.evaluations[name]
        each = f"{report.seconds[name] / count * 1e6:.2f}" if count else "-"
        share = f"{report.passed[name] / count:.1%}" if count else "-"
        rows.append(
            f"<tr><td>{html.escape(name)}</td><td>{count:,}</td>"
            f"<td>{report.profiling[name]:,}</td><td>{share}</td><td>{each}</td>"
            f"<td>{report.seconds[name]:.2f}</td></tr>"
        )
    return f"<table>{head}{''.join(rows)}</table>"


def _evaluations_text(report: "Report") -> str:
    return (
        f"The outline is what a plain Spark filter does: each operator on all "
        f"{report.rows_in:,} rows."
    )


def _evaluations(report: "Report") -> Any:
    names = list(report.order or report.evaluations)
    useful = [report.evaluations[n] - report.profiling[n] for n in names]
    figure = go.Figure()
    figure.add_bar(y=names, x=useful, orientation="h", name="needed", marker_color=COLOURS[0])
    figure.add_bar(
        y=names,
        x=[report.profiling[n] for n in names],
        orientation="h",
        name="profiling",
        marker_color=COLOURS[1],
    )
    every = [report.rows_in - report.evaluations[n] for n in names]
    figure.add_bar(
        y=names,
        x=every,
        orientation="h",
        name="saved",
        marker={"color": "rgba(0,0,0,0)", "line": {"color": "#8a97a6", "width": 1}},
    )
    figure.update_layout(barmode="stack", yaxis={"autorange": "reversed"})
    return plain_layout(figure, "rows evaluated", 120 + 40 * max(len(names), 1))


def _routes(report: "Report") -> Any:
    shown = report.routes[:10]
    figure = go.Figure()
    figure.add_bar(
        y=[route or "(none)" for route, _ in shown],
        x=[rows for _, rows in shown],
        orientation="h",
        marker_color=COLOURS[0],
        text=[f"{rows:,}" for _, rows in shown],
    )
    figure.update_layout(yaxis={"autorange": "reversed"}, showlegend=False)
    return plain_layout(figure, "rows", 120 + 36 * max(len(shown), 1))


def _timeline_text(report: "Report") -> str:
    if not report.switches:
        return "The order never changed."
    return (
        f"{report.switches} changes over {len(report.workers)} workers; one band per worker, "
        "coloured by the operator that runs first. Hover for the whole order."
    )


def _timeline(report: "Report") -> Any:
    colour = {n: COLOURS[i % len(COLOURS)] for i, n in enumerate(sorted(report.evaluations))}
    figure = go.Figure()
    named: set[str] = set()
    for band, worker in enumerate(sorted(report.workers), start=1):
        for begin, end, order in _spans(report, worker):
            first = order[0] if order else "(none)"
            figure.add_bar(
                y=[f"worker {band}"],
                x=[end - begin],
                base=[begin],
                orientation="h",
                marker_color=colour.get(first, "#999"),
                marker_line={"color": "#fff", "width": 1},
                name=f"{first} first",
                legendgroup=first,
                showlegend=first not in named,
                hovertext=", ".join(order),
                hoverinfo="text",
            )
            named.add(first)
    figure.update_layout(barmode="overlay")
    return plain_layout(figure, "rows seen by the worker", 140 + 44 * max(len(report.workers), 1))


def _routed_text(report: "Report") -> str:
    serving = ", ".join(f"{name} by {attribute}" for name, attribute in report.classifiers.items())
    return f"Now: {serving}." if serving else "Now no operator is routed by an attribute."


def _routed(report: "Report") -> Any:
    """Shares of each operator's evaluations by what they were routed by."""
    names = list(report.routed_by)
    labels = dict.fromkeys(label for by in report.routed_by.values() for label in by)
    figure = go.Figure()
    for i, label in enumerate(sorted(labels, key=lambda label: label in ROUTED)):
        totals = [sum(report.routed_by[n].values()) for n in names]
        shares = [
            100 * report.routed_by[n].get(label, 0) / t for n, t in zip(names, totals, strict=True)
        ]
        grey = {"": "#c9d1d9", "*": "#8a97a6"}.get(label)
        figure.add_bar(
            y=names,
            x=shares,
            orientation="h",
            name=ROUTED.get(label, label),
            marker_color=grey or COLOURS[i % len(COLOURS)],
        )
    figure.update_layout(barmode="stack", yaxis={"autorange": "reversed"})
    return plain_layout(figure, "% of evaluations", 120 + 36 * max(len(names), 1))


def _gains_text(report: "Report") -> str:
    return (
        f"What profiling found, {len(report.gains)} times: the gain ratio of the best attribute "
        "for each operator; 0 where none tells anything."
    )


def _gains(report: "Report") -> Any:
    figure = go.Figure()
    operators = list(dict.fromkeys(gain["operator"] for gain in report.gains))
    for i, operator in enumerate(operators):
        points = [gain for gain in report.gains if gain["operator"] == operator]
        figure.add_scatter(
            x=[point["row"] for point in points],
            y=[point["gain"] for point in points],
            mode="markers",
            name=operator,
            marker_color=COLOURS[i % len(COLOURS)],
            hovertext=[point["attribute"] or "none" for point in points],
        )
    return plain_layout(figure, "rows seen by the worker", 320)


def _spans(report: "Report", worker: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """Stretches of rows under one order: begin, end, order."""
    total = report.workers[worker]["rows"]
    order = tuple(report.workers[worker]["first"])
    spans, begin = [], 0
    changes = (event for event in report.events if event.kind == "switch")
    for event in (event for event in changes if event.worker == worker):
        spans.append((begin, event.row, order))
        begin, order = event.row, event.after
    return [*spans, (begin, max(begin, total), order)]
