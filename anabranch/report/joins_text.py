"""The report of a join as a table in a terminal."""

import io
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from anabranch.report.joins import JoinReport, StreamFigures


def render(report: "JoinReport") -> Group:
    """Headline, streams, probes."""
    return Group(Text(headline(report)), _streams(report), _probes(report))


def plain(report: "JoinReport") -> str:
    """The same without colour."""
    buffer = io.StringIO()
    Console(file=buffer, width=110, color_system=None).print(render(report))
    return buffer.getvalue().rstrip()


def headline(report: "JoinReport") -> str:
    """One sentence on what was found."""
    rows = sum(figures.rows for figures in report.streams.values())
    return (
        f"{rows:,} rows in, {report.results:,} combinations; {report.state_bytes:,} bytes of "
        f"state, windows at hand {report.hits:,} times, read {report.misses:,} times "
        f"({report.policy}; {report.scope})"
    )


def _streams(report: "JoinReport") -> Table:
    table = Table("stream", box=None, pad_edge=False)
    for title in stream_titles(report):
        table.add_column(title, justify="right")
    for name, told in report.streams.items():
        table.add_row(Text(name), *stream_cells(report, told))
    return table


def stream_titles(report: "JoinReport") -> tuple[str, ...]:
    """What is told of each stream."""
    known = any(told.expected is not None for told in report.streams.values())
    return ("rows", "late", "held", *(["expected"] if known else []), "evicted")


def stream_cells(report: "JoinReport", told: "StreamFigures") -> list[str]:
    """Under these titles."""
    figures = asdict(told)
    return [
        "" if figures[title] is None else f"{figures[title]:,.0f}"
        for title in stream_titles(report)
    ]


def _probes(report: "JoinReport") -> Table:
    """In which order rows of each stream probe the others, and how often."""
    table = Table("rows of", "probe in this order", "tuples", box=None, pad_edge=False)
    for source, told in report.sources.items():
        order = told.order or tuple(told.evaluations)
        probes = ", ".join(f"{name} {told.evaluations[name]:,}" for name in order)
        table.add_row(Text(source), Text(probes), f"{told.rows_in:,}")
    return table
