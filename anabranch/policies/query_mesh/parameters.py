"""The parameters of Query Mesh, and how they make a search."""

from dataclasses import dataclass, replace

from anabranch.model import InputError
from anabranch.policies.base import Policy
from anabranch.policies.measured import check_rows, check_share
from anabranch.policies.query_mesh.optimise import THOROUGH, Settings
from anabranch.policies.query_mesh.search import SEARCHES, Exhaustive, IterativeImprovement, Stop
from anabranch.policies.query_mesh.starts import STARTS

# Local optimisations of a search, the paper's; and the patience of a first one.
ITERATIONS, FIRST_PATIENCE = 3, 1
# Share of useful work that sampling and learning may add, if nothing else is said.
BUDGET = 0.01


@dataclass
class Parameters(Policy):
    """What can be set; `QueryMesh` says what each is."""

    sample: int = 1000
    condensed: int = 10
    search: str = "ii"
    start: str = "route_driven"
    iterations: int | None = None
    plateau: int | None = None
    seconds: float | None = None
    subsets: int | None = None
    window: int | None = None
    ruster: int | str = "auto"
    tolerance: float = 0.002
    budget: float = BUDGET
    duty: float = 0.15
    first_rows: int = 150
    seed: int = 0

    def __post_init__(self) -> None:
        for name, of in (("sample", " of rows"), ("condensed", ""), ("first_rows", " of rows")):
            check_rows(name, getattr(self, name), of)
        counts = {
            "iterations": "",
            "plateau": " of iterations",
            "subsets": "",
            "window": " of rows",
        }
        for name, of in counts.items():
            if getattr(self, name) is not None:
                check_rows(f"{name} (or None)", getattr(self, name), of)
        if self.ruster != "auto":
            check_rows('ruster (or "auto")', self.ruster)
        if not 0 <= self.tolerance < 1:
            raise InputError(f"tolerance is a share from 0 to below 1, got {self.tolerance!r}")
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"seconds is a time above 0, or None, got {self.seconds!r}")
        check_share("budget", self.budget)
        check_share("duty", self.duty)
        if self.search not in SEARCHES:
            raise InputError(f"no search {self.search!r}; valid: {', '.join(SEARCHES)}")
        if self.search == Exhaustive.name:
            Exhaustive.check(self.condensed)
        if self.start not in STARTS:
            raise InputError(f"no start solution {self.start!r}; valid: {', '.join(STARTS)}")

    def quick(self, first: bool) -> Settings:
        """How to search between batches; `first` where little is known yet."""
        stop = Stop(self.iterations, self.plateau, self.seconds, self.subsets)
        if self.search == IterativeImprovement.name:
            stop = replace(stop, iterations=self.iterations or ITERATIONS)
            if first:  # it need not be the best: it is mended by what all rows tell
                stop = replace(stop, iterations=1, patience=FIRST_PATIENCE)
        tolerance = 0.0 if first else self.tolerance
        return Settings(self.condensed, self.search, self.start, stop, self.seed, tolerance)

    @property
    def thorough(self) -> Settings:
        """How to search where there is time."""
        # The other conditions are for few training tuples.
        stop = replace(THOROUGH.stop, seconds=self.seconds or THOROUGH.stop.seconds)
        return replace(THOROUGH, stop=stop, seed=self.seed, tolerance=self.tolerance)
