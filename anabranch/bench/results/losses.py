"""Where somebody else is faster, and why; a loss that nobody can explain is an error."""

from collections.abc import Mapping

from anabranch.bench.results.stored import Stored
from anabranch.model import AnabranchError

RATIO, CONTESTANT = "Anabranch is faster by", "contestant"
# Below this a contestant is ahead by more than the runs differ among themselves.
LEVEL = 0.98
# By workload and contestant; "" stands for any.
REASONS: Mapping[tuple[str, str], str] = {}


def ratios(figure: Stored) -> dict[str, float]:
    """By contestant, how many times as long it took; those that took no part are left out."""
    pairs = zip(figure.column(CONTESTANT), figure.column(RATIO), strict=True)
    return {name: float(ratio) for name, ratio in pairs if ratio != "" and float(ratio) != 1.0}


def losses(figures: Mapping[str, Stored]) -> list[tuple[str, str, float, str]]:
    """Workload, who is ahead, ratio, reason."""
    found = []
    for workload, figure in figures.items():
        for name, ratio in ratios(figure).items():
            if ratio < LEVEL:
                found.append((workload, name, ratio, reason(workload, name)))
    return found


def reason(workload: str, contestant: str) -> str:
    """Why somebody is ahead."""
    for key in ((workload, contestant), ("", contestant), (workload, "")):
        if key in REASONS:
            return REASONS[key]
    raise AnabranchError(
        f"{contestant} is ahead on {workload}, and no reason is known: find out why, and tell it "
        f"in {__name__}"
    )
