"""When the tallies of the cells in use are looked at, and how long they remember."""

from dataclasses import dataclass

from anabranch.model import Mesh
from anabranch.policies.base import Floats
from anabranch.policies.query_mesh.refine import Refinement

# The tallies are looked at when there are this factor of rows since they began, or so many more.
GROWTH, MOST_ROWS = 1.4, 50_000
# After a look that proved wrong, there is none until there are twice the rows, or so many more.
VAIN_ROWS = 100_000
# While such looks bring news, they come more often, down to every so many rows; tallies then forget
# faster, too: they remember so many times these rows.
LEAST_ROWS, MEMORY = 5_000, 3.0
# Rows under a new mesh, and after an alarm, before its cells and routes are mended by them.
SETTLED_ROWS, REPAIR_ROWS = 1_500, 1_000
# Rows for which cells are counted before a mesh is known to pay, and the factor when one did.
SCOUT_ROWS, LONG_SCOUT = 30_000, 5


@dataclass
class Tuning:
    """The tallies of the classifier in force, if there is one."""

    refinement: Refinement | None = None
    _at: int = 0
    _since: int = 0  # the tallies tell of rows from here
    _pace: float = MOST_ROWS  # rows from one look to the next
    _scout_until: int = 0  # until then rows are classified only to count them

    def scout(self, refinement: Refinement, row: int, again: bool = False) -> None:
        """Count rows by cells though no mesh is known to pay; `again`, where one did."""
        self.refinement = refinement
        self._at = row + min(max(row, SETTLED_ROWS), LEAST_ROWS)
        self._scout_until = row + SCOUT_ROWS * (LONG_SCOUT if again else 1)

    def settle(self, refinement: Refinement | None, row: int) -> None:
        """A mesh has come into use, or none is any more."""
        if refinement is self.refinement:  # what all rows tell has changed
            self._pace = max(LEAST_ROWS, self._pace / 2)
        self.refinement, self._at = refinement, row + SETTLED_ROWS

    def begin(self, refinement: Refinement, row: int) -> None:
        """The run began with a mesh."""
        self.refinement, self._at = refinement, row + SETTLED_ROWS

    def alarm(self, row: int) -> None:
        """The data is not what it was: mend by what rows tell from now on."""
        if self.refinement is not None:
            self.refinement.clear()
            self._since, self._at = row, row + REPAIR_ROWS

    def in_vain(self, row: int) -> None:
        """What the tallies suggested was tried and left."""
        self._at = row + min(row - self._since, VAIN_ROWS)

    def is_due(self, row: int) -> bool:
        return self.refinement is not None and row >= self._at

    def look(self, plan: Mesh, costs: Floats, overhead: float, row: int) -> tuple[str, Mesh, float]:
        """The cheapest repair that is nearly as good as the best, and the share that it saves."""
        assert self.refinement is not None
        self._at = row + round(min((GROWTH - 1) * (row - self._since), self._pace))
        self.refinement.mesh = plan
        self.refinement.remember(MEMORY * self._pace)
        return self.refinement.repaired(costs, overhead)

    def bore(self, row: int, scouting: bool) -> None:
        """A look brought nothing new."""
        self._pace = min(MOST_ROWS, 1.5 * self._pace)
        if scouting and row >= self._scout_until:
            self.refinement = None
