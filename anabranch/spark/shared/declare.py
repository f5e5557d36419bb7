"""Several queries in one pass, as users declare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame

from anabranch.model import InputError, closest
from anabranch.spark.rounds.handle import Listener
from anabranch.spark.shared.run import SharedRounds, SharedRun, WriteAll
from anabranch.spark.shared.union import check_same_input, united
from anabranch.spark.stages import Declared

POLICIES = ("auto", "fixed")


class Queries:
    """Queries over one DataFrame, by name. Predicates that are the same run once per row."""

    def __init__(self, source: DataFrame, declared: Mapping[str, Sequence[Declared]]) -> None:
        self._source = source
        self._union = united(declared)

    def run(self, policy: str = "auto", seed: int = 0) -> SharedRun:
        """Compile all queries into one pass over a batch or a stream; nothing has run yet.

        `policy` is "auto", which learns the order of the shared predicates, or "fixed".
        """
        return SharedRun(self._source, self._union, _learns(policy), _seed(seed))

    def stream(
        self,
        write: WriteAll,
        checkpoint: str,
        policy: str = "auto",
        trigger: str | Mapping[str, Any] | None = None,
        seed: int = 0,
        listener: Listener | None = None,
    ) -> SharedRounds:
        """Run in rounds: `write(dfs, round_id)` is given the rows of each query, by name.

        Every round serves every query, from one pass. A round that fails is given again, with the
        same number.
        """
        return SharedRounds(
            self._source,
            self._union,
            write,
            checkpoint,
            _learns(policy),
            trigger,
            _seed(seed),
            listener,
        )

    def explain(self) -> str:
        """Which operators are shared by which queries."""
        lines = []
        asked = {
            name: (*own.natives, *self._union.shared.members[name])
            for name, own in self._union.own.items()
        }
        operators = [*self._union.natives, *self._union.shared.query.names]
        for name in operators:
            askers = [query for query, names in asked.items() if name in names]
            if askers:
                kind = "native" if name in self._union.natives else "Python"
                lines.append(f"{name} ({kind}): {', '.join(askers)}")
        return "\n".join(lines)


def declared_together(queries: Mapping[str, tuple[DataFrame, Sequence[Declared]]]) -> Queries:
    """Queries by name, each with its DataFrame."""
    if not queries:
        raise InputError("queries() takes queries by name, as in queries(fraud=q1, spam=q2)")
    check_same_input({name: df for name, (df, _) in queries.items()})
    source = next(iter(queries.values()))[0]
    return Queries(source, {name: declared for name, (_, declared) in queries.items()})


def _learns(policy: object) -> bool:
    if policy not in POLICIES:
        raise InputError(
            f"queries share one order: policy={policy!r}; {closest(str(policy), POLICIES)}"
        )
    return policy == "auto"


def _seed(seed: object) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise InputError(f"seed is a whole number of at least 0, got {seed!r}")
    return seed
