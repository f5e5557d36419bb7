"""One page with all experiments."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from anabranch.bench.figure import section
from anabranch.bench.reproduce.experiment import Outcome
from anabranch.report.html import STYLE

TITLE = "The five papers, reproduced"
MARKS = {"pass": "#2a7f3f", "differs": "#b36b00", "not comparable": "#777"}


def write_page(outcomes: Sequence[Outcome], path: Path) -> None:
    """Verdicts first, then every figure with its table."""
    parts = [
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{TITLE}</title>"
        f"<style>{STYLE}</style></head><body><h1>{TITLE}</h1>{_verdicts(outcomes)}"
    ]
    script = True
    for outcome in outcomes:
        parts.append(section(outcome.figure, outcome.name, script))
        script = script and not outcome.figure.lines
    path.write_text("\n".join([*parts, "</body></html>"]), encoding="utf-8")


def _verdicts(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        for claim in outcome.claims:
            ours = escape(claim.ours) + (f"<br><i>{escape(claim.why)}</i>" if claim.why else "")
            rows.append(
                f"<tr><td><a href='#{outcome.name}'>{outcome.name}</a></td>"
                f"<td>{escape(claim.what)}</td><td>{escape(claim.paper)}</td><td>{ours}</td>"
                f"<td style='color:{MARKS[claim.verdict]}'>{claim.verdict}</td></tr>"
            )
    head = "<tr><th>experiment</th><th>claim</th><th>the paper</th><th>here</th><th></th></tr>"
    return f"<table class='left'>{head}{''.join(rows)}</table>"
