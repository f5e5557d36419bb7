"""`anabranch bench content`: the paper's figures on content-based routing, ours beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from anabranch.bench.content_replay import Size, counted
from anabranch.bench.content_spark import MEASURED, measured
from anabranch.bench.figure import Figure
from anabranch.bench.runner import Tick, run_figures
from anabranch.spark.session import local_session

COUNTED = ("fig3", "grid4", "fig4", "grid8", "fig5", "fig6", "fig7", "fig8", "q2", "moved")
NAMES = (*COUNTED, *MEASURED)
CORES = 2


def bench_content(
    names: Sequence[str], size: Size, repeat: int, output: Path, console: Console
) -> list[Figure]:
    """Run the experiments, print a table for each, write data, pictures and one page."""

    def experiments(chosen: Sequence[str], tick: Tick) -> Iterator[Figure]:
        sized = replace(size, tick=tick)
        yield from counted(chosen, sized)
        if set(chosen) & set(MEASURED):
            spark = local_session("anabranch bench content", CORES)
            try:
                yield from measured(chosen, spark, sized, repeat)
            finally:
                spark.stop()

    return run_figures("Content-based routing", names, NAMES, experiments, output, console)
