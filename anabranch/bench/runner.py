"""Runs experiments one by one: a table for each, data, pictures and one page with all of them."""

import json
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from anabranch.bench.figure import Figure, write_page
from anabranch.model import AnabranchError, InputError, closest

Tick = Callable[[], None]


def run_figures(
    title: str,
    names: Sequence[str],
    valid: Sequence[str],
    experiments: Callable[[Sequence[str], Tick], Iterable[Figure]],
    output: Path,
    console: Console,
) -> list[Figure]:
    """Run the experiments asked for, all if none is; `experiments` ticks when a part is done."""
    for name in names:
        if name not in valid:
            raise InputError(f'unknown figure "{name}"; {closest(name, valid)}')
    if find_spec("matplotlib") is None:
        raise AnabranchError("the pictures need matplotlib: pip install 'anabranch[bench]'")
    figures: list[Figure] = []
    output.mkdir(parents=True, exist_ok=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"{title}: 0 runs done")
        done = iter(range(1, 1_000_000))

        def tick() -> None:
            progress.update(task, description=f"{title}: {next(done)} runs done")

        for figure in experiments(names or valid, tick):
            console.print(figure.table())
            figures.append(figure)
            _write(figures, title, output)
    console.print(f"Figures, data and a page with all of them: {output / 'index.html'}")
    return figures


def _write(figures: Sequence[Figure], title: str, output: Path) -> None:
    newest = figures[-1]
    data = json.dumps([figure.to_dict() for figure in figures], indent=1)
    (output / "figures.json").write_text(data + "\n", encoding="utf-8")
    if newest.lines:
        newest.save_png(output / f"{newest.name}.png")
    write_page(figures, title, output / "index.html")
