"""The command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.table import Table

from anabranch.model import AnabranchError, load
from anabranch.policies import JOIN_POLICIES, POLICIES
from anabranch.version import VERSION

F = TypeVar("F", bound=Callable[..., Any])


def _wide() -> Console:
    """A console whose tables do not fold when the output is a file."""
    console = Console()
    return console if console.is_terminal else Console(width=120)


class _Group(click.Group):
    """Our own errors are told in one line, without a traceback."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except AnabranchError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Group)
@click.version_option(VERSION)
def main() -> None:
    """Adaptive query processing on PySpark."""


@main.command()
@click.option("--rows", default=1_000_000, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--output",
    default="artifacts/demo-report.html",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="where the HTML report goes",
)
def demo(rows: int, output: Path) -> None:
    """Monitor generated packets by plain Spark and by Anabranch, side by side."""
    from anabranch.bench.demo import demo as run_demo

    run_demo(rows, output, _wide())


@main.command()
def policies() -> None:
    """List the policies."""
    table = Table("name", "what it does", box=None, pad_edge=False)
    table.add_row("auto", "the default: agreedy, upgraded to a mesh where that measurably pays")
    for policy in (*POLICIES, *JOIN_POLICIES):
        table.add_row(policy.name, policy.summary)
    Console().print(table)


@main.command()
@click.argument("plan", type=click.Path(path_type=Path))
def explain(plan: Path) -> None:
    """Print a saved plan with the figures behind it."""
    from anabranch.report.explain import explain_plan

    click.echo(explain_plan(load(plan)))


@main.command("plan")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--most", default=5, show_default=True, type=click.IntRange(min=1))
@click.option("--json", "as_json", is_flag=True, help="print plain data instead of a table")
@click.option(
    "--output",
    default=None,
    type=click.Path(dir_okay=False, path_type=Path),
    help="where a page with the plans' curves goes",
)
def plan_join(spec: Path, most: int, as_json: bool, output: Path | None) -> None:
    """Rank plans for a join of streams with known rates, and tell where they cross.

    SPEC is a YAML file: streams with their rates, predicates between them, what handling a row
    takes, and an objective; the guide and `examples/rates.yaml` have one.
    """
    from anabranch.cost.ranking import ranked
    from anabranch.cost.spec import load_spec
    from anabranch.report.plans import render, write_html

    wanted = load_spec(spec)
    with Console(stderr=True).status(f"ranking plans for {len(wanted.join.sources)} streams"):
        told = ranked(wanted, most)
    if as_json:
        click.echo(json.dumps(told.to_dict(), indent=1))
    else:
        _wide().print(render(told))
    if output is not None:
        click.echo(f"The plans' curves: {write_html(told, output)}", err=as_json)


@main.group()
def bench() -> None:
    """Measure, side by side in one run."""


@bench.command()
@click.argument("workloads", nargs=-1)
@click.option("--rows", default=1_000_000, show_default=True, type=click.IntRange(min=1000))
@click.option("--repeat", default=3, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--output",
    default="artifacts/bench-filters.json",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="where the figures go",
)
def filters(workloads: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
    """Every filter policy against plain Spark, the best order and the bound."""
    from anabranch.bench.filters import bench_filters

    bench_filters(workloads, rows, repeat, output, _wide())


def _figures(folder: str) -> Callable[[F], F]:
    """Arguments of the benchmarks that give figures."""
    arguments = (
        click.argument("figures", nargs=-1),
        click.option("--repeat", default=5, show_default=True, type=click.IntRange(min=1)),
        click.option(
            "--output",
            default=f"artifacts/{folder}",
            show_default=True,
            type=click.Path(file_okay=False, path_type=Path),
            help="folder for the data, the pictures and the page",
        ),
    )

    def decorate(command: F) -> F:
        for argument in reversed(arguments):
            command = argument(command)
        return command

    return decorate


@bench.command()
@_figures("content")
@click.option("--rows", default=100_000, show_default=True, type=click.IntRange(min=1000))
@click.option("--streams", default=50, show_default=True, type=click.IntRange(min=1))
def content(figures: tuple[str, ...], rows: int, streams: int, repeat: int, output: Path) -> None:
    """Content-based routing: the paper's figures, ours beside them."""
    from anabranch.bench.content import CONTENT
    from anabranch.bench.size import Size

    CONTENT.run(figures, Size(rows, streams), repeat, output, _wide())


@bench.command()
@_figures("mesh")
@click.option("--rows", default=1_000_000, show_default=True, type=click.IntRange(min=10_000))
def mesh(figures: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
    """Query Mesh and auto: the paper's figures, ours beside them."""
    from anabranch.bench.mesh import MESH
    from anabranch.bench.size import Size

    MESH.run(figures, Size(rows), repeat, output, _wide())


@bench.command()
@_figures("native")
@click.option("--rows", default=5_000_000, show_default=True, type=click.IntRange(min=10_000))
def native(figures: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
    """Native predicates: plans in Catalyst, static orders and DuckDB, on the same files."""
    from anabranch.bench.native import NATIVE
    from anabranch.bench.size import Size

    NATIVE.run(figures, Size(rows), repeat, output, _wide())


@bench.command()
@_figures("rounds")
@click.option("--rows", default=2_400_000, show_default=True, type=click.IntRange(min=10_000))
def rounds(figures: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
    """Rounds: what they add to a micro-batch, drifts, and deaths of the process."""
    from anabranch.bench.rounds import ROUNDS_BENCH
    from anabranch.bench.size import Size

    ROUNDS_BENCH.run(figures, Size(rows), repeat, output, _wide())


@bench.command()
@_figures("joins")
@click.option(
    "--rows",
    default=80_000,
    show_default=True,
    type=click.IntRange(min=1000),
    help="per micro-batch, over all streams",
)
def joins(figures: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
    """Windowed joins of streams: one operator against Spark's chained joins, probe orders."""
    from anabranch.bench.joins import JOINS
    from anabranch.bench.size import Size

    JOINS.run(figures, Size(rows), repeat, output, _wide())


@bench.command()
@_figures("om")
@click.option(
    "--rows",
    default=20_000,
    show_default=True,
    type=click.IntRange(min=1000),
    help="of a round in a burst, on Spark",
)
def om(figures: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
    """OM: fidelity of charts by replay, utility of rounds on Spark."""
    from anabranch.bench.om import OM_BENCH
    from anabranch.bench.size import Size

    OM_BENCH.run(figures, Size(rows), repeat, output, _wide())


@bench.command()
@_figures("rates")
@click.option(
    "--rows",
    default=10_000,
    show_default=True,
    type=click.IntRange(min=1000),
    help="per micro-batch on Spark, over all streams",
)
def rates(figures: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
    """Rate-based optimisation: the model, a simulation, the search, trees on Spark."""
    from anabranch.bench.rates import RATES
    from anabranch.bench.size import Size

    RATES.run(figures, Size(rows), repeat, output, _wide())


@bench.command("queries")
@_figures("queries")
@click.option("--rows", default=300_000, show_default=True, type=click.IntRange(min=1000))
def several(figures: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
    """Several queries in one pass, against one after the other."""
    from anabranch.bench.queries import QUERIES_BENCH
    from anabranch.bench.size import Size

    QUERIES_BENCH.run(figures, Size(rows), repeat, output, _wide())


if __name__ == "__main__":
    main()
