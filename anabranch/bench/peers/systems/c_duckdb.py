"""DuckDB: Arrow functions; its adaptive filter orders a conjunction while it runs."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from anabranch.bench.peers.peer import THREADS, Peer, arrow_of, register
from anabranch.bench.peers.task import Result, Task


@register
class DuckDB(Peer):
    """One statement; functions are called with chunks of 2,048 rows, one at a time."""

    name = "DuckDB"
    module = "duckdb"

    def run(self, task: Task) -> Result:
        import duckdb  # an extra
        from duckdb.func import PythonUDFType

        with duckdb.connect(config={"threads": THREADS}) as connection:
            parts = []
            for number, predicate in enumerate(task.predicates):
                if predicate.native:
                    parts.append(predicate.duckdb)
                    continue
                types: list[Any] = [_sql_type(task.types[column]) for column in predicate.columns]
                function = f"judge_{number}"
                judge, kind = _chunked(arrow_of(predicate), len(types)), PythonUDFType.ARROW
                connection.create_function(function, judge, types, "BOOLEAN", type=kind)
                parts.append(f"{function}({', '.join(predicate.columns)})")
            for lookup in task.lookups:
                table = f"(SELECT {lookup.column} FROM '{lookup.path}')"
                parts.append(f"{lookup.column} IN {table}")
            row = connection.execute(
                f"SELECT count(*), bit_xor(id) FROM '{task.pattern}' WHERE {' AND '.join(parts)}"
            ).fetchone()
        assert row is not None
        return int(row[0]), int(row[1] or 0)


def _sql_type(kind: pa.DataType) -> str:
    names = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR"}
    return names[kind]


def _chunked(judge: Callable[..., pa.Array], columns: int) -> Callable[..., pa.Array]:
    """DuckDB gives chunked arrays, and counts the parameters."""

    def call(column: pa.ChunkedArray) -> pa.Array:
        return judge(column.combine_chunks())

    def call_two(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.Array:
        return judge(first.combine_chunks(), second.combine_chunks())

    return call if columns == 1 else call_two
