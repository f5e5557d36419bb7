"""The report of a join as one self-contained page."""

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from anabranch.report.html import write_page
from anabranch.report.joins_text import headline, stream_cells, stream_titles
from anabranch.report.style import COLOURS, plain_layout

if TYPE_CHECKING:
    from anabranch.report.joins import JoinReport

ORDERS = "In which order rows of a stream probe the others, by the newest plan of the workers."


def write_html(report: "JoinReport", path: Path) -> Path:
    """What windows hold over time, and who probes whom."""
    sections: list[tuple[str, str, Any]] = [
        ("Rows held", "In the windows after each micro-batch.", _held(report)),
        ("Results", "Combinations found in each micro-batch.", _results(report)),
        ("Probes", ORDERS, _probes(report)),
    ]
    return write_page("Anabranch join", headline(report), _table(report), sections, path)


def _table(report: "JoinReport") -> str:
    titles = ("stream", *stream_titles(report))
    head = "".join(f"<th>{title}</th>" for title in titles)
    rows = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in (html.escape(name), *cells))}</tr>"
        for name, cells in (
            (name, stream_cells(report, told)) for name, told in report.streams.items()
        )
    )
    return f"<table><tr>{head}</tr>{rows}</table>"


def _held(report: "JoinReport") -> Any:
    figure, numbers = go.Figure(), [moment["micro-batch"] for moment in report.moments]
    for place, name in enumerate(report.streams):
        held = [moment.get(f"held {name}", 0) for moment in report.moments]
        colour = COLOURS[place % len(COLOURS)]
        figure.add_scatter(x=numbers, y=held, name=name, line={"color": colour}, stackgroup="all")
    return plain_layout(figure, "micro-batch", 360)


def _results(report: "JoinReport") -> Any:
    numbers = [moment["micro-batch"] for moment in report.moments]
    results = [moment.get("results", 0) for moment in report.moments]
    figure = go.Figure()
    figure.add_bar(x=numbers, y=results, marker_color=COLOURS[0])
    return plain_layout(figure, "micro-batch", 260)


def _probes(report: "JoinReport") -> Any:
    """A bar per source, its parts in the order of the probes."""
    figure = go.Figure()
    places = {name: place for place, name in enumerate(report.streams)}
    for source, told in report.sources.items():
        for name in told.order or tuple(told.evaluations):
            figure.add_bar(
                y=[f"rows of {source}"],
                x=[told.evaluations[name]],
                orientation="h",
                marker_color=COLOURS[places[name] % len(COLOURS)],
                text=name,
                name=name,
                showlegend=False,
            )
    figure.update_layout(barmode="stack")
    return plain_layout(figure, "probes", 120 + 40 * len(report.sources))
