"""`anabranch bench content`: the paper's figures on content-based routing, ours beside them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from anabranch.bench.content_replay import Size, counted
from anabranch.bench.content_spark import MEASURED, measured
from anabranch.bench.figure import Figure, write_page
from anabranch.model import AnabranchError, InputError, closest
from anabranch.spark.session import local_session

COUNTED = ("fig3", "grid4", "fig4", "grid8", "fig5", "fig6", "fig7", "fig8", "q2", "moved")
NAMES = (*COUNTED, *MEASURED)
CORES = 2


def bench_content(
    names: Sequence[str], size: Size, repeat: int, output: Path, console: Console
) -> list[Figure]:
    """Run the experiments, print a table for each, write data, pictures and one page."""
    for name in names:
        if name not in NAMES:
            raise InputError(f'unknown figure "{name}"; {closest(name, NAMES)}')
    if find_spec("matplotlib") is None:
        raise AnabranchError("the pictures need matplotlib: pip install 'anabranch[bench]'")
    figures: list[Figure] = []
    output.mkdir(parents=True, exist_ok=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("content-based routing: 0 runs done")
        done = iter(range(1, 1_000_000))

        def tick() -> None:
            text = f"content-based routing: {next(done)} runs done"
            progress.update(task, description=text)

        for figure in _figures(names or NAMES, replace(size, tick=tick), repeat):
            console.print(figure.table())
            figures.append(figure)
            _write(figures, output)
    console.print(f"Figures, data and a page with all of them: {output / 'index.html'}")
    return figures


def _figures(names: Sequence[str], size: Size, repeat: int) -> Iterator[Figure]:
    yield from counted(names, size)
    if not set(names) & set(MEASURED):
        return
    spark = local_session("anabranch bench content", CORES)
    try:
        yield from measured(names, spark, size, repeat)
    finally:
        spark.stop()


def _write(figures: Sequence[Figure], output: Path) -> None:
    newest = figures[-1]
    data = json.dumps([figure.to_dict() for figure in figures], indent=1)
    (output / "content.json").write_text(data + "\n", encoding="utf-8")
    if newest.lines:
        newest.save_png(output / f"{newest.name}.png")
    write_page(figures, "Content-based routing", output / "index.html")
