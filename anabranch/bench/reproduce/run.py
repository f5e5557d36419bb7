"""Runs experiments of the papers: tables and verdicts, data, pictures, one page."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from anabranch.bench.extras import check_extras
from anabranch.bench.figure import Figure
from anabranch.bench.reproduce.experiment import Experiment, Outcome
from anabranch.bench.reproduce.page import write_page
from anabranch.bench.reproduce.registry import chosen
from anabranch.bench.stamp import stamp
from anabranch.model import AnabranchError
from anabranch.spark.session import local_session

CORES = 2
COLOURS = {"pass": "green", "differs": "yellow", "not comparable": "dim"}


def reproduce(
    names: Sequence[str], quick: bool, output: Path, console: Console
) -> tuple[Outcome, ...]:
    """Run the experiments asked for, all if none is; quickly, those that count only."""
    check_extras()
    wanted = chosen(names)
    left_out = [one.name for one in wanted if quick and one.takes_times]
    experiments = [one for one in wanted if one.name not in left_out]
    if not experiments:
        raise AnabranchError(f"{', '.join(left_out)}: takes times, run it without --quick")
    stamp()
    output.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=len(experiments))
        for outcome in _outcomes(experiments, quick, progress, task):
            console.print(_table(outcome))
            outcomes.append(outcome)
            _write(outcomes, outcome, output)
            progress.advance(task)
    write_page(outcomes, output / "index.html")
    made = json.dumps({**stamp(), "summary": summary(outcomes)}, indent=1)
    (output / "made.json").write_text(made + "\n", encoding="utf-8")
    if left_out:
        console.print(f"Left to a full run, since they take times: {', '.join(left_out)}")
    console.print(summary(outcomes))
    console.print(f"Data, pictures and a page with all of them: {output / 'index.html'}")
    return tuple(outcomes)


def _outcomes(
    experiments: Sequence[Experiment], quick: bool, progress: Progress, task: Any
) -> Iterator[Outcome]:
    """One by one; those on Spark share a session, and figures of one run are made once."""
    made: dict[Any, Figure] = {}
    spark = None
    try:
        for one in experiments:
            progress.update(task, description=one.name)
            size = replace(one.quick if quick else one.full, tick=progress.refresh)
            key = (one.count or one.measure, size)
            if key not in made:
                if one.measure is not None:
                    spark = spark or local_session("anabranch reproduce", CORES)
                    made[key] = one.measure(spark, size, one.repeat)
                elif one.count is not None:
                    made[key] = one.count(size)
            yield one.outcome(made[key])
    finally:
        if spark is not None:
            spark.stop()


def _table(outcome: Outcome) -> Table:
    figure = outcome.figure
    title = f"{outcome.name}: {figure.title}"
    table = Table("claim", "the paper", "here", "", title=title, title_justify="left", box=None)
    for claim in outcome.claims:
        verdict = f"[{COLOURS[claim.verdict]}]{claim.verdict}[/]"
        table.add_row(claim.what, claim.paper, claim.ours, verdict)
        if claim.why:
            table.add_row("", "", f"[dim]{claim.why}[/]", "")
    return table


def summary(outcomes: Sequence[Outcome]) -> str:
    """How many claims came out.

    >>> summary([])
    '0 experiments: 0 claims pass, 0 differ (0 without a known reason), 0 are not comparable'
    """
    counts = Counter(claim.verdict for outcome in outcomes for claim in outcome.claims)
    return (
        f"{len(outcomes)} experiments: {counts['pass']} claims pass, {counts['differs']} differ "
        f"({len(surprises(outcomes))} without a known reason), {counts['not comparable']} are not "
        "comparable"
    )


def surprises(outcomes: Sequence[Outcome]) -> list[str]:
    """Claims that differ for no known reason."""
    return [
        f"{outcome.name}: {claim.what}"
        for outcome in outcomes
        for claim in outcome.claims
        if claim.surprising
    ]


def _write(outcomes: Sequence[Outcome], newest: Outcome, output: Path) -> None:
    """What was counted is in one file, the same on every run, and what has times in another."""
    for name, timed in (("counted.json", False), ("measured.json", True)):
        told = [outcome.to_dict() for outcome in outcomes if outcome.timed == timed]
        (output / name).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    if newest.figure.lines:
        newest.figure.save_png(output / f"{newest.name.replace('/', '-')}.png")
