"""Alarms: has the cost or a selectivity of a route moved? (Concept drift: Query Mesh, Section 5.3)

Page and Hinkley's test by river, one detector for each quantity of each route.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from anabranch.policies.query_mesh.monitor import Reading

if TYPE_CHECKING:
    from river.drift import PageHinkley
    from river.stats import EWVar, Mean

# In standard errors of a chunk: a move that does not matter, and the sum of moves that raises the
# alarm; readings before any alarm.
TOLERANCE, THRESHOLD, LEAST_READINGS = 0.5, 16.0, 5
# Chunks of one stream may differ by more than chance: then by how much they do is the unit.
MEMORY = 0.05


@dataclass
class _Detector:
    test: "PageHinkley"
    usual: "Mean"
    spread: "EWVar"
    last: float | None = None

    def update(self, value: float) -> bool:
        surprise = value - self.usual.get() if self.usual.n else 0.0
        # From the differences of neighbours: a lasting move counts once only.
        unit = max(1.0, float(self.spread.get() / 2) ** 0.5)
        self.test.update(surprise / unit)
        if not self.test.drift_detected and self.last is not None:
            self.spread.update(value - self.last)
        self.usual.update(value)
        self.last = value
        return bool(self.test.drift_detected)


@dataclass
class Detectors:
    """The detectors of one mesh; another mesh gets others.

    Examples
    --------
    >>> detectors = Detectors()
    >>> calm = [Reading(0, "cost", 50.0 + (-1) ** i) for i in range(40)]
    >>> detectors.update(calm)
    []
    >>> [r.what for r in detectors.update([Reading(0, "cost", 80.0)])]
    ['cost']
    """

    _known: dict[tuple[int, str], _Detector] = field(default_factory=dict)

    def update(self, readings: Iterable[Reading]) -> list[Reading]:
        """Those of the readings that raise an alarm."""
        return [reading for reading in readings if self._of(reading).update(reading.value)]

    def _of(self, reading: Reading) -> _Detector:
        key = reading.route, reading.what
        if key not in self._known:
            self._known[key] = _detector()
        return self._known[key]


def _detector() -> _Detector:
    # river takes about a second to import: only where it is used.
    from river.drift import PageHinkley
    from river.stats import EWVar, Mean

    test = PageHinkley(LEAST_READINGS, TOLERANCE, THRESHOLD)
    return _Detector(test, Mean(), EWVar(MEMORY))
