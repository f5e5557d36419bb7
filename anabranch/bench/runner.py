"""Runs experiments one by one: a table for each, data, pictures and one page with all of them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from anabranch.bench.extras import check_extras
from anabranch.bench.figure import Figure, write_page
from anabranch.bench.size import Size
from anabranch.bench.stamp import stamp
from anabranch.model import InputError, closest
from anabranch.spark.session import local_session

CORES = 2


Counted = Mapping[str, Callable[[Size], Figure]]
Measured = Mapping[str, Callable[[SparkSession, Size, int], Figure]]


@dataclass(frozen=True)
class Bench:
    """Experiments by name: those that count, by replay, and those that measure, on Spark."""

    title: str
    counted: Counted
    measured: Measured

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.counted, *self.measured)

    def run(
        self, names: Sequence[str], size: Size, repeat: int, output: Path, console: Console
    ) -> list[Figure]:
        """Run the experiments asked for, all if none is, and print a table for each."""
        for name in names:
            if name not in self.names:
                raise InputError(f'unknown figure "{name}"; {closest(name, self.names)}')
        check_extras()
        figures: list[Figure] = []
        stamp()
        output.mkdir(parents=True, exist_ok=True)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task(f"{self.title}: 0 runs done")
            done = iter(range(1, 1_000_000))

            def tick() -> None:
                progress.update(task, description=f"{self.title}: {next(done)} runs done")

            for figure in self._figures(set(names or self.names), replace(size, tick=tick), repeat):
                console.print(figure.table())
                figures.append(figure)
                _write(figures, self.title, output)
        console.print(f"Figures, data and a page with all of them: {output / 'index.html'}")
        return figures

    def _figures(self, names: set[str], size: Size, repeat: int) -> Iterator[Figure]:
        for name, count in self.counted.items():
            if name in names:
                yield count(size)
        if not names & set(self.measured):
            return
        spark = local_session(f"anabranch bench: {self.title}", CORES)
        try:
            for name, measure in self.measured.items():
                if name in names:
                    yield measure(spark, size, repeat)
        finally:
            spark.stop()


def _write(figures: Sequence[Figure], title: str, output: Path) -> None:
    """A file for each figure, so that a run of one leaves the others as they are."""
    newest = figures[-1]
    data = json.dumps({**newest.to_dict(), "made": stamp()}, indent=1)
    (output / f"{newest.name}.json").write_text(data + "\n", encoding="utf-8")
    if newest.lines:
        newest.save_png(output / f"{newest.name}.png")
    write_page(figures, title, output / "index.html")
