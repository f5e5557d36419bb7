"""From a sample to a mesh: condense, search, and give every cell its route.

Query Mesh, Section 4. Attributes that tell nothing about any operator are left out first; rows that
agree in all others form a cell.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from anabranch.cost import uncertain_parts
from anabranch.model import Attribute, Cells, Mesh, Partition, Query, Route, combine
from anabranch.policies.judge import Judge
from anabranch.policies.knowledge import Knowledge
from anabranch.policies.query_mesh.condense import condense
from anabranch.policies.query_mesh.costing import Costing
from anabranch.policies.query_mesh.lattice import Configuration, configuration
from anabranch.policies.query_mesh.repair import routes_of, row_costs
from anabranch.policies.query_mesh.search import SEARCHES, Stop
from anabranch.policies.query_mesh.training import Training
from anabranch.policies.register import Register
from anabranch.stats import Reservoir

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

# Gain ratio above which an attribute can tell classes apart; it must also be more than chance.
THRESHOLD = 0.001
# Cells told apart at most; rows of others take the main route.
MOST_CELLS = 256
# Sampled rows per cell, on average, for attributes to be used together.
ROWS_PER_CELL = 8
# Parts of the sample: a route is chosen by the others and costed by its own.
FOLDS = 2
# Standard errors by which a route of its own must be better for a subset.
DOUBT = 4.0
# Moves of a search that a step of what comes before it takes as long as, besides one for each
# attribute.
HEAVY = 4


@dataclass(frozen=True)
class Settings:
    """How to search: the defaults are the paper's Table 1, `THOROUGH` is its Table 3."""

    condensed: int = 10
    search: str = "ii"
    start: str = "route_driven"
    stop: Stop = field(default_factory=lambda: Stop(iterations=3))
    seed: int = 0
    # Share of the cost within which orders are as good as each other: there a route is uncertain.
    tolerance: float = 0.002


QUICK = Settings()
# It ends when it is frozen, the time is for what cannot be foreseen.
THOROUGH = Settings(100, "sa", "content_driven", Stop(seconds=5.0))


@dataclass(frozen=True)
class Solution:
    """What a search found: a mesh, what it and one route for all are expected to cost."""

    mesh: Mesh
    cost: float  # seconds per row
    single: float
    trace: tuple[tuple[int, float], ...] = ()
    partitions: tuple[Partition, ...] = ()  # of the attributes that tell something
    gap: float = 0.0  # share by which rows cost more under meshes that were found without them


@dataclass(frozen=True)
class Task:
    """A sample to find a mesh for.

    Parameters
    ----------
    costs
        Seconds per row of each operator.
    classifying, overhead
        Seconds per row to classify it, and for each further route.
    current
        The mesh in use, from which the search begins (a warm start).
    check
        Whether to cross-validate: would other samples of the same rows give a mesh as good?
    """

    sample: Reservoir
    query: Query
    costs: Floats
    settings: Settings = QUICK
    classifying: float = 0.0
    overhead: float = 0.0
    current: Mesh | None = None
    check: bool = False


def optimise(task: Task) -> Solution:
    """The best mesh that the search finds for a sample."""
    thought = Thought(task)
    while thought.solution is None:
        thought.step()
    return thought.solution


class Thought:
    """An optimisation in small steps, so that it can be spread over batches.

    `register` are rows that met some operators, besides those of the sample, by which attributes
    are judged; without it those of the sample are, by what the attributes `judged` tell, or all.
    """

    def __init__(
        self, task: Task, register: Register | None = None, judged: Sequence[Attribute] = ()
    ) -> None:
        self._task, self._register = task, register
        self._judged = judged or (register.attributes if register else task.query.attributes)
        self._steps = self._think()
        self._weight = HEAVY + len(self._judged)
        self.solution: Solution | None = None

    def step(self) -> int:
        """Think a little further; about how many moves of a search that took as long as."""
        weight = self._weight
        try:
            next(self._steps)
        except StopIteration as end:
            self.solution = end.value
        return weight

    def _think(self) -> Generator[None, None, Solution]:
        task = self._task
        sample, query, settings = task.sample, task.query, task.settings
        if not len(sample):
            return Solution(Mesh.single(query, query.written()), 0.0, 0.0)
        partitions = yield from self._telling()
        if not partitions and self._register is not None:
            # In a worker, one route for all rows is A-Greedy's business.
            return Solution(Mesh.single(query, query.written()), 0.0, 0.0)
        cells = cells_of(sample, query, partitions)
        tuples = condense(sample.bits, cells, settings.condensed, task.costs)
        yield
        content = _content(sample, query, partitions, tuples)
        folds = np.random.default_rng(settings.seed).integers(0, FOLDS, len(tuples))
        training = Training.of(sample.bits, tuples, folds, content)
        costing = Costing(query, training, task.costs, task.classifying, task.overhead, DOUBT)
        yield
        warm = _warm(task, tuples)
        search = SEARCHES[settings.search](
            costing, settings.start, settings.stop, settings.seed, warm=warm
        )
        self._weight = 1
        while not search.done:
            search.step()
            yield
        whole = costing.total(configuration([range(len(training))]))
        routes = _routes(costing, search.best, settings.tolerance)
        mesh = _mesh(query, partitions, cells, tuples, routes)
        trace = tuple(search.trace)
        gap = (yield from self._gap(mesh)) if task.check and partitions else 0.0
        return Solution(mesh, search.best_cost, whole, trace, partitions, gap)

    def _gap(self, mesh: Mesh) -> Generator[None, None, float]:
        """Cross-validation (Section 4.2): the rows of each half under the mesh of the other."""
        task = self._task
        half = np.random.default_rng(task.settings.seed).permutation(len(task.sample)) % 2
        own = row_costs(mesh, task.sample, task.costs)
        others = np.zeros(len(own))
        for part in range(2):
            theirs, mine = np.flatnonzero(half != part), np.flatnonzero(half == part)
            part_of_it = replace(task, sample=task.sample.part(theirs), check=False)
            thought = Thought(part_of_it, judged=self._judged)
            while thought.solution is None:
                self._weight = thought.step()
                yield
            others[mine] = row_costs(thought.solution.mesh, task.sample.part(mine), task.costs)
        return float(others.sum() / max(own.sum(), 1e-300)) - 1

    def _telling(self) -> Generator[None, None, tuple[Partition, ...]]:
        """Partitions of the attributes, or pairs of them, that tell something about an operator."""
        sample, query = self._task.sample, self._task.query
        register = self._register
        if register is None:
            places = {attribute: place for place, attribute in enumerate(query.attributes)}
            values = sample.values[:, [places[attribute] for attribute in self._judged]]
            register = Register(self._judged, len(query), None)
            register.update(values, ~sample.bits, np.ones(sample.bits.shape, bool))
            yield
        known = Knowledge(query, register, alpha=0.999)
        known.costs = self._task.costs
        known.begin_overall()
        judge = Judge(known, THRESHOLD, together=True, besides=True)
        found = yield from judge.searching(range(len(query)))
        yield
        best = sorted((b for b in found.values() if b is not None), key=lambda b: -b.ratio)
        return _few(tuple(dict.fromkeys(b.partition for b in best)), sample, query)


