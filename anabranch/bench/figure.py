"""A figure of an experiment: rows of a table, lines of a plot, the paper's figure beside ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
from rich.table import Table

from anabranch.report.html import STYLE
from anabranch.report.style import COLOURS

Line = tuple[Sequence[float | str], Sequence[float]]


@dataclass
class Figure:
    """What an experiment gave."""

    name: str
    title: str
    paper: str  # what the paper says
    ours: str  # what came out here, in the same words
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    lines: Mapping[str, Line] = field(default_factory=dict)
    axes: tuple[str, str] = ("", "")
    bars: bool = False
    log: bool = False  # both axes

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "paper": self.paper,
            "ours": self.ours,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
        }

    def table(self) -> Table:
        table = Table(
            title=f"{self.name}: {self.title}\npaper: {self.paper}\nours:  {self.ours}",
            title_justify="left",
            box=None,
        )
        for column in self.columns:
            table.add_column(column, justify="right")
        for row in self.rows:
            table.add_row(*map(_shown, row))
        return table

    def picture(self) -> Any:
        """The lines (or bars) as an interactive plot."""
        figure = go.Figure()
        for colour, (name, (x, y)) in zip(COLOURS, self.lines.items(), strict=False):
            if self.bars:
                figure.add_bar(x=list(map(str, x)), y=list(y), name=name, marker_color=colour)
            else:
                figure.add_scatter(x=list(x), y=list(y), name=name, line={"color": colour})
        figure.update_layout(
            template="plotly_white",
            height=380,
            margin={"l": 10, "r": 10, "t": 20, "b": 40},
            xaxis_title=self.axes[0],
            yaxis_title=self.axes[1],
            barmode="stack",
            legend={"orientation": "h", "yanchor": "bottom", "y": 1.02},
        )
        if self.log:
            figure.update_xaxes(type="log")
            figure.update_yaxes(type="log")
        return figure

    def save_png(self, path: Path) -> None:
        """The same as a picture file; matplotlib draws it without a browser."""
        from matplotlib.figure import Figure as Canvas

        canvas = Canvas(figsize=(7, 4), layout="constrained")
        axes = canvas.subplots()
        below = [0.0] * max((len(y) for _, y in self.lines.values()), default=0)
        for colour, (name, (x, y)) in zip(COLOURS, self.lines.items(), strict=False):
            if self.bars:
                axes.bar(list(map(str, x)), y, bottom=below, label=name, color=colour)
                below = [a + b for a, b in zip(below, y, strict=True)]
            else:
                axes.plot(x, y, marker=".", label=name, color=colour)
        axes.set(title=self.title, xlabel=self.axes[0], ylabel=self.axes[1])
        if self.log:
            axes.set(xscale="log", yscale="log")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        canvas.savefig(path, dpi=120)


def _shown(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def section(figure: Figure, name: str, script: bool) -> str:
    """A figure as a part of a page; the first one with a plot brings the script along."""
    head = "".join(f"<th>{column}</th>" for column in figure.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_shown(value)}</td>' for value in row)}</tr>" for row in figure.rows
    )
    parts = [f"<h2 id='{name}'>{name}: {figure.title}</h2>"]
    parts.append(f"<p>Paper: {figure.paper}<br>Here: {figure.ours}</p>")
    if figure.lines:
        options = {"displayModeBar": False}
        picture = figure.picture()
        parts.append(pio.to_html(picture, full_html=False, include_plotlyjs=script, config=options))
    parts.append(f"<table><tr>{head}</tr>{rows}</table>")
    return "\n".join(parts)


def write_page(figures: Sequence[Figure], title: str, path: Path) -> None:
    """All figures on one self-contained page."""
    parts = [
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        f"<style>{STYLE}</style></head><body><h1>{title}</h1>"
    ]
    script = True
    for figure in figures:
        parts.append(section(figure, figure.name, script))
        script = script and not figure.lines
    path.write_text("\n".join([*parts, "</body></html>"]), encoding="utf-8")
