"""The command line."""

import json
from collections.abc import Callable
from importlib import import_module
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


@main.command()
@click.argument("names", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="list the experiments and stop")
@click.option("--quick", is_flag=True, help="smaller, and only what is counted: a few minutes")
@click.option(
    "--output",
    default="artifacts/reproduce",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="folder for the data, the pictures and the page",
)
def reproduce(names: tuple[str, ...], only_list: bool, quick: bool, output: Path) -> None:
    """Figures and tables of the five papers, ours beside them.

    NAMES are experiments (agreedy/fig9) or papers (agreedy); all if none is given. Fails if a claim
    of a paper does not come out and no reason for that is known.
    """
    from anabranch.bench.reproduce.registry import chosen
    from anabranch.bench.reproduce.run import reproduce as run_reproduce
    from anabranch.bench.reproduce.run import surprises

    if only_list:
        table = Table("name", "what it is", "", box=None, pad_edge=False)
        for one in chosen(names):
            table.add_row(one.name, one.about, "on Spark" if one.on_spark else "")
        _wide().print(table)
        return
    unexpected = surprises(run_reproduce(names, quick, output, _wide()))
    if unexpected:
        raise AnabranchError("differs, and no reason is known: " + "; ".join(unexpected))


@main.command()
@click.option("--check", is_flag=True, help="only tell which are not as the data would make them")
@click.option("--pictures", is_flag=True, help="draw those of docs/policies, too")
def results(check: bool, pictures: bool) -> None:
    """Make docs/results.md and the table of the README from the data under benchmarks/results.

    Works in a clone, in its root.
    """
    from anabranch.bench.results.write import stale, write

    root = Path()
    if not (root / "benchmarks" / "results").is_dir():
        raise AnabranchError("no benchmarks/results here: run this in the root of a clone")
    if pictures:
        from anabranch.bench.pictures import write_pictures

        with Console(stderr=True).status("drawing") as status:
            write_pictures(root / "docs" / "policies", lambda name: status.update(f"drawn: {name}"))
    found = stale(root) if check else write(root)
    for path in found:
        click.echo(f"{'not as the data would make it' if check else 'made'}: {path}")
    if check and found:
        raise AnabranchError("run anabranch results")


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


def _add_bench(name: str, where: str, rows: int, least: int, about: str, told: str = "") -> None:
    """A benchmark that gives figures, as `module:OBJECT`; it is imported when it is asked for."""

    def run(figures: tuple[str, ...], rows: int, repeat: int, output: Path) -> None:
        from anabranch.bench.size import Size

        module, _, found = where.partition(":")
        chosen = getattr(import_module(f"anabranch.bench.{module}"), found)
        chosen.run(figures, Size(rows), repeat, output, _wide())

    kind = click.IntRange(min=least)
    sized = click.option("--rows", default=rows, show_default=True, type=kind, help=told or None)
    bench.command(name, help=about)(_figures(name)(sized(run)))


_add_bench(
    "mesh",
    "mesh:MESH",
    1_000_000,
    10_000,
    "Query Mesh and auto: the paper's figures, ours beside them.",
)
_add_bench(
    "native",
    "native:NATIVE",
    5_000_000,
    10_000,
    "Native predicates: plans in Catalyst, static orders and DuckDB, on the same files.",
)
_add_bench(
    "rounds",
    "rounds:ROUNDS_BENCH",
    2_400_000,
    10_000,
    "Rounds: what they add to a micro-batch, drifts, and deaths of the process.",
)
_add_bench(
    "joins",
    "joins:JOINS",
    80_000,
    1000,
    "Windowed joins of streams: one operator against Spark's chained joins, probe orders.",
    "per micro-batch, over all streams",
)
_add_bench(
    "om",
    "om:OM_BENCH",
    20_000,
    1000,
    "OM: fidelity of charts by replay, utility of rounds on Spark.",
    "of a round in a burst, on Spark",
)
_add_bench(
    "rates",
    "rates:RATES",
    10_000,
    1000,
    "Rate-based optimisation: the model, a simulation, the search, trees on Spark.",
    "per micro-batch on Spark, over all streams",
)
_add_bench(
    "peers",
    "peers.bench:PEERS_BENCH",
    400_000,
    1000,
    "What a user would pick instead: PySpark, tuned by hand too, DuckDB, Polars, Daft.",
    "for functions of 5 us; dearer predicates get fewer, native ones more",
)
_add_bench(
    "scale",
    "scale:SCALE",
    10_000_000,
    10_000,
    "Time by rows, operators and attributes, and the planner's share of it.",
    "the most rows of the figure by rows",
)
_add_bench(
    "queries",
    "queries:QUERIES_BENCH",
    300_000,
    1000,
    "Several queries in one pass, against one after the other.",
)


if __name__ == "__main__":
    main()
