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
# How evaluations were routed, if not by an attribute.
ROUTED = {"": "no attribute", "*": "profiling"}


def render(report: "Report") -> Group:
    """Headline, operators, routes, decisions."""
    parts: list[Text | Table] = [Text(headline(report))]
    if report.evaluations:
        parts.append(_operators(report))
    if report.routes:
        parts.append(_routes(report))
    if is_by_content(report):
        parts.append(_classifiers(report))
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
            Text(name),
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
        table.add_row(Text(route or "(none)"), f"{rows:,}")
    if len(report.routes) > SHOWN_EVENTS:
        rest = sum(rows for _, rows in report.routes[SHOWN_EVENTS:])
        table.add_row(f"{len(report.routes) - SHOWN_EVENTS} more", f"{rest:,}")
    return table


def is_by_content(report: "Report") -> bool:
    """Whether operators were routed, or profiled to be routed, by attributes."""
    return bool(report.gains) or any(set(by) - {"", "*"} for by in report.routed_by.values())


def _classifiers(report: "Report") -> Table:
    """Which attribute serves which operator, and how much of the work it routed."""
    table = Table("operator", "routed by", "evaluations", box=None, pad_edge=False)
    for name, by in report.routed_by.items():
        total = sum(by.values())
        shares = sorted(by.items(), key=lambda item: -item[1])
        told = ", ".join(f"{ROUTED.get(k, k)} {rows / total:.1%}" for k, rows in shares)
        table.add_row(Text(name), Text(report.classifiers.get(name, "-")), Text(told))
    return table


def _decisions(report: "Report") -> str:
    shown = [event for event in report.events if event.kind != "profile"]
    lines = [f"decisions, {report.switches} of them changes of order:"] if shown else []
    lines += [f"  worker {event.worker}, {event}" for event in shown[:SHOWN_EVENTS]]
    hidden = len(shown) - SHOWN_EVENTS
    return "\n".join([*lines, f"  and {hidden} more"] if hidden > 0 else lines)
