"""What a mesh is looked for by: sampled rows, rows seen on their way, and when there are enough."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from anabranch.model import Query
from anabranch.policies.base import Bits, Feedback, Floats
from anabranch.policies.query_mesh.wire import sample_to_dict
from anabranch.policies.register import MOST_TAKEN, PAIRED, Register
from anabranch.stats import Reservoir

# Shares of the sample at which a mesh is looked for, before the sample is complete.
EARLY = (0.15, 0.4)
# Times that the sample may grow to, while it is too small.
MOST_GROWTH = 4
# Rows that a sample must have to be told to the driver, the factor by which it must have grown to
# be told again, and the bytes that it may take.
LEAST_TOLD, GROWN, MOST_BYTES = 50, 1.5, 65_536
# Rows of a slice that are looked at though it costs no evaluation, and slices where that is done.
FREE_ROWS, FREE_SLICES = 1_000, 10
# Rows looked at that wait to be counted.
MOST_WAITING = 6_000
# A mesh is looked for again when so many times the rows were looked at.
LOOKED = 3
# Attributes that are judged at a time: each takes its time. Where there are more, groups of them,
# within which all pairs are tried, take turns as long as none tells anything.
JUDGED = PAIRED


Trace = tuple[tuple[int, float], ...]  # move -> the best cost from there on


class Waiting:
    """Rows that were looked at, to be counted when that is asked for: many at once cost less.

    >>> waiting = Waiting()
    >>> bits = np.ones((500, 2), bool)
    >>> for _ in range(20): waiting.add(np.zeros((500, 1)), bits, bits)
    >>> [len(values) for values, _, _ in waiting.take()], list(waiting.take())
    ([1500, 1500, 1500, 1500], [])
    """

    def __init__(self) -> None:
        self._parts: deque[tuple[Floats, Bits, Bits]] = deque()
        self._rows = 0

    def add(self, values: Floats, passed: Bits, met: Bits) -> None:
        """The newest rows are kept: older ones would fade, anyway."""
        self._parts.append((values, passed, met))
        self._rows += len(values)
        while self._rows - len(self._parts[0][0]) >= MOST_WAITING:
            self._rows -= len(self._parts.popleft()[0])

    def take(self) -> Iterator[tuple[Floats, Bits, Bits]]:
        """All rows, in lots that are counted in full."""
        parts, self._parts, self._rows = self._parts, deque(), 0
        if parts:
            values, passed, met = (np.concatenate(each) for each in zip(*parts, strict=True))
            for begin in range(0, len(values), MOST_TAKEN):
                lot = slice(begin, begin + MOST_TAKEN)
                yield values[lot], passed[lot], met[lot]


@dataclass
class Evidence:
    """A sample of rows that met all operators, and a register of those that met some.

    While no attribute is known to tell anything, every other slice has rows looked at that are not
    evaluated for it: each operator that they come to tells of their attributes.

    >>> from anabranch.model import Attribute, Operator
    >>> many = tuple(Attribute(f"a{i}") for i in range(15))
    >>> evidence = Evidence(Query((Operator("f"), Operator("g")), many), size=100, seed=0)
    >>> evidence.looked(nothing=True)
    >>> len(evidence.register.attributes), evidence.is_due(nothing=True)
    (12, True)
    >>> evidence.turn(); evidence.looked(nothing=True)
    >>> len(evidence.register.attributes), evidence.is_due(nothing=True)
    (3, False)
    """

    query: Query
    size: int
    seed: int
    sample: Reservoir = field(init=False)
    register: Register = field(init=False)
    free: bool = False  # whether the rows looked at now cost nothing more

    def __post_init__(self) -> None:
        count = len(self.query)
        self.sample = Reservoir(len(self.query.attributes), count, self.size, self.seed)
        places = range(len(self.query.attributes))
        self._groups = [places[i : i + JUDGED] for i in places[::JUDGED]] or [places]
        self._group = 0
        self.begin_again()

    def begin_again(self) -> None:
        """Forget all rows: the data is not what it was.

        The attributes that told something come first.
        """
        self.sample.clear()
        self.sample.size = self.size
        self._judge(self._group)
        self._left = 0  # groups that are yet to be judged by the rows that there are
        self._seen = 0  # rows looked at
        self._looks = [round(share * self.size) for share in (*EARLY, 1.0)]
        self._look_at, self._curious = FREE_ROWS, FREE_SLICES
        self.free = False
        self._told = 0  # rows of the sample when it was last told
        self._told_trace: Trace = ()

    def _judge(self, group: int) -> None:
        """By what these attributes tell, from nothing."""
        self._group = group
        chosen = [self.query.attributes[place] for place in self._groups[group]]
        self.register = Register(chosen, len(self.query), None)
        self._waiting = Waiting()

    @property
    def groups(self) -> int:
        """Groups of attributes that take turns."""
        return len(self._groups)

    @property
    def swept(self) -> bool:
        """Whether all groups were judged by the rows that there were."""
        return not self._left

    def turn(self) -> None:
        """These attributes tell nothing: it is the turn of others, by the rows of the sample."""
        if self.groups > 1:
            self._judge((self._group + 1) % self.groups)
            bits = self.sample.bits
            self._wait(self.sample.values, ~bits, np.ones(bits.shape, bool))

    def _wait(self, values: Floats, passed: Bits, met: Bits) -> None:
        columns = self._groups[self._group]
        self._waiting.add(values[:, columns.start : columns.stop], passed, met)

    @property
    def eager(self) -> bool:
        """Whether a mesh is looked for before the sample is complete."""
        return bool(self._looks) and bool(self.query.attributes)

    def rate(self, rows: float) -> float:
        """Share of so many rows to look at where it costs nothing."""
        return min(FREE_ROWS / max(rows, 1.0), 1.0)

    def update(self, feedback: Feedback, costs: Floats, nothing: bool) -> None:
        """Take in the rows looked at; is `nothing` known to tell rows apart?

        `costs` are seconds per operator as they are measured now, NaN where nothing was timed.
        """
        rows = feedback.profiled
        if not len(rows):
            return
        names = [attribute.name for attribute in self.query.attributes]
        values = feedback.profiled_values(names)
        if names:
            self._wait(values, feedback.passed, feedback.passed | feedback.dropped)
            self._seen += len(rows)
        if self.free:
            self._curious -= 1
        else:
            self.sample.update(values, feedback.dropped, np.tile(costs, (len(rows), 1)))
        wanted = nothing and bool(names) and self._curious > 0
        self.free = not self.free and wanted

    def complete_rows(self, feedback: Feedback) -> Feedback:
        """The feedback without rows that did not meet all operators: they tell of no order."""
        if not self.free or not len(feedback.profiled):
            return feedback
        return replace(feedback, dropped=feedback.dropped[:0], passed=feedback.passed[:0])

    def is_due(self, nothing: bool) -> bool:
        """Whether there is enough new evidence to look for a mesh."""
        if not self.query.attributes:
            return False
        sampled = bool(self._looks) and len(self.sample) >= self._looks[0]
        return sampled or (nothing and (not self.swept or self._seen >= self._look_at))

    def count(self) -> None:
        """Register all rows that were looked at."""
        for rows in self._waiting.take():
            self.register.update(*rows)

    @property
    def complete(self) -> bool:
        """Whether the sample has all the rows that it is to have."""
        return len(self.sample) >= self.sample.size

    def grow(self) -> None:
        """The sample was too small: other rows would have given another mesh."""
        size = 2 * self.sample.size
        if size <= MOST_GROWTH * self.size:
            self.sample.grow(size)
            self._looks.append(size)

    def news(self, trace: Trace = (), **costs: float) -> dict[str, Any] | None:
        """The sample as plain data, if it has grown much, or was searched, since it was told.

        `costs` are seconds per row: for `classifying`, and as `overhead` of a further route.
        """
        searched = bool(trace) and trace != self._told_trace
        if len(self.sample) < max(LEAST_TOLD, 0 if searched else GROWN * self._told):
            return None
        self._told, self._told_trace = len(self.sample), trace
        width = 8 * len(self.query.attributes) + 4 * len(self.query)
        rows = np.arange(len(self.sample))
        if len(rows) * width > MOST_BYTES:
            rows = np.random.default_rng(self.seed).permutation(len(rows))[: MOST_BYTES // width]
        return {
            "sample": sample_to_dict(self.sample.part(rows)),
            "trace": [list(entry) for entry in trace],
            **costs,
        }

    def looked(self, nothing: bool) -> None:
        """A mesh was looked for by what a group of attributes tells; is `nothing` known otherwise?

        Where something is, that group is looked at again, and no other.
        """
        if self.swept or not nothing:
            self._looks = [size for size in self._looks if size > len(self.sample)]
            self._look_at = max(self._look_at, LOOKED * self._seen)
        if nothing:
            self._left = (self._left or self.groups) - 1
