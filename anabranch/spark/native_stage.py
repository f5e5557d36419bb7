"""A stage of native predicates: its plan, and the filter that the plan becomes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from anabranch.model import Mesh, Query
from anabranch.policies import Fixed, Policy
from anabranch.spark.attributes import choose, describe, encoder
from anabranch.spark.catalyst import Conditions, conjunction
from anabranch.spark.planning import Planned, as_written, planned
from anabranch.spark.sampling import Sample
from anabranch.spark.stages import Native, Planable

# Columns that are looked at where none are named: they do not travel, so that they cost little.
MOST_ATTRIBUTES = 32


@dataclass(frozen=True)
class Stage:
    """Native predicates, the policy for them, and the attributes that rows may be told apart by."""

    query: Query
    conditions: Conditions
    policy: Policy

    @classmethod
    def of(
        cls,
        source: DataFrame,
        planable: Planable,
        policy: Policy,
        whole: Query,
        named: Sequence[str] | None = None,
    ) -> "Stage":
        """The stage under a policy that is told of the whole query."""
        own = policy.restricted(planable.query, whole)
        query = planable.query
        if policy.uses_attributes and len(planable) > 1:
            reads = [name for native in planable.natives for name in native.reads]
            names = choose(source, named, policy.needs(), reads, MOST_ATTRIBUTES)
            found = tuple(attribute for attribute, _ in describe(source, names))
            query = replace(query, attributes=found)
            own = own.encoded(encoder(source))
        return cls(query, planable.conditions, own)

    def planned(
        self, source: DataFrame, start: Mesh | None, spec: Sample | None, seed: int
    ) -> Planned:
        """The plan to run by: one that is given, or one that a bounded sample gives."""
        if start is not None:
            return Planned(start.check(self.query))
        if isinstance(self.policy, Fixed):
            return Planned(self.policy.bind(self.query).plan())
        if len(self.query) < 2 or spec is None or source.isStreaming or not spec.pays(source):
            return as_written(self.query)
        return planned(source, self.query, self.conditions, self.policy, spec, seed)

    def applied(self, df: DataFrame, mesh: Mesh) -> DataFrame:
        """The rows of `df` that pass all predicates."""
        return df.filter(conjunction(mesh, self.conditions, df)) if len(self.query) else df


def filtered(df: DataFrame, natives: Iterable[Native]) -> DataFrame:
    """By ordinary filters, in this order."""
    for native in natives:
        df = df.filter(native.condition)
    return df
