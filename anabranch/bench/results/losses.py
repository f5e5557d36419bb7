"""Where somebody else is faster, and why; a loss that nobody can explain is an error."""

from collections.abc import Mapping

from anabranch.bench.results.stored import Stored
from anabranch.model import AnabranchError

RATIO, MOST, CONTESTANT = "Anabranch is faster by", "to", "contestant"
# The same under a plan that was made before: no peer.
OURS = ("Anabranch", "Anabranch, plan kept")
NOISE = "within what the turns differ by"
# By workload and contestant; "" stands for any.
REASONS: Mapping[tuple[str, str], str] = {}


def ratios(figure: Stored, column: str = RATIO) -> dict[str, float]:
    """By peer, how many times as long it took; those that took no part are left out."""
    pairs = zip(figure.column(CONTESTANT), figure.column(column), strict=True)
    return {name: float(told) for name, told in pairs if told != "" and name not in OURS}


def losses(figures: Mapping[str, Stored]) -> list[tuple[str, str, float, str]]:
    """Workload, who is ahead, ratio, reason."""
    found = []
    for workload, figure in figures.items():
        most = ratios(figure, MOST)
        for name, ratio in ratios(figure).items():
            if ratio < 1:
                why = reason(workload, name) if most[name] < 1 else NOISE
                found.append((workload, name, ratio, why))
    return found


def reason(workload: str, contestant: str) -> str:
    """Why somebody is ahead in every turn."""
    for key in ((workload, contestant), ("", contestant), (workload, "")):
        if key in REASONS:
            return REASONS[key]
    raise AnabranchError(
        f"{contestant} is ahead on {workload}, and no reason is known: find out why, and tell it "
        f"in {__name__}"
    )
