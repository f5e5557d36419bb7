"""Where somebody else is faster, and why; a loss that nobody can explain is an error."""

from collections.abc import Mapping

from anabranch.bench.results.stored import Stored
from anabranch.model import AnabranchError

RATIO, LESS, CONTESTANT = "Anabranch is faster by", "Anabranch takes less by", "contestant"
# The same under a plan that was made before: no peer.
OURS = ("Anabranch", "Anabranch, plan kept")
# Less than that is not told from noise, if in some turn it was the other way round.
LEVEL, MOST, NOISE = 0.95, "to", "within the noise of the machine: ahead in some turns"
CLOCK = "by the clock only: it takes more processor time than Anabranch"
BELOW = (
    "an input of below 512 MB for each core, when this was measured (128 MB now), runs in the "
    "order written; a plan that is kept needs no look (Anabranch, plan kept)"
)
ENGINE = "its own engine reads Parquet and evaluates such expressions faster than Spark does"
BEGINS = (
    "its runs begin at once; Spark takes most of such a run to plan, to read five schemas and to "
    "begin jobs, whatever it runs: on ten times the rows Anabranch is ahead (flights-x10)"
)
TOLD = (
    "it is told the best order, and moves no column to tell rows apart by; a run of a few seconds "
    "begins with planning and with rows that all functions are asked of, in each worker"
)
SAME = "Spark runs the same expressions in the same order for both, and single turns go both ways"
SHORT = "runs of a second, and the same filters: what is looked at before a run starts shows"
TUNED, BARRIERS = "PySpark, best order, one function", "PySpark, best order, barriers"
# By workload and contestant.
REASONS: Mapping[tuple[str, str], str] = {
    ("flights", TUNED): TOLD,
    ("flights", "DuckDB"): BEGINS,
    ("flights", "Polars"): BEGINS,
    ("flights", "Daft"): BEGINS,
    ("flights-x10", TUNED): TOLD,
    ("native-cheap", "PySpark"): SHORT,
    ("native-cheap", BARRIERS): "simple comparisons stay ordinary filters, in the order written",
    ("native-cheap", "DuckDB"): ENGINE,
    ("native-cheap", "Polars"): ENGINE,
    ("native-cheap", "Daft"): ENGINE,
    ("native-skewed", "PySpark"): SAME,
    ("native-skewed", BARRIERS): BELOW,
    ("native-uniform", BARRIERS): BELOW,
    ("native-skewed", "DuckDB"): ENGINE,
    ("native-uniform", "DuckDB"): ENGINE,
    ("model", TUNED): TOLD,
    ("drifting-5us", TUNED): TOLD,
    ("uniform-50us", BARRIERS): TOLD,
    ("uniform-50us", TUNED): TOLD,
}


def races(figures: Mapping[str, Stored]) -> dict[str, Stored]:
    """Figures with a ratio for each contestant: joins tell theirs in another way."""
    return {name: figure for name, figure in figures.items() if RATIO in figure.columns}


def ratios(figure: Stored, column: str = RATIO) -> dict[str, float]:
    """By peer, how many times as long it took; those that took no part are left out."""
    pairs = zip(figure.column(CONTESTANT), figure.column(column), strict=True)
    return {name: float(told) for name, told in pairs if told != "" and name not in OURS}


def _best_turns(figure: Stored) -> dict[str, float]:
    """By contestant, the ratio of the turn that was best for Anabranch."""
    names, most = figure.column(CONTESTANT), figure.column(MOST)
    return {name: float(told) for name, told in zip(names, most, strict=True) if told != ""}


def losses(figures: Mapping[str, Stored]) -> list[tuple[str, str, float, str]]:
    """Workload, who is ahead, ratio, reason."""
    found = []
    for workload, figure in figures.items():
        best, less = _best_turns(figure), ratios(figure, LESS)
        for name, ratio in ratios(figure).items():
            if ratio < 1:
                if less[name] >= 1:
                    why = CLOCK
                else:
                    noise = ratio >= LEVEL and best[name] >= 1
                    why = NOISE if noise else reason(workload, name)
                found.append((workload, name, ratio, why))
    return found


def reason(workload: str, contestant: str) -> str:
    """Why somebody is ahead."""
    if told := REASONS.get((workload, contestant)):
        return told
    raise AnabranchError(
        f"{contestant} is ahead on {workload}, and no reason is known: find out why, and tell it "
        f"in {__name__}"
    )
