"""Drop-probing in an order that a policy learns: windows are operators of a fabric."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from anabranch.kernel.fabric import Fabric, Memory
from anabranch.kernel.joins.arrivals import Arrivals, Bits
from anabranch.kernel.joins.run import Ints
from anabranch.kernel.ledger import Ledger
from anabranch.model import Attribute, Mesh, Query
from anabranch.model.join import ProbeTree
from anabranch.policies import Policy


@dataclass
class Window:
    """The window of a stream, as a predicate: a tuple passes if it has a match there."""

    prober: "Prober"
    stream: str

    def convert(self, columns: Sequence[pa.Array], rows: int) -> Ints:  # noqa: ARG002  (a predicate)
        return np.asarray(columns[0].to_numpy(), np.int64)

    def judge(self, converted: Ints, rows: int) -> Bits:  # noqa: ARG002
        assert self.prober.arrived is not None
        self.prober.probed += len(converted)
        return self.prober.arrived.probe(self.stream, converted)


@dataclass
class Prober:
    """Probes the windows of the other streams with the rows of one, the source.

    One per source and worker: it learns from all that it sees, in whichever cell.
    """

    tree: ProbeTree
    policy: Policy
    attributes: tuple[Attribute, ...] = ()
    start: Mesh | None = None
    seed: int = 0
    clock: Callable[[], float] = time.perf_counter
    busy: Callable[[], float] = time.thread_time
    query: Query = field(init=False)
    arrived: Arrivals | None = field(init=False, default=None)
    probed: int = field(init=False, default=0)  # tuples, over all windows and all chunks

    def __post_init__(self) -> None:
        self.query = replace(self.tree.operators(), attributes=self.attributes)
        self.learner = self.policy.bind(self.query, self.start)
        predicates = [(Window(self, name), [0]) for name in self.query.names]
        places = {attribute.name: i + 1 for i, attribute in enumerate(self.attributes)}
        self._fabric = Fabric(
            self.query,
            predicates,
            self.learner,
            self.seed,
            self.clock,
            self.busy,
            attributes=places,
            memory=Memory(),
        )

    def survivors(self, arrived: Arrivals, values: Mapping[str, pa.Array]) -> Ints:
        """The tuples that every window has a match for."""
        self.arrived = arrived
        try:
            tuples = pa.array(np.arange(len(arrived)))
            owner = pa.array(arrived.owner)
            columns = [tuples, *(values[a.name].take(owner) for a in self.attributes)]
            keep = self._fabric.process(columns, len(arrived))
        finally:
            self.arrived = None
        return np.flatnonzero(keep)

    def take_ledger(self) -> Ledger:
        """What happened since the last call of this."""
        return self._fabric.take_ledger()
