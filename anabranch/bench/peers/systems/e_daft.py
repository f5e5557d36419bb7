"""Daft: functions of a row, or of batches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.bench.peers.peer import Peer, arrow_of, register, unwritten
from anabranch.bench.peers.task import Predicate, Result, Task


@register
class Daft(Peer):
    """One filter after the other, each on a column of its own: of three functions in one filter
    version 0.7.26 loses some."""

    name = "Daft"
    module = "daft"

    def cannot(self, task: Task) -> str:
        return unwritten(task, "daft")

    def run(self, task: Task) -> Result:
        import daft

        frame = daft.read_parquet(task.pattern)
        for predicate in task.predicates:
            frame = frame.with_column("kept", _condition(predicate)).where(daft.col("kept"))
        for lookup in task.lookups:
            table = daft.read_parquet(str(lookup.path))
            frame = frame.join(table, on=lookup.column, how="semi")
        ids = frame.select("id").to_arrow()["id"].to_numpy()
        return len(ids), int(np.bitwise_xor.reduce(ids))


def _condition(predicate: Predicate) -> Any:
    import daft

    if predicate.daft is not None:
        return predicate.daft()
    columns = [daft.col(column) for column in predicate.columns]
    truth = daft.DataType.bool()
    # Not as decorators: where Daft is not installed, they are untyped.
    if predicate.row is not None:
        return daft.func(_of_row(predicate.row), return_dtype=truth)(*columns)
    return daft.func.batch(return_dtype=truth)(_of_batch(arrow_of(predicate)))(*columns)


def _of_row(judge: Callable[..., bool]) -> Callable[..., bool]:
    def by_row(*values: Any) -> bool:
        return bool(judge(*values))

    return by_row


def _of_batch(judge: Callable[..., pa.Array]) -> Callable[..., Any]:
    import daft

    def by_batch(*series: Any) -> Any:
        return daft.Series.from_arrow(judge(*[one.to_arrow() for one in series]))

    return by_batch
