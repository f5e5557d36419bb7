"""`anabranch bench mesh`: the paper's figures on Query Mesh, ours beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from anabranch.bench.figure import Figure
from anabranch.bench.mesh_auto import auto
from anabranch.bench.mesh_replay import COUNTED, Size, counted
from anabranch.bench.mesh_spark import MEASURED, measured
from anabranch.bench.runner import Tick, run_figures
from anabranch.spark.session import local_session

NAMES = (*COUNTED, "auto", *MEASURED)
CORES = 2


def bench_mesh(
    names: Sequence[str], size: Size, repeat: int, output: Path, console: Console
) -> list[Figure]:
    """Run the experiments, print a table for each, write data, pictures and one page."""

    def experiments(chosen: Sequence[str], tick: Tick) -> Iterator[Figure]:
        sized = replace(size, tick=tick)
        yield from counted(chosen, sized)
        if "auto" in chosen:
            yield auto(sized)
        if set(chosen) & set(MEASURED):
            spark = local_session("anabranch bench mesh", CORES)
            try:
                yield from measured(chosen, spark, sized, repeat)
            finally:
                spark.stop()

    return run_figures("Query Mesh", names, NAMES, experiments, output, console)
