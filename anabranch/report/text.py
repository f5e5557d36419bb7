"""The report as a table in a terminal."""

import io
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from anabranch.report.report import Report

# Decisions printed; the HTML report has them all.
SHOWN_EVENTS = 5


def render(report: "Report") -> Group:
    """Headline, operators, routes, decisions."""
    parts: list[Text | Table] = [Text(headline(report))]
    if report.evaluations:
        parts.append(_operators(report))
    if report.routes:
        parts.append(_routes(report))
    if report.events:
        parts.append(Text(_decisions(report)))
    return Group(*parts)


def plain(report: "Report") -> str:
    """The same without colour."""
    buffer = io.StringIO()
    Console(file=buffer, width=110, color_system=None).print(render(report))
    return buffer.getvalue().rstrip()


def headline(report: "Report") -> str:
    """One sentence on what was saved."""
    total = sum(report.evaluations.values())
    every = report.all_on_every_row
    saved = f", {1 - total / every:.1%} fewer than all on every row" if every else ""
    return (
        f"{report.rows_in:,} rows in, {report.rows_out:,} out; {total:,} evaluations{saved} "
        f"({report.policy}; {report.scope})"
    )


def _operators(report: "Report") -> Table:
    table = Table("operator", box=None, pad_edge=False)
    for title in ("evaluated", "of rows in", "profiling", "passed", "us per row", "seconds"):
        table.add_column(title, justify="right")
    order = report.order or tuple(report.evaluations)
    for name in order:
        rows = report.evaluations[name]
        table.add_row(
            name,
            f"{rows:,}",
            _share(rows, report.rows_in),
            f"{report.profiling[name]:,}",
            _share(report.passed[name], rows),
            f"{report.seconds[name] / rows * 1e6:.2f}" if rows else "-",
            f"{report.seconds[name]:.2f}",
        )
    return table


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def _routes(report: "Report") -> Table:
    table = Table("route", box=None, pad_edge=False)
    table.add_column("rows", justify="right")
    for route, rows in report.routes[:SHOWN_EVENTS]:
        table.add_row(route or "(none)", f"{rows:,}")
    if len(report.routes) > SHOWN_EVENTS:
        rest = sum(rows for _, rows in report.routes[SHOWN_EVENTS:])
        table.add_row(f"{len(report.routes) - SHOWN_EVENTS} more", f"{rest:,}")
    return table


def _decisions(report: "Report") -> str:
    lines = [f"{report.switches} changes of order"]
    lines += [f"  worker {event.worker}, {event}" for event in report.events[:SHOWN_EVENTS]]
    hidden = report.switches - min(SHOWN_EVENTS, len(report.events))
    return "\n".join([*lines, f"  and {hidden} more"] if hidden > 0 else lines)
