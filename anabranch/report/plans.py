"""Ranked plans for a join of streams: as a table, and as a page with their curves."""

import html
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from rich.console import Group
from rich.table import Table
from rich.text import Text

from anabranch.cost.crossing import Stage
from anabranch.cost.flow import Flow
from anabranch.cost.ranking import Ranking
from anabranch.report.html import write_page
from anabranch.report.style import COLOURS, plain_layout


def render(ranking: Ranking) -> Any:
    """For a terminal."""
    table = Table("", "plan", "achieves", f"results by {ranking.until:.4g} s", box=None)
    table.columns[3].justify = "right"
    for place, plan in enumerate(ranking.plans, start=1):
        told = ranking.spec.objective.told(plan)
        table.add_row(f"{place}.", str(plan), told, f"{Flow(plan).results(ranking.until):,.0f}")
    lines = [Text(line) for line in (*_pipelines(ranking), headline(ranking))]
    return Group(*lines, table, *(Text(line) for line in stages_told(ranking)))


def headline(ranking: Ranking) -> str:
    shown = len(ranking.plans)
    of = "" if shown == ranking.seen else f" of {ranking.seen}"
    return f"{shown}{of} plans for {len(ranking.spec.join.sources)} streams, the best one first"


def _pipelines(ranking: Ranking) -> list[str]:
    return [
        f"{name}: {', then '.join(selection.name for selection in order)}"
        for name, order in (ranking.spec.pipelines or {}).items()
    ]


def stages_told(ranking: Ranking) -> list[str]:
    """Which plan is ahead when."""
    if len(ranking.stages) < 2:
        return ["No plan overtakes another one that is ahead."]
    return [_told(stage, first=not place) for place, stage in enumerate(ranking.stages)]


def _told(stage: Stage, first: bool) -> str:
    if first:
        return f"First {stage.tree} is ahead;"
    return f"from {stage.results:,.0f} results on, at {stage.at:.4g} seconds, {stage.tree}."


def write_html(ranking: Ranking, path: Path) -> Path:
    """A page with the curves of all plans shown, and where the one that is ahead changes."""
    figure = go.Figure()
    for place, plan in enumerate(ranking.plans):
        times, found = Flow(plan).curve(ranking.until)
        colour = COLOURS[place % len(COLOURS)]
        figure.add_scatter(x=times, y=found, name=str(plan), line={"color": colour})
    for stage in ranking.stages[1:]:
        figure.add_vline(x=stage.at, line_dash="dot", line_color="#999999")
    plain_layout(figure, "seconds", 460).update_layout(yaxis_title="results")
    text = " ".join(stages_told(ranking))
    return write_page(
        "Anabranch plans",
        headline(ranking),
        _table(ranking),
        [("Results over time", text, figure)],
        path,
    )


def _table(ranking: Ranking) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(str(plan))}</td>"
        f"<td>{html.escape(ranking.spec.objective.told(plan))}</td></tr>"
        for plan in ranking.plans
    )
    return f"<table><tr><th>plan</th><th>achieves</th></tr>{rows}</table>"
