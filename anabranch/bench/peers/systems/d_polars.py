"""Polars, lazily: functions element by element or on whole columns."""

from functools import reduce
from typing import Any

import numpy as np

from anabranch.bench.peers.peer import Peer, register, unwritten
from anabranch.bench.peers.task import Predicate, Result, Task


@register
class Polars(Peer):
    """One filter with all conditions."""

    name = "Polars"
    module = "polars"

    def cannot(self, task: Task) -> str:
        return unwritten(task, "polars")

    def run(self, task: Task) -> Result:
        import polars as pl

        frame = pl.scan_parquet(task.pattern)
        frame = frame.filter(reduce(lambda a, b: a & b, map(_condition, task.predicates)))
        for lookup in task.lookups:
            table = pl.scan_parquet(str(lookup.path))
            frame = frame.join(table, on=lookup.column, how="semi")
        ids = frame.select("id").collect()["id"].to_numpy()
        return len(ids), int(np.bitwise_xor.reduce(ids))


def _condition(predicate: Predicate) -> Any:
    import polars as pl

    if predicate.polars is not None:
        return predicate.polars()
    judge: Any
    if predicate.batch is not None:
        judge = predicate.batch
        return pl.struct(predicate.columns).map_batches(
            lambda told: pl.Series(
                judge(*[told.struct.field(c).to_arrow() for c in predicate.columns])
            ),
            return_dtype=pl.Boolean,
        )
    judge = predicate.row
    if len(predicate.columns) == 1:
        return pl.col(predicate.columns[0]).map_elements(judge, return_dtype=pl.Boolean)
    return pl.struct(predicate.columns).map_elements(
        lambda row: judge(*row.values()), return_dtype=pl.Boolean
    )
