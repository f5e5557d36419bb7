"""How large the methods are that Spark generates for a plan.

The JVM does not compile a method of over 8,000 bytes (-XX:-DontCompileHugeMethods is off): it would
be interpreted, row by row.
"""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from anabranch.spark.session import is_connect

# Other operators of the same stage share the method.
MOST_BYTES = 7_000
TOO_LARGE = 1 << 16


def largest_method(df: DataFrame) -> int | None:
    """Bytes of the largest method of the whole-stage code of a plan; 0 if it has no such code.

    A plan that Spark adapts while it runs has no code before. A classic session makes the code of
    the plan as it stands; a Connect server tells of none, which is None.
    """
    if is_connect(df):
        from anabranch.spark import connect

        return _largest(connect.code_sizes(df), None)
    frame: Any = df
    jvm, queried = frame.sparkSession._jvm, frame._jdf.queryExecution()
    plan = jvm.org.apache.spark.sql.execution.QueryExecution.prepareExecutedPlan(
        queried.sparkSession(), queried.sparkPlan()
    )
    debug = getattr(getattr(jvm.org.apache.spark.sql.execution.debug, "package$"), "MODULE$")
    stages = debug.codegenStringSeq(plan)
    return _largest([stages.apply(i)._3().maxMethodCodeSize() for i in range(stages.size())], 0)


def _largest(sizes: Sequence[int], none: int | None) -> int | None:
    """Of code that is too large for any class Spark does not know the size."""
    return max((size if size >= 0 else TOO_LARGE for size in map(int, sizes)), default=none)
