"""A stage of native predicates: its plan, and the filter that the plan becomes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from anabranch.model import Mesh, Query
from anabranch.policies import Fixed, Policy
from anabranch.spark.attributes import choose, describe, encoder
from anabranch.spark.catalyst import Conditions, applied
from anabranch.spark.look import Look
from anabranch.spark.planning import Planned, planned
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

    def given(self, start: Mesh | None) -> Planned | None:
        """A plan that needs no look at the input, if there is one."""
        if start is not None:
            return Planned(start.check(self.query))
        if isinstance(self.policy, Fixed):
            return Planned(self.policy.bind(self.query).plan())
        return None

    def planned(self, look: Look) -> Planned:
        """The plan that a look at the input gives."""
        return planned(look, self.query, self.conditions, self.policy)

    def applied(self, df: DataFrame, mesh: Mesh) -> DataFrame:
        """The rows of `df` that pass all predicates."""
        return applied(df, mesh, self.conditions)


def filtered(df: DataFrame, natives: Iterable[Native]) -> DataFrame:
    """By ordinary filters, in this order."""
    for native in natives:
        df = df.filter(native.condition)
    return df
