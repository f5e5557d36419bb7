"""Declare, choose, compile, execute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from anabranch.model import InputError, Mesh, closest
from anabranch.policies import Policy, resolve
from anabranch.policies.query_mesh.parameters import BUDGET
from anabranch.report.explain import explain
from anabranch.spark import Column, DataFrame, stages
from anabranch.spark.joins.declare import Join, join
from anabranch.spark.rounds.handle import Rounds
from anabranch.spark.run import Run, begun
from anabranch.spark.sampling import DEFAULT_SAMPLE, Sample
from anabranch.spark.shared.declare import Queries, declared_together
from anabranch.spark.staging import inside_spark

__all__ = ["Join", "Queries", "Query", "join", "queries", "query"]

Names = str | Sequence[str]


def query(df: DataFrame) -> Query:
    """Begin a query on a DataFrame, batch or streaming."""
    if not isinstance(df, DataFrame):
        raise InputError(f"query() takes a DataFrame, got {type(df).__name__}")
    return Query(df)


def queries(**named: Query) -> Queries:
    """Several queries over one DataFrame, in one pass: what they share is evaluated once."""
    for name, one in named.items():
        if not isinstance(one, Query):
            raise InputError(f"{name} must be a query, as from query(df), got {type(one).__name__}")
    return declared_together({name: (one._df, one._declared) for name, one in named.items()})


class Query:
    """A conjunction of predicates, lookups and joins on one DataFrame.

    Each method returns a new query. Predicates commute unless one is declared `after` another.
    """

    def __init__(self, df: DataFrame, declared: tuple[stages.Declared, ...] = ()) -> None:
        self._df = df
        self._declared = declared
        self._last: Run | None = None

    def where(
        self,
        predicate: Column | str | Callable[..., Any],
        *columns: str | Column,
        name: str | None = None,
        after: Names = (),
        cost: float | None = None,
    ) -> Query:
        """Keep rows that pass a predicate; NULL drops the row.

        A Column or an SQL string runs natively. A `udf`, `pandas_udf`, `arrow_udf` or plain
        function of a row's values is given its columns: `where(f, "a", "b")`. `cost` is a first
        guess at its seconds per row.
        """
        guards = _names(after)
        if not isinstance(predicate, str | Column) and callable(predicate):
            label = name or self._free(_name_of(predicate))
            return self._with(stages.python(self._df, label, predicate, columns, guards, cost))
        if columns:
            raise InputError(
                "columns go with a function: where(f, 'a', 'b'); a Column or SQL string names its "
                f"own, got {predicate!r} with {columns!r}"
            )
        if not isinstance(predicate, str | Column):
            raise InputError(
                "where() takes a Column, an SQL string, a UDF or a function with its columns; "
                f"got {type(predicate).__name__}"
            )
        label = name or self._free("native")
        return self._with(stages.native(self._df, label, predicate, guards))

    def lookup(
        self,
        table: DataFrame,
        on: Names,
        how: Literal["semi", "anti"] = "semi",
        name: str | None = None,
        after: Names = (),
    ) -> Query:
        """Keep rows that have a partner in a bounded table, or with `anti` those that have none."""
        return self._table("lookup", table, on, _one_of("how", how, "semi", "anti"), name, after)

    def join(
        self,
        table: DataFrame,
        on: Names,
        how: Literal["inner", "left"] = "inner",
        name: str | None = None,
        after: Names = (),
    ) -> Query:
        """Join with a bounded table: rows without a partner drop early, output comes last."""
        return self._table("join", table, on, _one_of("how", how, "inner", "left"), name, after)

    def run(
        self,
        policy: str | Policy = "auto",
        attributes: Sequence[str] | None = None,
        seed: int = 0,
        start: Mesh | None = None,
        learn: Literal["auto", "worker", "driver"] = "auto",
        budget: float = BUDGET,
        sample: Sample | None = DEFAULT_SAMPLE,
    ) -> Run:
        """Compile the query under a policy. Reads the bounded tables, and a bounded sample.

        Of Parquet and ORC files it may ask how many rows they have, for which Spark reads none.

        `sample` says how much of a batch input may be looked at to order native predicates (8,000
        rows, up to 8 seconds and a tenth of the job, of inputs from 128 MB for each core on); with
        None they run as written.

        `learn="driver"` also reads one bounded sample of the input (2,000 rows, at most a few
        seconds of predicates) and ships the plan that it gives, for clusters where each worker sees
        few rows; `"worker"` lets every worker learn from the rows that it processes. `"auto"` means
        `"worker"`, and `"driver"` on 64 cores and more. With `start` there is nothing left to learn
        before the job.

        `attributes` are columns (dots reach into structs) that a policy which routes by content may
        tell rows apart by; by default those of a simple type that the predicates read, then others,
        up to 6 for `auto` and 32 for `mesh` and `content`.
        `start` is a saved plan to begin with (the attributes that it asks for come on top of
        those that are named), `seed` chooses the rows that are profiled, `budget`
        is the share of useful work that profiling and learning may add under `auto` (other policies
        have parameters of their own).
        """
        _one_of("learn", learn, "auto", "worker", "driver")
        if not isinstance(seed, int) or seed < 0:
            raise InputError(f"seed is a whole number of at least 0, got {seed!r}")
        if not isinstance(budget, int | float) or not 0 < budget <= 1:
            raise InputError(f"budget is a share above 0 and at most 1, got {budget!r}")
        if budget != BUDGET and policy != "auto":
            raise InputError(
                'budget= is for policy="auto"; others have it as a parameter, as in '
                f"policy=QueryMesh(budget={budget!r}), if they keep to one"
            )
        chosen = resolve(policy, budget)
        if sample is not None and not isinstance(sample, Sample):
            raise InputError(f"sample is a Sample(rows=..., seconds=...) or None, got {sample!r}")
        self._last = Run(self._df, self._declared, chosen, start, seed, attributes, learn, sample)
        return self._last

    def stream(
        self,
        write: Callable[[DataFrame, int], Any],
        checkpoint: str,
        policy: str | Policy = "auto",
        trigger: str | Mapping[str, Any] | None = None,
        attributes: Sequence[str] | None = None,
        start: Mesh | None = None,
        seed: int = 0,
        listener: Callable[[dict[str, Any]], Any] | None = None,
    ) -> Rounds:
        """Run a stream in rounds: one plan for all workers, made on the driver between rounds.

        `write(df, round_id)` is given the rows of each micro-batch that pass; a round that fails is
        given again, with the same number. What was learned is kept under `checkpoint`, a folder, so
        that a restart goes on with it. `trigger` is an interval such as "10 seconds", "available
        now", or a mapping of Spark's own `trigger` arguments. `listener` is called with each round
        that Spark has committed: a dict as a row of `history()`, and Spark's own progress of it as
        `spark`.
        """
        chosen = resolve(policy)
        return Rounds(
            self._df,
            self._declared,
            write,
            checkpoint,
            chosen,
            trigger,
            attributes,
            start,
            seed,
            listener,
        )

    def explain(self, policy: str | Policy | None = None) -> str:
        """The operators, guards, policy and order; of the last run, with the figures behind it.

        With a policy, or before the first run: what a run under it would begin with.
        """
        if policy is None and self._last is not None:
            return explain(self._last.plan(), self._last.outline(), self._last.policy)
        chosen = resolve(policy or "auto")
        split = stages.split(self._declared, inside=inside_spark(self._declared, chosen))
        return explain(begun(self._df, split, chosen), split.outline(), chosen)

    def _table(
        self, verb: str, table: DataFrame, on: Names, how: str, name: str | None, after: Names
    ) -> Query:
        keys = "_".join(map(str, on)) if isinstance(on, list | tuple) else str(on)
        label = name or self._free(f"{verb}_{keys}")
        return self._with(stages.table(self._df, label, table, on, how, _names(after)))

    def _with(self, declared: stages.Declared) -> Query:
        return Query(self._df, (*self._declared, declared))

    def _free(self, name: str) -> str:
        """The name, or the name with a number if it is taken."""
        taken = {d.operator.name for d in self._declared}
        numbered = (f"{name}_{i}" for i in range(2, len(taken) + 3))
        return next(n for n in (name, *numbered) if n not in taken)


def _names(after: Names) -> tuple[str, ...]:
    return (after,) if isinstance(after, str) else tuple(after)


def _name_of(predicate: Callable[..., Any]) -> str:
    name = str(getattr(predicate, "__name__", type(predicate).__name__))
    return "predicate" if name == "<lambda>" else name


def _one_of(argument: str, value: str, *valid: str) -> str:
    if value not in valid:
        raise InputError(f"{argument}={value!r}; {closest(value, valid)}")
    return value
