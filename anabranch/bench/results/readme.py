"""The table of the README: one line for each headline, in the words of the results."""

from collections.abc import Callable, Mapping
from pathlib import Path

from anabranch.bench.results.losses import ratios
from anabranch.bench.results.stored import Stored, figures, reproduced
from anabranch.bench.results.tables import table
from anabranch.model import AnabranchError

BEGIN, END = "<!-- made by `anabranch results` -->", "<!-- end -->"


def told_by_itself(figure: Stored) -> str:
    return figure.ours


def against_peers(figure: Stored) -> str:
    """All of them, the fastest first.

    >>> row = lambda name, ratio: [name, 1.0, 1.0, 1.0, ratio, ratio, ratio]
    >>> columns = ["contestant", "seconds", "least", "most", "Anabranch is faster by", "", ""]
    >>> rows = [row("Anabranch", 1.0), row("Daft", 3.04), row("Polars", 0.5)]
    >>> against_peers(Stored("", "", "", "", columns, rows, {}))
    '0.50x as fast as Polars, 3.0x as Daft'
    """
    told = sorted(ratios(figure).items(), key=lambda pair: pair[1])
    first, *others = [f"{_times(ratio)}{{}} {name}" for name, ratio in told]
    return ", ".join([first.format(" as fast as"), *(one.format(" as") for one in others)])


def _times(ratio: float) -> str:
    return f"{ratio:.1f}x" if ratio >= 2 else f"{ratio:.2f}x"


PEERS = (
    "skewed-5us",
    "skewed-50us",
    "drifting-5us",
    "uniform-5us",
    "uniform-50us",
    "model",
    "flights",
    "flights-x10",
    "native-skewed",
    "native-uniform",
    "native-cheap",
)
# Folder, figure, how it is told.
HEADLINES: tuple[tuple[str, str, Callable[[Stored], str]], ...] = (
    *(("peers", name, against_peers) for name in PEERS),
    ("peers", "four", told_by_itself),
    ("scale", "rows", told_by_itself),
)


def headlines(root: Path) -> str:
    """The table."""
    folder = root / "benchmarks" / "results"
    known: dict[str, Mapping[str, Stored]] = {}
    rows = []
    for bench, name, tell in HEADLINES:
        found = known.setdefault(bench, figures(folder / bench))
        if name not in found:
            raise AnabranchError(f"benchmarks/results/{bench}/{name}.json is not there: run it")
        rows.append((found[name].title, tell(found[name]), f"`bench {bench} {name}`"))
    papers = reproduced(folder / "reproduce").made
    command = papers["command"].removeprefix("anabranch ")
    rows.append(("figures and tables of the five papers", papers["summary"], f"`{command}`"))
    return table(["workload", "Anabranch", "by"], rows)


def with_headlines(text: str, made: str) -> str:
    """The README with its table made anew.

    >>> with_headlines(f"a\\n{BEGIN}\\nold\\n{END}\\nb", "new") == f"a\\n{BEGIN}\\nnew\\n{END}\\nb"
    True
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise AnabranchError(f"README.md has no place for the table: {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n{made}\n{END}{after}"
