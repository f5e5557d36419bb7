"""From declared operators to the three stages of a run: before, fused, after."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from anabranch.model import InputError, Operator, Query, closest
from anabranch.spark.native import Place, looked_at
from anabranch.spark.predicates import as_udf, check_arity, check_udf
from anabranch.spark.session import is_connect
from anabranch.spark.tables import key_names, key_types, types_of


@dataclass(frozen=True)
class Native:
    """A Spark expression; runs inside Spark."""

    operator: Operator
    condition: Column
    place: Place = "free"
    reads: tuple[str, ...] = ()  # columns, and fields of them
    dear: bool = False


@dataclass(frozen=True)
class Python:
    """A UDF over columns; runs in the fused operator."""

    operator: Operator
    udf: Any
    columns: tuple[Column, ...]
    types: tuple[DataType, ...]
    computed: tuple[str, ...]  # of the columns, those that Spark computes before any predicate
    drops: ClassVar[bool] = True


@dataclass(frozen=True)
class Table:
    """A bounded table: probed in the fused operator and joined behind it, or looked up by Spark."""

    operator: Operator
    table: DataFrame
    keys: tuple[str, ...]
    types: tuple[DataType, ...]  # in which the two sides are compared
    own_types: tuple[DataType, ...]  # of the input
    how: str

    @property
    def drops(self) -> bool:
        """A left join keeps every row."""
        return self.how != "left"

    @property
    def joins(self) -> bool:
        return self.how in ("inner", "left")


Declared = Native | Python | Table

# Spark Connect tells where the server was, too.
STACK = "\n\nJVM stacktrace"


def native(df: DataFrame, name: str, condition: Column | str, after: tuple[str, ...]) -> Native:
    """A native predicate, analysed against the input."""
    expression = F.expr(condition) if isinstance(condition, str) else condition
    try:
        looked = looked_at(df, expression)
    except AnalysisException as error:
        raise _unresolved(name, df, error) from error
    return Native(Operator(name, (_label(condition),), after), expression, *looked)


def python(
    df: DataFrame,
    name: str,
    predicate: Callable[..., Any],
    columns: Sequence[str | Column],
    after: tuple[str, ...],
    cost: float | None,
) -> Python:
    """A Python predicate, its columns resolved against the input."""
    udf = as_udf(predicate)
    check_udf(name, udf)
    check_arity(name, udf, len(columns))
    resolved = tuple(F.col(c) if isinstance(c, str) else c for c in columns)
    plain = _plain_columns(df)
    types, computed = [], []
    for label, column in zip(columns, resolved, strict=True):
        if isinstance(label, str) and label in plain:  # Spark takes milliseconds to say the same
            types.append(plain[label])
            continue
        try:
            selected = df.select(column)
            types.append(selected.schema[0].dataType)
        except AnalysisException as error:
            raise _unresolved(name, df, error, label) from error
        if _is_computed(selected, column):
            computed.append(_label(label))
    operator = Operator(name, tuple(map(_label, columns)), after, cost)
    return Python(operator, udf, resolved, tuple(types), tuple(computed))


def _plain_columns(df: DataFrame) -> dict[str, DataType]:
    """Columns whose names can mean nothing else, with their types."""
    schema = df.schema
    spelled = Counter(field.name.lower() for field in schema)
    return {
        field.name: field.dataType
        for field in schema
        if spelled[field.name.lower()] == 1 and field.name.isidentifier()
    }


def _is_computed(selected: Any, column: Column) -> bool:
    """Whether the one column selected is more than a column or a field of one."""
    if is_connect(column):
        from anabranch.spark import connect

        return connect.is_computed(column)
    expression = selected._jdf.queryExecution().analyzed().projectList().head()
    if expression.nodeName() == "Alias":
        expression = expression.child()
    while expression.nodeName() == "GetStructField":
        expression = expression.child()
    return bool(expression.nodeName() != "AttributeReference")


def table(
    df: DataFrame, name: str, other: DataFrame, on: object, how: str, after: tuple[str, ...]
) -> Table:
    """A lookup or join, its keys resolved against both sides."""
    keys = key_names(name, other, on, df)
    types = tuple(key_types(name, other, keys, df))
    own = tuple(types_of(df, keys))
    return Table(Operator(name, keys, after), other, keys, types, own, how)


def _label(column: str | Column) -> str:
    return column if isinstance(column, str) else str(column)[len("Column<'") : -len("'>")]


def _unresolved(
    name: str, df: DataFrame, error: AnalysisException, column: str | Column | None = None
) -> InputError:
    known = list(dict.fromkeys(df.columns))
    if isinstance(column, str):
        reason = f'"{name}" reads the column "{column}"; {closest(column, known)}'
    else:
        reason = f'"{name}" cannot be resolved; the input has the columns {", ".join(known)}'
    return InputError(
        f"{reason} (columns of a joined table are there on run.df)\n"
        f"Spark says: {str(error).split(STACK)[0]}"
    )


@dataclass(frozen=True)
class Planable:
    """Native predicates that run in one expression, in the order that a plan says."""

    natives: tuple[Native, ...]
    query: Query

    @property
    def conditions(self) -> dict[str, Column]:
        return {native.operator.name: native.condition for native in self.natives}

    def __len__(self) -> int:
        return len(self.natives)


@dataclass(frozen=True)
class Stages:
    """Filters, native stage, lookups, the fused operators, native stage, filters, and joins."""

    first: tuple[Native, ...]
    before: Planable
    lookups: tuple[Table, ...]  # inside Spark
    fused: tuple[Python | Table, ...]
    above: Planable
    last: tuple[Native, ...]
    joins: tuple[Table, ...]
    query: Query  # of the fused operators
    whole: Query

    def guards(self) -> set[str]:
        """What stands before a lookup or a function since it must: only rows that pass may be
        asked."""
        return {
            self.whole.names[guard]
            for d in (*self.lookups, *self.fused)
            for guard in self.whole.guards[self.whole.index(d.operator.name)]
        }

    def outline(self) -> list[str]:
        """One line per stage that there is."""
        parts = {
            "filters first": [n.operator for n in self.first],
            "native predicates": list(self.before.query.operators),
            "lookups inside Spark": [t.operator for t in self.lookups],
            "fused operator": list(self.query.operators),
            "native predicates behind it": list(self.above.query.operators),
            "filters behind it": [n.operator for n in self.last],
            "joins last": [t.operator for t in self.joins],
        }
        return [f"{title}: {', '.join(map(str, ops))}" for title, ops in parts.items() if ops]


def insideable(declared: Sequence[Declared]) -> list[str]:
    """Lookups that Spark can do before any row moves to Python: only native predicates guard them,
    and they guard none, which Spark would move before a join."""
    whole = Query(tuple(d.operator for d in declared))
    natives = {whole.index(d.operator.name) for d in declared if isinstance(d, Native)}
    guarding = {guard for native in natives for guard in whole.guards[native]}
    return [
        d.operator.name
        for place, d in enumerate(declared)
        if isinstance(d, Table)
        and not d.joins
        and place not in guarding
        and whole.guards[place] <= natives
    ]


def split(
    declared: Sequence[Declared], late: Collection[str] = (), inside: Collection[str] = ()
) -> Stages:
    """Put each declared operator into its stage; guards may not ask for a second Python stage.

    The native predicates named `late` run behind the Python ones though they need not, the lookups
    named `inside` inside Spark before them.
    """
    whole = Query(tuple(d.operator for d in declared))
    by_name = {d.operator.name: d for d in declared}
    ordered = [by_name[name] for name in whole.written()]
    behind = {
        d.operator.name: {whole.names[i] for i in guards}
        for d, guards in zip(declared, whole.guards, strict=True)
    }
    tables = [d for d in ordered if not isinstance(d, Native) and d.drops]
    lookups = tuple(d for d in tables if isinstance(d, Table) and d.operator.name in inside)
    fused = tuple(d for d in tables if d not in lookups)
    names = {d.operator.name for d in fused}
    natives = [d for d in ordered if isinstance(d, Native)]
    above = [n for n in natives if behind[n.operator.name] & {*names, *late}]
    above += [n for n in natives if n.operator.name in late and n not in above]
    _check(fused, {*names, *inside}, behind, {n.operator.name for n in above})
    below = [n for n in natives if n not in above]
    first = _ordinary(below, behind)
    last = above if any(n.place in ("pinned", "random") for n in above) else []
    return Stages(
        first=tuple(first),
        before=_planable([n for n in below if n not in first], behind),
        lookups=lookups,
        fused=fused,
        above=_planable([n for n in natives if n in above and n not in last], behind),
        last=tuple(n for n in natives if n in last),
        joins=tuple(d for d in declared if isinstance(d, Table) and d.joins),
        query=_restricted([d.operator for d in fused], behind),
        whole=whole,
    )


def _check(
    fused: Sequence[Python | Table],
    inside: set[str],
    behind: dict[str, set[str]],
    above: set[str],
) -> None:
    for d in fused:
        guards = sorted(behind[d.operator.name] & inside)
        if isinstance(d, Python) and d.computed and guards:
            raise InputError(
                f'"{d.operator.name}" reads {", ".join(d.computed)}, which Spark computes for '
                f'every row, also for those that its guard "{guards[0]}" drops; pass plain columns '
                "and compute inside the function"
            )
        late = behind[d.operator.name] & above
        if late:
            raise InputError(
                f'"{d.operator.name}" is declared after "{min(late)}", a native predicate that '
                "itself runs behind Python ones; only one Python stage is built: filter run.df "
                f'for "{d.operator.name}" instead'
            )


def _ordinary(below: Sequence[Native], behind: dict[str, set[str]]) -> list[Native]:
    """Those that run as filters of their own, before all others.

    A source can skip what simple comparisons exclude, and Spark takes some expressions out of
    filters only. Where the outcome depends on which rows are asked, all stay in the order written.
    """
    if any(n.place == "random" for n in below):
        return list(below)
    first: list[Native] = []
    for native in below:
        guards = behind[native.operator.name]
        waits = guards - {n.operator.name for n in first}
        if native.place != "free" and not waits:
            first.append(native)
        elif native.place == "pinned":
            return list(below)
    return first


def _planable(natives: Sequence[Native], behind: dict[str, set[str]]) -> Planable:
    return Planable(tuple(natives), _restricted([n.operator for n in natives], behind))


def _restricted(operators: Sequence[Operator], behind: dict[str, set[str]]) -> Query:
    """The query of some operators alone, guards through others included."""
    inside = {o.name for o in operators}
    return Query(
        tuple(
            Operator(o.name, o.columns, tuple(sorted(behind[o.name] & inside)), o.cost)
            for o in operators
        )
    )
