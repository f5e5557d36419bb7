"""Runs a policy over rows whose outcomes are known, by a clock that only work moves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.kernel.fabric import Fabric
from anabranch.model import Mesh, Query
from anabranch.policies import Policy
from anabranch.stats import Reservoir

# Rows of a batch, and how many a rehearsal processes; a smaller sample is processed again.
BATCH, ROWS = 1_000, 20_000


@dataclass
class Clock:
    """Time that passes when it is told to."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Known:
    """A predicate whose outcome is a column of the batch; it moves the clock by its cost.

    `cost` is in seconds per row, `call` per call.
    """

    clock: Clock
    cost: float
    call: float = 0.0

    def convert(self, columns: Sequence[pa.Array], rows: int) -> NDArray[np.bool_]:
        return np.asarray(columns[0].to_numpy(zero_copy_only=False), bool)

    def judge(self, converted: NDArray[np.bool_], rows: int) -> NDArray[np.bool_]:
        self.clock.now += self.call + rows * self.cost
        return ~converted


def rehearse(policy: Policy, query: Query, sample: Reservoir, seed: int = 0) -> Mesh:
    """The plan that a policy arrives at over a sample of rows, each judged by all operators.

    >>> from anabranch.model import Operator
    >>> from anabranch.policies import AGreedy
    >>> query = Query((Operator("a"), Operator("b")))
    >>> sample = Reservoir(attributes=0, operators=2)
    >>> drops = np.arange(1_000)[:, None] % [10, 2] == 0  # b drops most
    >>> sample.update(np.zeros((1_000, 0)), drops, np.full((1_000, 2), 1e-6))
    >>> print(rehearse(AGreedy(), query, sample))
    1: b, a
    """
    clock = Clock()
    costs = sample.times.mean(axis=0).tolist() if len(sample) else [0.0] * len(query)
    predicates = [(Known(clock, cost), [i]) for i, cost in enumerate(costs)]
    places = {a.name: len(query) + i for i, a in enumerate(query.attributes)}
    learner = policy.bind(query)
    fabric = Fabric(query, predicates, learner, seed, clock, clock, places)
    columns = [pa.array(column) for column in (*sample.bits.T, *sample.values.T)]
    done = 0
    while done < ROWS and len(sample):
        for begin in range(0, len(sample), BATCH):
            part = [column.slice(begin, BATCH) for column in columns]
            fabric.process(part, len(part[0]))
            done += len(part[0])
    return learner.learned()
