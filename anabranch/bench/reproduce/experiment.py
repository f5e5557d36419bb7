"""An experiment of a paper under the paper's name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from anabranch.bench.figure import Figure
from anabranch.bench.reproduce.claim import Claim
from anabranch.bench.size import Size

QUICK, FULL = Size(40_000, 8), Size(100_000, 50)

Counting = Callable[[Size], Figure]
Measuring = Callable[[SparkSession, Size, int], Figure]
Judging = Callable[[Figure], Sequence[Claim]]


@dataclass(frozen=True)
class Outcome:
    """A figure and what it says of the paper's claims."""

    name: str
    figure: Figure
    claims: Sequence[Claim]
    timed: bool

    def to_dict(self) -> dict[str, Any]:
        told = self.figure.to_dict()
        told["name"] = self.name
        return {**told, "claims": [claim.to_dict() for claim in self.claims]}


@dataclass(frozen=True)
class Experiment:
    """One figure, table or example: how it is made, and what the paper says of it.

    Those that `count` give the same on every run. Those that take times (`timed`), on Spark
    (`measure`) or not, are judged in full runs only.
    """

    name: str
    about: str
    judge: Judging
    count: Counting | None = None
    measure: Measuring | None = None
    quick: Size = QUICK
    full: Size = FULL
    timed: bool = False
    repeat: int = 3
    # What of a figure that several share is drawn under this name.
    view: Callable[[Figure], Figure] = lambda figure: figure

    @property
    def on_spark(self) -> bool:
        return self.measure is not None

    @property
    def takes_times(self) -> bool:
        return self.timed or self.on_spark

    def outcome(self, figure: Figure) -> Outcome:
        return Outcome(self.name, self.view(figure), self.judge(figure), self.takes_times)