def _warm(task: Task, tuples: Rows) -> Configuration | None:
    """The configuration of the mesh in use: tuples whose rows mostly take the same route."""
    if task.current is None:
        return None
    taken = routes_of(task.current, task.sample)
    votes = np.zeros((int(tuples.max()) + 1, len(task.current.routes)))
    np.add.at(votes, (tuples, taken), 1.0)
    routes = votes.argmax(axis=1)
    return configuration([np.flatnonzero(routes == r).tolist() for r in np.unique(routes)])


def _few(
    partitions: tuple[Partition, ...], sample: Reservoir, query: Query
) -> tuple[Partition, ...]:
    """The first of these, as many as the sample can fill with rows."""
    for count in range(len(partitions), 1, -1):
        if prod(p.size for p in partitions[:count]) < 2**62:
            cells = cells_of(sample, query, partitions[:count])
            if len(np.unique(cells)) * ROWS_PER_CELL <= len(sample):
                return partitions[:count]
    return partitions[:1]


def cells_of(sample: Reservoir, query: Query, partitions: tuple[Partition, ...]) -> Rows:
    """The cell of each sampled row: its partitions under all attributes that tell something."""
    places = {attribute.name: i for i, attribute in enumerate(query.attributes)}
    codes = [p.code([sample.values[:, places[a]] for a in p.attributes]) for p in partitions]
    return combine(codes, [p.size for p in partitions], len(sample))


def _content(
    sample: Reservoir, query: Query, partitions: tuple[Partition, ...], tuples: Rows
) -> Floats:
    """Mean place of each tuple's rows in the partitions."""
    places = {attribute.name: i for i, attribute in enumerate(query.attributes)}
    count = int(tuples.max(initial=-1)) + 1
    columns = []
    for partition in partitions:
        codes = partition.code([sample.values[:, places[a]] for a in partition.attributes])
        rows = np.bincount(tuples, minlength=count)
        columns.append(np.bincount(tuples, codes, count) / np.maximum(rows, 1))
    return np.column_stack(columns) if columns else np.zeros((count, 0))


def _routes(costing: Costing, best: Configuration, tolerance: float) -> dict[Route, list[int]]:
    """Routes, uncertain where the order hardly matters, and the training tuples that take them.

    Routes that differ only there become one.
    """
    query, training = costing.query, costing.training
    routes: dict[Route, list[int]] = {}
    for order, members in costing.routes(best).items():
        indexes = list(order)
        parts: tuple[tuple[int, int], ...] = ()
        if tolerance:
            rows = training.folds([members])[0].sum(axis=0)
            parts = uncertain_parts(training.patterns, costing.costs, order, query, rows, tolerance)
        for begin, end in parts:
            indexes[begin:end] = sorted(indexes[begin:end])
        routes.setdefault(Route.of(query, indexes, parts), []).extend(members)
    weigh = training.weights
    return dict(sorted(routes.items(), key=lambda item: -float(weigh[item[1]].sum())))


def _mesh(
    query: Query,
    partitions: tuple[Partition, ...],
    cells: Rows,
    tuples: Rows,
    routes: dict[Route, list[int]],
) -> Mesh:
    orders = tuple(routes)
    if len(orders) == 1:
        return Mesh(query, orders)
    by_tuple = {t: place for place, members in enumerate(routes.values()) for t in members}
    known, first, rows = np.unique(cells, return_index=True, return_counts=True)
    kept = np.sort(np.argsort(-rows, kind="stable")[:MOST_CELLS])
    table = [(int(known[i]), by_tuple[int(tuples[first[i]])]) for i in kept]
    return Mesh(query, orders, {}, Cells(partitions, tuple(e for e in table if e[1])))
