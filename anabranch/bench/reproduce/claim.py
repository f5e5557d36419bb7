"""What a paper says of an experiment, and whether it came out here."""

from dataclasses import asdict, dataclass
from typing import Literal

Verdict = Literal["pass", "differs", "not comparable"]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper beside ours.

    Where it did not come out, `why` has the reason. One without a reason is a surprise: the run
    fails.

    >>> held("probes saved", "67.8 %", "70.1 %", True).verdict
    'pass'
    >>> held("probes saved", "67.8 %", "60.0 %", False).surprising
    True
    """

    what: str
    paper: str
    ours: str
    verdict: Verdict
    why: str = ""

    @property
    def surprising(self) -> bool:
        return self.verdict == "differs" and not self.why

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


def held(
    what: str, paper: str, ours: str, holds: bool, why: str = "", explained: bool = True
) -> Claim:
    """Passes if it holds; `why` is what explains it if it does not, and if that is `explained`: a
    reason goes only so far.

    >>> held("time", "less", "9 times", False, "noise", explained=False).surprising
    True
    """
    reason = why if explained and not holds else ""
    return Claim(what, paper, ours, "pass" if holds else "differs", reason)


def at_least(what: str, paper: float, ours: float, why: str = "", explained: bool = True) -> Claim:
    """A share that is to be as high as the printed one.

    >>> at_least("saved", 0.678, 0.701)
    Claim(what='saved', paper='67.8 %', ours='70.1 %', verdict='pass', why='')
    """
    return held(what, percent(paper), percent(ours), ours >= paper, why, explained)


def at_most(what: str, paper: float, ours: float, why: str = "", explained: bool = True) -> Claim:
    """A share that is to be as low as the printed one."""
    return held(what, percent(paper), percent(ours), ours <= paper, why, explained)


def not_comparable(what: str, paper: str, ours: str, why: str) -> Claim:
    """Both are told, and why they say nothing about each other."""
    return Claim(what, paper, ours, "not comparable", why)


def percent(share: float) -> str:
    """With as many digits as the papers print.

    >>> percent(0.0088), percent(0.6783)
    ('0.88 %', '67.8 %')
    """
    return f"{100 * share:.2f} %" if abs(share) < 0.05 else f"{100 * share:.1f} %"
