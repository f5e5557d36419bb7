"""The operators of several queries as one set: those that are the same are one."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame

from anabranch.model import InputError, Operator, Query
from anabranch.model.shared import SharedQuery
from anabranch.spark.compiled import Compiled, compile_stages, hash_of
from anabranch.spark.predicates import Conversion
from anabranch.spark.session import is_connect
from anabranch.spark.stages import Declared, Native, Python, Stages, Table, split


@dataclass(frozen=True)
class Own:
    """What one query has for itself: its native predicates, those behind Python, its joins."""

    natives: tuple[str, ...]  # of the union
    behind: tuple[Column, ...]
    joins: tuple[str, ...]  # of the union


@dataclass(frozen=True)
class Union:
    """All queries: native predicates and Python operators, each once."""

    natives: Mapping[str, Native]
    fused: Stages
    shared: SharedQuery  # of the Python operators
    own: Mapping[str, Own]

    def identity(self) -> list[dict[str, Any]]:
        """What a checkpoint must agree with."""
        operators = [d.operator for d in (*self.natives.values(), *self.fused.fused)]
        told = [operator.identity() for operator in operators]
        asked = {
            name: [
                *sorted([*own.natives, *self.shared.members[name], *own.joins]),
                *(str(condition) for condition in own.behind),
            ]
            for name, own in self.own.items()
        }
        return [*told, *({"name": f"query {name}", "asks": ops} for name, ops in asked.items())]

    def compiled(self, conversion: Conversion) -> Compiled:
        """Predicates and tables of all queries."""
        return compile_stages(self.fused, conversion)


class _Same:
    """Gives the same name to the same operator."""

    def __init__(self) -> None:
        self._by_identity: dict[Hashable, str] = {}
        self._tables: list[DataFrame] = []
        self.found: dict[str, Declared] = {}

    def named(
        self, query: str, declared: Declared, guards: tuple[str, ...], taken: Collection[str]
    ) -> str:
        """A query that joins with one table twice has two joins: `taken` are its own so far."""
        identity = (self._identity(declared), guards)
        known = self._by_identity.get(identity)
        if known is not None and not (isinstance(declared, Table) and known in taken):
            return known
        name = self._free(query, declared.operator.name)
        operator = Operator(name, declared.operator.columns, guards, declared.operator.cost)
        self.found[name] = replace(declared, operator=operator)
        self._by_identity.setdefault(identity, name)
        return name

    def _free(self, query: str, own: str) -> str:
        numbered = (f"{query}.{own}_{i}" for i in range(2, len(self.found) + 3))
        return next(n for n in (own, f"{query}.{own}", *numbered) if n not in self.found)

    def _identity(self, declared: Declared) -> Hashable:
        """Equal for what gives the same verdict on every row; a hash alone could collide."""
        labels = declared.operator.columns
        match declared:
            case Native(condition=condition, place=place):
                # What is drawn at random is another draw for every query.
                return ("native", id(declared) if place == "random" else hash_of(condition), labels)
            case Python(udf=udf, columns=columns):
                if not udf.deterministic:
                    return ("python", id(declared))
                inputs = tuple(hash_of(column) for column in columns)
                return ("python", id(udf.func), udf.evalType, inputs, labels)
            case Table(table=table, keys=keys, how=how):
                return ("table", self._place(table), keys, how)

    def _place(self, table: DataFrame) -> int:
        """The number of a table, the same for one that has the same rows and columns."""
        for place, known in enumerate(self._tables):
            if same_frame(known, table):
                return place
        self._tables.append(table)
        return len(self._tables) - 1


def same_frame(one: DataFrame, other: DataFrame) -> bool:
    """Whether two DataFrames are one; what Spark takes for the same may have other names."""
    if one is other:
        return True
    if is_connect(one.sparkSession) != is_connect(other.sparkSession):
        return False
    return one.schema == other.schema and bool(one.sameSemantics(other))


def united(queries: Mapping[str, Sequence[Declared]]) -> Union:
    """All queries as one."""
    same, own, members = _Same(), dict[str, Own](), dict[str, tuple[str, ...]]()
    for query, declared in queries.items():
        stages = split(declared)  # refuses what cannot be
        names = _renamed(query, stages.whole, declared, same)
        late = {n.operator.name for n in (*stages.above.natives, *stages.last)}
        late |= {d.operator.name for d in declared if _is_own(d)}
        late |= _behind(stages.whole, declared, late)
        _check_guards(query, stages, late)
        behind = [d for d in _written(stages, declared) if d.operator.name in late]
        early = [
            names[d.operator.name]
            for d in declared
            if isinstance(d, Native) and d.operator.name not in late
        ]
        own[query] = Own(
            tuple(early),
            tuple(d.condition for d in behind if isinstance(d, Native)),
            tuple(names[t.operator.name] for t in stages.joins),
        )
        members[query] = tuple(names[d.operator.name] for d in stages.fused)
    natives = {name: d for name, d in same.found.items() if isinstance(d, Native)}
    inside = [d for d in same.found.values() if not isinstance(d, Native)]
    fused = split([_without_natives(d, natives) for d in inside])
    return Union(natives, fused, SharedQuery(fused.query, members), own)


def _behind(whole: Query, declared: Sequence[Declared], late: set[str]) -> set[str]:
    """Native predicates that wait for one that runs late."""
    return {
        d.operator.name
        for d, guards in zip(declared, whole.guards, strict=True)
        if isinstance(d, Native) and late & {whole.names[i] for i in guards}
    }


def _check_guards(query: str, stages: Stages, late: set[str]) -> None:
    """What draws at random runs behind Python here, so no Python predicate can wait for it."""
    for declared in stages.fused:
        guards = stages.whole.guards[stages.whole.index(declared.operator.name)]
        hidden = sorted({stages.whole.names[i] for i in guards} & late)
        if hidden:
            raise InputError(
                f'{query}: "{declared.operator.name}" is declared after "{hidden[0]}", which '
                "cannot be shared (it draws at random, or Spark rewrites it); run this query alone"
            )


def _written(stages: Stages, declared: Sequence[Declared]) -> list[Declared]:
    by_name = {d.operator.name: d for d in declared}
    return [by_name[name] for name in stages.whole.written()]


def _is_own(declared: Declared) -> bool:
    """Whether a predicate must stay a filter of its own: it draws, or Spark rewrites it."""
    return isinstance(declared, Native) and declared.place in ("random", "pinned")


def _renamed(query: str, whole: Query, declared: Sequence[Declared], same: _Same) -> dict[str, str]:
    """A query's names -> those of the union, guards first."""
    by_name, names = {d.operator.name: d for d in declared}, dict[str, str]()
    for name in whole.written():
        guards = tuple(sorted(names[guard] for guard in by_name[name].operator.after))
        names[name] = same.named(query, by_name[name], guards, set(names.values()))
    return names


def _without_natives(declared: Python | Table, natives: Mapping[str, Native]) -> Python | Table:
    """Guards that run in Spark have run when Python begins."""
    left = tuple(guard for guard in declared.operator.after if guard not in natives)
    return replace(declared, operator=replace(declared.operator, after=left))


def check_same_input(queries: Mapping[str, DataFrame]) -> None:
    """All queries read one DataFrame."""
    (first, one), *others = queries.items()
    for name, other in others:
        if not same_frame(one, other):
            raise InputError(
                f"{name} reads another DataFrame than {first}; queries that share a pass begin "
                "with one and the same: ab.query(df)"
            )
