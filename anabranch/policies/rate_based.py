"""Rate-based optimisation: join orders for the output rate, by the rates of the streams.

S. Viglas, J. Naughton: Rate-Based Query Optimization for Streaming Information Sources, SIGMOD
2002. A tree of joins is chosen for an objective before the stream starts. A plan for the first
results is replaced where another one crosses it.

>>> from anabranch.model.join import JoinQuery, Stream
>>> streams = [Stream(name, window=10_000_000) for name in ("calls", "cells", "fraud")]
>>> keys = [(("calls", "cell"), ("cells", "id")), (("calls", "user"), ("fraud", "user"))]
>>> join = JoinQuery.on(streams, keys)
>>> policy = RateBased(selectivities={"calls = cells": 0.1, "calls = fraud": 0.0001})
>>> planned = policy.for_join(join, rates={"calls": 500.0, "cells": 20.0, "fraud": 5.0})
>>> print(planned.chosen, planned.order("calls", join.tree("calls").operators()))
((calls, fraud), cells) ('fraud', 'cells')
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod
from typing import ClassVar, Literal, Self

from anabranch.cost.checks import check_selectivity
from anabranch.cost.crossing import schedule
from anabranch.cost.objectives import MostResults, Objective, Soonest, steady_rate
from anabranch.cost.rate import Handling, JoinTree, Source
from anabranch.cost.stream_join import Link, StreamJoin
from anabranch.cost.trees import MOST_EXHAUSTIVE, Shape, all_trees
from anabranch.model import InputError, Mesh, Query, closest
from anabranch.model.join import JoinQuery
from anabranch.policies.base import Event, Feedback, Policy
from anabranch.policies.steady import Steady

# Taken for predicates that nothing is told of: then rates alone decide.
SELECTIVITY = 0.01
# What the windowed join took for a row on the machine that it was developed on, about.
HANDLING = Handling(move=1e-5)
# A shape for the probes of a stream's rows, from a number of seconds on.
Timed = tuple[float, tuple[str, ...]]


@dataclass
class RateBased(Steady):
    """One tree of joins, by rates that are known.

    Parameters
    ----------
    rates
        Rows per second of each stream, as from `run.rates(query)`; or as `rates=` of the join.
    selectivities
        Share of the pairs that pass, by predicate: `"trades = news"`. Where nothing is told, all
        are alike.
    costs
        Seconds per row that a predicate adds, likewise.
    handling
        What handling a row takes in a join.
    objective
        `steady_rate()`, `most_results(by=...)` or `soonest(results=...)`.
    shape
        `"bushy"` or `"left-deep"`.
    tree
        The tree itself, as `"((trades, news), blogs)"`, instead of one for the objective.
    how
        `"probe"`: rows probe windows in the order of the tree. `"native"`: Spark's own
        stream-stream joins in its shape.
    """

    name: ClassVar[str] = "rate"
    summary: ClassVar[str] = "rate-based: one tree of joins, by known rates; for joins of streams"
    rates: Mapping[str, float] | None = None
    selectivities: Mapping[str, float] | None = None
    costs: Mapping[str, float] | None = None
    handling: Handling = HANDLING
    objective: Objective = field(default_factory=steady_rate)
    shape: Shape = "bushy"
    tree: str | None = None
    how: Literal["probe", "native"] = "probe"
    chosen: JoinTree | None = field(default=None, init=False)
    stages: tuple[tuple[float, JoinTree], ...] = field(default=(), init=False)
    timed: tuple[Timed, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if self.how not in ("probe", "native"):
            raise InputError(f'how is "probe" or "native", got {self.how!r}')
        if not isinstance(self.objective, Objective):
            raise InputError(
                "objective is steady_rate(), most_results(by=...) or soonest(results=...), got "
                f"{self.objective!r}"
            )

    def for_join(self, join: JoinQuery, rates: Mapping[str, float] | None) -> Self:
        planned = replace(self, rates=self.rates or rates)
        spec = planned.spec(join)
        if self.tree is not None:
            planned.chosen = spec.tree(self.tree)
            planned.stages = ((0.0, planned.chosen),)
            return planned
        planned.chosen = self.objective.search(spec, self.shape)
        planned.stages = self._stages(spec, planned.chosen)
        return planned

    def spec(self, join: JoinQuery) -> StreamJoin:
        """The join with its rates, windows and selectivities."""
        names, rates = join.names, dict(self.rates or {})
        for name in rates:
            if name not in names:
                raise InputError(f'rates: there is no stream "{name}"; {closest(name, names)}')
        if self.tree is not None:
            rates = {**dict.fromkeys(names, 1.0), **rates}
        if missing := [name for name in names if name not in rates]:
            raise InputError(
                f"rates: {', '.join(missing)} missing; rate-based plans need rows per second of "
                f"each stream, as in rates={{{missing[0]!r}: 100.0}}"
            )
        sources = [
            Source(stream.name, rates[stream.name], window=stream.window / 1e6)
            for stream in join.streams
        ]
        return StreamJoin(sources, self._links(join), self.handling)

    def _links(self, join: JoinQuery) -> list[Link]:
        """One for each pair of streams that share a key; what is told is of all their predicates.

        Pairs of a key that nothing is told of are like those that something is told of: what is
        joined first must not change what there is in the end.
        """
        shares, costs = (_by_pair(what, getattr(self, what), join) for what in TOLD)
        links = []
        for pair, keys in _linked(join).items():
            usual = [_usual(key, shares, join) for key in keys]
            share = shares.get(frozenset(pair), prod(usual))
            cost = costs.get(frozenset(pair), 0.0)
            links.append(Link(*pair, share, cost, key=" ".join(map(str, keys))))
        return links

    def _stages(self, spec: StreamJoin, tree: JoinTree) -> tuple[tuple[float, JoinTree], ...]:
        """Trees by the time from which they are ahead, if time matters."""
        if isinstance(self.objective, MostResults):
            until = self.objective.by
        elif isinstance(self.objective, Soonest):
            until = self.objective.loss(tree)
        else:
            return ((0.0, tree),)
        if len(spec.sources) > MOST_EXHAUSTIVE:
            return ((0.0, tree),)
        found = schedule(all_trees(spec, self.shape), until)
        return tuple((stage.at, stage.tree) for stage in found)

    def order(self, stream: str, probes: Query, tree: JoinTree | None = None) -> tuple[str, ...]:
        """In which order rows of a stream meet the others: those joined nearest to it first."""
        tree = tree or self.chosen
        assert tree is not None
        left, order = _climbed(tree, stream), list[str]()
        wanted = [name for name in left if name in probes.names]
        while wanted:
            name = next(n for n in wanted if all(a in order for a in _after(probes, n)))
            order.append(name)
            wanted.remove(name)
        return tuple(order)

    def of_stream(self, stream: str, probes: Query) -> Policy:
        own = replace(self)
        own.timed = tuple((at, self.order(stream, probes, tree)) for at, tree in self.stages)
        return own

    def check(self, query: Query) -> None:
        if not self.timed:
            raise InputError(
                'policy "rate" is for joins of streams: join(...).run(policy="rate", rates={...}); '
                "for predicates on one stream there are auto, agreedy and om"
            )

    def begin(self, start: Mesh | None) -> None:
        self._mesh = Mesh.single(self.query, self.timed[0][1])
        self._stage = 0
        self._began: float | None = None
        self._rows = 0

    def observe(self, feedback: Feedback) -> tuple[Event, ...]:
        """Replace the plan where its time is over."""
        self._began = feedback.now if self._began is None else self._began
        self._rows += feedback.rows
        passed = feedback.now - self._began
        due = max(i for i, (at, _) in enumerate(self.timed) if i == 0 or passed >= at)
        before, after = (self.timed[i][1] for i in (self._stage, due))
        self._stage = due
        if before == after:
            return ()
        self._mesh = Mesh.single(self.query, after)
        return (Event("switch", self._rows, before, after),)


TOLD = ("selectivities", "costs")
Pair = tuple[str, str]


def _linked(join: JoinQuery) -> dict[Pair, list[int]]:
    """Pairs of streams -> the keys that both have."""
    found: dict[Pair, list[int]] = {}
    for number, key in enumerate(join.keys):
        for left, right in combinations(dict.fromkeys(stream for stream, _ in key), 2):
            found.setdefault((left, right), []).append(number)
    return found


def _usual(key: int, shares: Mapping[frozenset[str], float], join: JoinQuery) -> float:
    """The share of pairs that are equal in a key, by what is told of other pairs with it alone."""
    alone = [pair for pair, keys in _linked(join).items() if keys == [key]]
    told = [shares[frozenset(pair)] for pair in alone if frozenset(pair) in shares]
    return prod(told) ** (1 / len(told)) if told else SELECTIVITY


def _by_pair(
    what: str, told: Mapping[str, float] | None, join: JoinQuery
) -> dict[frozenset[str], float]:
    """What is told of predicates, by the streams that they link."""
    linked = {frozenset(pair): " = ".join(pair) for pair in _linked(join)}
    found = {}
    for text, value in (told or {}).items():
        pair = frozenset(part.strip() for part in text.split("="))
        if pair not in linked:
            raise InputError(
                f'{what}: nothing joins "{text}"; {closest(text, linked.values())} (streams, '
                "without columns: what is told is of all predicates between them)"
            )
        if what == "selectivities":
            check_selectivity(f"{what}: {text}", value)
        found[pair] = value
    return found


def _after(probes: Query, name: str) -> Sequence[str]:
    return next(o.after for o in probes.operators if o.name == name)


def _climbed(tree: JoinTree, stream: str) -> list[str]:
    """The other streams, by how far up the tree they are joined."""
    if stream in tree.left.names:
        near, far = tree.left, tree.right
    else:
        near, far = tree.right, tree.left
    return [*(_climbed(near, stream) if isinstance(near, JoinTree) else ()), *far.names]
