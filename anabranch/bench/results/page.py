"""docs/results.md, from the data under benchmarks/results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from anabranch.bench.reproduce.registry import PAPERS
from anabranch.bench.results.losses import LESS, RATIO, losses, races, ratios
from anabranch.bench.results.stored import Reproduced, Stored, figures, reproduced
from anabranch.bench.results.tables import table
from anabranch.model import AnabranchError

HEAD = """# Results

Made by `anabranch results` from the data under [benchmarks/results](../benchmarks/results), which
the benchmarks wrote; not edited by hand. Contestants take turns within a run, ratios are of pairs
of one turn, figures are medians, and losing rows are there. The machine is a noisy one.
[Another page](results-earlier.md) has what was measured before results were kept as data.
"""
# Folder -> heading, and what one should know.
BENCHES: Mapping[str, tuple[str, str]] = {
    "peers": (
        "What one would pick instead",
        "The same Parquet files, functions and expressions, all on two cores. The best order is "
        "known to nobody but the contestants called so, who are told it. Runs learn from nothing, "
        "and planning is in their time. Before each turn a contestant runs over some of the files, "
        "so that its code is compiled and its workers have loaded what they need. Joins (`four`) "
        "are of streams, one operator against Spark's chained joins, without that.",
    ),
    "scale": (
        "Growth",
        "Functions of a microsecond that drop three rows in ten, in correlated pairs, by `auto`.",
    ),
}
BY_WORK = (
    "How many times as much processor time others take, the driver, the JVM and all workers "
    "together; it varies less than the clock, and does not tell who uses the second core:"
)
# Where a picture says more than the table.
PICTURES = ("scale",)


def page(root: Path) -> str:
    """All of it."""
    folder = root / "benchmarks" / "results"
    parts = [HEAD]
    for name, (heading, about) in BENCHES.items():
        found = figures(folder / name)
        if not found:
            raise AnabranchError(f"benchmarks/results/{name} has no figures: run anabranch bench")
        parts.append(_bench(name, heading, about, found))
    parts.append(_papers(reproduced(folder / "reproduce")))
    return "\n".join(parts)


def _bench(name: str, heading: str, about: str, found: Mapping[str, Stored]) -> str:
    parts = [f"## {heading}", about, ""] if about else [f"## {heading}", ""]
    if name == "peers":
        parts += [*_matrix(found), ""]
    for figure in found.values():
        parts += [
            f"### {heading}: {figure.name}",
            f"{figure.title}. `{figure.made['command']}`",
            "",
        ]
        parts += [f"**{figure.ours[:1].upper()}{figure.ours[1:]}.**", ""]
        if name in PICTURES:
            picture = f"../benchmarks/results/{name}/{figure.name}.png"
            parts += [f"![{figure.title}]({picture})", ""]
        parts += [table(figure.columns, figure.rows), ""]
    return "\n".join([*parts, _signed([figure.made for figure in found.values()])])


def _matrix(found: Mapping[str, Stored]) -> list[str]:
    """Workloads by contestants, by the clock and by processor time, and where others are ahead."""
    raced = races(found)
    parts = ["How many times as fast Anabranch is:", "", _side_by_side(raced, RATIO), ""]
    behind = losses(raced)
    if behind:
        told = [(w, name, f"{ratio:.2f}x", why) for w, name, ratio, why in behind]
        parts += ["Where others are ahead:", "", table(["workload", "who", "", "why"], told), ""]
    return [*parts, BY_WORK, "", _side_by_side(raced, LESS)]


def _side_by_side(raced: Mapping[str, Stored], column: str) -> str:
    told = {name: ratios(figure, column) for name, figure in raced.items()}
    names = list(dict.fromkeys(name for one in told.values() for name in one))
    rows = [
        [workload, *(f"{one[name]:.2f}x" if name in one else "" for name in names)]
        for workload, one in told.items()
    ]
    return table(["workload", *names], rows)


def _papers(told: Reproduced) -> str:
    parts = ["## The five papers", f"`{told.made['command']}`: {told.made['summary']}.", ""]
    for key, title in PAPERS.items():
        rows = []
        for outcome in told.outcomes:
            if outcome["name"].split("/")[0] != key:
                continue
            for claim in outcome["claims"]:
                verdict = claim["verdict"] + (f": {claim['why']}" if claim["why"] else "")
                rows.append(
                    (outcome["name"], claim["what"], claim["paper"], claim["ours"], verdict)
                )
        parts += [f"### {title}", "", table(["", "claim", "the paper", "here", ""], rows), ""]
    return "\n".join([*parts, _signed([told.made])])


def _signed(made: Sequence[Mapping[str, str]]) -> str:
    """By which commits, on what."""
    commits = ", ".join(dict.fromkeys(one["commit"] for one in made))
    where = dict.fromkeys(f"{one['cores']} cores, {one['versions']}" for one in made)
    return f"Commit {commits}; {'; '.join(where)}.\n"
