"""`anabranch bench filters`: every policy against plain Spark, the best order and the bound."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from anabranch.bench.contest import Contest, Result, contestants
from anabranch.bench.workloads import WORKLOADS, Workload
from anabranch.model import InputError, closest
from anabranch.spark.session import local_session

CORES = 2


def chosen(names: Sequence[str]) -> list[Workload]:
    """The workloads by name; all if none is named."""
    known = {workload.name: workload for workload in WORKLOADS}
    for name in names:
        if name not in known:
            raise InputError(f'unknown workload "{name}"; {closest(name, known)}')
    return [known[name] for name in names] if names else list(WORKLOADS)


def bench_filters(
    names: Sequence[str], rows: int, repeat: int, output: Path | None, console: Console
) -> list[dict[str, Any]]:
    """Run the workloads, print a table for each, return (and write) all rows as data."""
    workloads = chosen(names)
    spark = local_session("anabranch bench filters", CORES)
    records: list[dict[str, Any]] = []
    try:
        for workload in workloads:
            contest = Contest(spark, workload, rows, CORES)
            results = _contend(contest, repeat, console)
            contest.close()
            table, lines = _table(contest, results)
            console.print(table)
            records += lines
            if output is not None:
                output.parent.mkdir(parents=True, exist_ok=True)
                output.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    finally:
        spark.stop()
    return records


def _contend(contest: Contest, repeat: int, console: Console) -> list[Result]:
    """All contestants once, then all again: a slow minute of the machine hits them alike."""
    field = list(contestants(contest))
    results = {name: Result(name) for name, _ in field}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task(contest.workload.name, total=len(field) * repeat)
        progress.update(task, description=f"{contest.workload.name}: warming up")
        dict(field)["identity"](Result("warm-up"))
        for _ in range(repeat):
            for name, act in field:
                progress.update(task, description=f"{contest.workload.name}: {name}")
                act(results[name])
                progress.advance(task)
    return list(results.values())


def _table(contest: Contest, results: list[Result]) -> tuple[Table, list[dict[str, Any]]]:
    by_name = {result.name: result for result in results}
    identity = by_name["identity"].median
    plain = by_name["plain Spark"].median
    title = f"{contest.workload.name}: {contest.workload.about}; {len(contest.bits):,} rows"
    table = Table("contestant", title=title, title_justify="left", box=None)
    for name in ("evaluations", "x best", "seconds", "speed-up", "outside", "beyond identity"):
        table.add_column(name, justify="right")
    table.add_column("switches", justify="right")
    lines = []
    for result in results:
        line = _line(contest, result, identity, plain)
        lines.append(line)
        table.add_row(
            result.name,
            _show(line["evaluations"], "{:,}"),
            _show(line["of_best"], "{:.3f}"),
            f"{line['seconds']:.2f}",
            f"{line['speed_up']:.2f}x",
            _show(line["outside"], "{:.1%}"),
            _show(line["beyond_identity"], "{:.1%}"),
            _show(line["switches"], "{}"),
        )
    bound = contest.bound()
    of_best = bound / contest.best_evaluations
    table.add_row("clairvoyant bound", f"{bound:,}", f"{of_best:.3f}", "-", "-", "-", "-", "-")
    lines.append(
        {
            "workload": contest.workload.name,
            "contestant": "clairvoyant bound",
            "evaluations": bound,
            "of_best": of_best,
        }
    )
    return table, lines


def _line(contest: Contest, result: Result, identity: float, plain: float) -> dict[str, Any]:
    outside = result.outside()
    beyond = None if outside is None else outside - identity / result.median
    count = result.evaluations
    return {
        "workload": contest.workload.name,
        "contestant": result.name,
        "rows": len(contest.bits),
        "evaluations": count,
        "of_best": None if count is None else count / contest.best_evaluations,
        "seconds": result.median,
        "all_seconds": result.seconds,
        "speed_up": plain / result.median,
        "outside": outside,
        "beyond_identity": beyond,
        "switches": result.switches,
    }


def _show(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value)
