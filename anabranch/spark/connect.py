"""What a Spark Connect session is asked in another way than a classic one: it has no JVM at hand.

What the server thinks of a plan it tells in the words of `explain`.
"""

import re
from functools import lru_cache
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.connect.expressions import (
    ColumnReference,
    LiteralExpression,
    UnresolvedExtractValue,
)

from anabranch.spark.native import Looked

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
SIZE = re.compile(r"sizeInBytes=([0-9.,E+]+) (" + "|".join(UNITS) + ")")
CODE = re.compile(r"maxMethodCodeSize:(-?[0-9]+)")
# Megabytes: Spark takes what it knows nothing of for larger than that.
UNKNOWN = 2.0**40
CONDITION = re.compile(r"^Filter (.*?)\n(?:\+-|:-)", re.DOTALL | re.MULTILINE)
REFERENCE = re.compile(r"([^\s()\[\],.=<>!+*/%-]+)#[0-9]+L?")
# Subqueries, and Python's functions: a call that has a number itself.
TAKEN_OUT = re.compile(r"(subquery|exists|list)#[0-9]+ \[|\)#[0-9]+")
# What is left of comparisons of columns with constants.
CAST, TEST = re.compile(r"cast\(([^()]*) as [^()]*\)"), re.compile(r"is(?:not)?null\(([^()]*)\)")
COMPARED = re.compile(r"\(*(?:NOT )?\(*[^\s()]+#[0-9]+L?(?: (?:=|<=>|<|<=|>|>=|IN) .*)?\)*")
COMPUTED = re.compile(r"\w\(| [-+*/%&|^] ")
# A call of a function, besides some that take as little as a comparison; or a pattern.
DEAR = re.compile(r"(?<!\bcoalesce)(?<!\blength)(?<!\babs)(?<=\w)\(| R?LIKE ")


@lru_cache(8)
def cores(session: SparkSession) -> int:
    """Of the server: the partitions that it makes of a range."""
    return session.range(0, 1 << 16).select(F.spark_partition_id()).distinct().count()


def megabytes(source: DataFrame) -> float:
    """How large the server takes a plan to be."""
    told = SIZE.search(_explained(source, "cost"))
    if told is None:
        return 0.0
    number, unit = float(told[1].replace(",", "")), UNITS.index(told[2])
    size = float(number * 1024.0 ** (unit - 2))
    return size if size < UNKNOWN else 0.0


def code_sizes(df: DataFrame) -> list[int]:
    """Bytes of the methods that the server generates for a plan; -1 if they are too large."""
    return [int(size) for size in CODE.findall(_explained(df, "codegen"))]


def first_rows(df: DataFrame, rows: int, tasks: int) -> DataFrame:
    """As many rows, from the beginning: a Connect session cannot ask for some of each partition."""
    return df.limit(rows * tasks)


def looked_at(df: DataFrame, condition: Column) -> Looked:
    """What a predicate is, by the server's own words."""
    filtered: Any = df.filter(condition)
    told = _explained(filtered, "extended").split("== Analyzed Logical Plan ==")[1]
    found = CONDITION.search(told)
    text = found[1] if found else ""
    known = set(df.columns)
    reads = tuple(dict.fromkeys(name for name in REFERENCE.findall(text) if name in known))
    plain = _plain(text)
    dear = DEAR.search(plain) is not None
    if not _is_deterministic(df, condition):
        return Looked("random", reads, dear)
    if not found or TAKEN_OUT.search(text):
        return Looked("pinned", reads, dear)
    return Looked("first" if _is_simple(plain) else "free", reads, dear)


def _is_deterministic(df: DataFrame, condition: Column) -> bool:
    """Spark itself tells: it refuses to join on what is not."""
    nothing = df.sparkSession.range(0).select(F.lit(0).alias("__anabranch_nothing"))
    try:
        _ = df.join(nothing, condition, "leftsemi").schema
    except AnalysisException as error:
        if error.getCondition() == "INVALID_NON_DETERMINISTIC_EXPRESSIONS":
            return False
        raise
    return True


def _plain(text: str) -> str:
    """Without casts, and questions for NULL.

    >>> _plain("((cast(id#3L as int) = 1) OR isnull(w#4))")
    '((id#3L = 1) OR w#4)'
    """
    return CAST.sub(r"\1", TEST.sub(r"\1", text))


def _is_simple(plain: str) -> bool:
    """Comparisons of one column each with what is constant; in doubt it is not."""
    parts = re.split(r" (?:AND|OR) ", plain)
    return all(
        COMPARED.fullmatch(part) and not COMPUTED.search(part) and len(REFERENCE.findall(part)) == 1
        for part in parts
    )


def is_computed(column: Column) -> bool:
    """Whether a column is more than a column of the input or a field of one."""
    told: Any = column
    expression = told._expr
    while isinstance(expression, UnresolvedExtractValue) and _is_name(expression._extraction):
        expression = expression._child
    return not isinstance(expression, ColumnReference)


def _is_name(extraction: Any) -> bool:
    """Of a field, not the place in an array or the key of a map."""
    return isinstance(extraction, LiteralExpression) and isinstance(extraction._value, str)


def hash_of(column: Column) -> int:
    """Of the expression, equal for equal expressions."""
    told: Any = column
    session: Any = SparkSession.active()
    return hash(told.to_plan(session.client).SerializeToString(deterministic=True))


def _explained(df: Any, mode: str) -> str:
    return str(df._explain_string(mode=mode))
