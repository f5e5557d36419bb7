"""OM's chart: regions coloured by plan, the path of the stream, estimates beside measurements."""

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from anabranch.cost.chart import Chart
from anabranch.policies.om import OmPlanner, OmRound
from anabranch.report.html import write_page
from anabranch.report.style import COLOURS, plain_layout

# Rounds that the table of a text shows, the newest.
SHOWN = 10


@dataclass(frozen=True)
class OmReport:
    """What OM did: its chart, the way of the stream over it, and what rounds came to.

    Attributes
    ----------
    chart
        Regions and their plans.
    path
        The estimated statistics, by round.
    rounds
        By round: rate, memory and utils, as expected and as measured.
    moves, switches
        How often the estimates went to another region, and how often the plan changed.
    decisions
        How often a plan was looked up.
    """

    chart: Chart
    path: list[dict[str, float]]
    rounds: list[OmRound]
    moves: int
    switches: int
    decisions: int

    @classmethod
    def of(cls, planner: OmPlanner) -> "OmReport":
        assert planner.chart is not None
        assert planner.walk is not None
        walk = planner.walk
        return cls(
            planner.chart,
            list(walk.path),
            list(planner.rounds),
            walk.moves,
            walk.switches,
            planner.decisions,
        )

    @property
    def fidelity(self) -> float | None:
        """Share of the rounds that ran under the plan that was the best for what came."""
        return sum(done.hit for done in self.rounds) / len(self.rounds) if self.rounds else None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "chart": self.chart.to_dict(),
            "path": self.path,
            "rounds": [done.to_dict() for done in self.rounds],
            "moves": self.moves,
            "switches": self.switches,
            "decisions": self.decisions,
            "fidelity": self.fidelity,
        }

    def headline(self) -> str:
        told = (
            "" if self.fidelity is None else f", {self.fidelity:.1%} of them the best in hindsight"
        )
        return f"{self.decisions} decisions{told}; {self.moves} moves, {self.switches} switches"

    def __str__(self) -> str:
        lines = [self.headline(), self._chart_text(), str(self.shown())]
        if self.rounds:
            lines.append("round  rows/s in  rows/s out (expected)  rows held (expected)  plan")
        lines += [
            f"{done.round:>5}  {done.arrival_rate:>9,.0f}  {done.rate:>10,.0f} "
            f"({done.expected_rate:>8,.0f})  {done.memory:>9,.0f} ({done.expected_memory:>8,.0f})  "
            f"{done.plan}"
            for done in self.rounds[-SHOWN:]
        ]
        return "\n".join(lines)

    def to_html(self, path: str | Path) -> Path:
        """One self-contained page."""
        sections: list[tuple[str, str, Any]] = [
            ("The chart", self._chart_text(), self._map()),
            ("Output rate", "Rows per second out of each round.", self._lines("rate")),
            ("Memory", "Rows that wait or are between operators.", self._lines("memory")),
            ("Utils", "Both, weighed and normalised; the fewer the better.", self._lines("utils")),
        ]
        return write_page("Anabranch OM", self.headline(), self._table(), sections, Path(path))

    def _chart_text(self) -> str:
        across, up = self._shown_axes()
        others = [axis.name for axis in self.chart.axes if axis.name not in (across, up)]
        cut = f" Cut at the newest estimate of {', '.join(others)}." if others else ""
        return f"The plan of every region, and the way of the estimates over them.{cut}"

    def _shown_axes(self) -> tuple[str, str]:
        """The axis that estimates went furthest along, as a share of it, and the last one."""
        *others, last = self.chart.axes
        if not others:
            return last.name, last.name

        def span(name: str, low: float, high: float) -> float:
            values = [point[name] for point in self.path] or [low]
            return (max(values) - min(values)) / (high - low)

        return max(others, key=lambda a: span(a.name, a.low, a.high)).name, last.name

    def shown(self) -> Chart:
        """The chart, or of more than two axes a cut through it at the newest estimates."""
        if len(self.chart.axes) <= 2:
            return self.chart
        return self.chart.cut(*self._shown_axes(), self.path[-1])

    def _map(self) -> Any:
        shown = self.shown()
        cells, (xs, ys) = shown.cells, shown.axes
        across, up = xs.name, ys.name
        used = sorted(set(cells.reshape(-1).tolist()))
        figure = go.Figure()
        figure.add_heatmap(
            z=np.searchsorted(used, cells).T,
            x=xs.centre(np.arange(xs.parts)),
            y=ys.centre(np.arange(ys.parts)),
            colorscale=_steps(len(used)),
            zmin=-0.5,
            zmax=len(used) - 0.5,
            opacity=0.55,
            colorbar={
                "tickvals": list(range(len(used))),
                "ticktext": [self.chart.plans[plan] for plan in used],
            },
        )
        figure.add_scatter(
            x=[point[across] for point in self.path],
            y=[point[up] for point in self.path],
            mode="lines+markers",
            line={"color": "#1c2733", "width": 1},
            marker={"size": 4},
            name="estimates",
        )
        plain_layout(
            figure, f"selectivity of {across}" if across != up else across, 480
        ).update_layout(yaxis_title=up)
        figure.update_xaxes(type="log" if xs.log else "linear")
        return figure.update_yaxes(type="log" if ys.log else "linear")

    def _lines(self, what: str) -> Any:
        numbers = [done.round for done in self.rounds]
        figure = go.Figure()
        for place, (name, key) in enumerate((("measured", what), ("expected", f"expected_{what}"))):
            values = [getattr(done, key) for done in self.rounds]
            line = {"color": COLOURS[place], "dash": "dot" if place else "solid"}
            figure.add_scatter(x=numbers, y=values, name=name, line=line)
        return plain_layout(figure, "round", 260)

    def _table(self) -> str:
        rows = {
            "regions": f"{self.chart.cells.size:,}",
            "plans costed in": f"{self.chart.evaluated:,} regions",
            "decisions": f"{self.decisions:,}",
            "moves": f"{self.moves:,}",
            "switches": f"{self.switches:,}",
        }
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{value}</td></tr>" for name, value in rows.items()
        )
        return f"<table>{cells}</table>"


def _steps(count: int) -> list[list[Any]]:
    """A scale with a colour for each of so many plans."""
    steps: list[list[Any]] = []
    for place in range(count):
        colour = COLOURS[place % len(COLOURS)]
        steps += [[place / count, colour], [(place + 1) / count, colour]]
    return steps
