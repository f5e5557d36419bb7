"""Bounded samples of an input, read before a job."""

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from anabranch.model import InputError
from anabranch.spark.session import cores, is_connect

# At least so many rows by each task.
LEAST_ROWS = 100
# A task reads so many times the rows that it takes.
READ_FACTOR = 5
# Places all over the input that rows are taken from, at most; megabytes that Spark reads as one.
PLACES, READ_AT_ONCE = 16, 128
MEGABYTE = 1 << 20
# How many times as large an input must be where all predicates are light.
LIGHT_FACTOR = 4
# In a shorter time nothing reliable is found.
LEAST_SECONDS = 0.5
# Spark takes what it knows nothing of for larger than that.
UNKNOWN = 2.0**60
# Formats whose files tell how many rows they have, and files up to which they are asked.
COUNTED, MOST_FILES = ("parquet", "orc"), 500


@dataclass(frozen=True)
class Sample:
    """How much a batch run may look at, before the job, to order native predicates.

    Parameters
    ----------
    rows
        Rows that are looked at.
    seconds
        Seconds that are spent on timing the predicates, at most.
    least_megabytes
        An input that has less for each core, by Spark's own estimate, is not looked at: its
        predicates run as written. Where no predicate can be dear, as comparisons and arithmetic,
        it is four times as much.
    share
        Of what the job is expected to take, by a glance at a thousand rows, timing takes no more
        than this share; if that is too short a time, predicates run as written. None: `seconds`,
        however short the job is.
    """

    rows: int = 8_000
    seconds: float = 8.0
    least_megabytes: float = 128.0
    share: float | None = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.rows, int) or self.rows < LEAST_ROWS:
            raise InputError(f"a sample has at least {LEAST_ROWS} rows, got rows={self.rows!r}")
        if not self.seconds > 0:
            raise InputError(f"a sample takes more than 0 seconds, got seconds={self.seconds!r}")
        if not self.least_megabytes >= 0:
            raise InputError(f"least_megabytes is at least 0, got {self.least_megabytes!r}")
        if self.share is not None and not 0 < self.share <= 1:
            raise InputError(f"share is above 0 and at most 1, or None, got {self.share!r}")

    def pays(self, source: DataFrame, dear: bool) -> bool:
        """Whether an input is large enough for a glance, if predicates may be dear."""
        least = self.least_megabytes * (1 if dear else LIGHT_FACTOR)
        return megabytes(source) >= cores(source.sparkSession) * least

    def worth(self, job: float) -> float:
        """Seconds that timing may take before a job of so many; 0 if too few.

        >>> Sample().worth(50.0), Sample().worth(3.0), Sample(share=None).worth(3.0)
        (5.0, 0.0, 8.0)
        """
        if self.share is None:
            return self.seconds
        affordable = min(self.seconds, self.share * job)
        return affordable if affordable >= LEAST_SECONDS else 0.0


DEFAULT_SAMPLE = Sample()


def megabytes(source: DataFrame) -> float:
    """How large Spark takes an input to be: what it reads, as far as that is known."""
    if is_connect(source):
        from anabranch.spark import connect

        return connect.megabytes(source)
    plan: Any = source
    leaves = plan._jdf.queryExecution().optimizedPlan().collectLeaves()
    sizes = [leaves.apply(i).stats().sizeInBytes() for i in range(leaves.size())]
    return sum(size for size in (float(str(size)) for size in sizes) if size < UNKNOWN) / MEGABYTE


def tells_its_rows(source: DataFrame) -> bool:
    """Whether the input is files, not too many of them, that say themselves how many rows they
    have: to count these, Spark reads no row."""
    if is_connect(source):
        return False
    frame: Any = source
    plan = frame._jdf.queryExecution().optimizedPlan()
    while plan.nodeName() == "Project":
        plan = plan.child()
    if plan.nodeName() != "LogicalRelation":
        return False
    relation = plan.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    tells = relation.fileFormat().toString().lower() in COUNTED
    return tells and len(source.inputFiles()) <= MOST_FILES


def heads(source: DataFrame, rows: int, seed: int) -> DataFrame:
    """Some rows of partitions all over the input, all columns.

    Of each place the rows are among the first ones there: Spark reads little further.
    """
    parts = max(cores(source.sparkSession), megabytes(source) / READ_AT_ONCE)
    places = max(1, min(PLACES, int(parts), rows // LEAST_ROWS))
    each = -(-rows // places)
    read = _first_rows(source.coalesce(places), READ_FACTOR * each, places)
    return read.sample(1 / READ_FACTOR, seed)


def sample(source: DataFrame, inputs: list[Column], rows: int, seed: int) -> DataFrame:
    """Some rows from all over the input, by few tasks that do not read much further than that.

    Spark alone reads them: a Python worker that does not read its input to the end is lost, and the
    next one has everything to load anew.
    """
    named = [column.alias(f"input{i}") for i, column in enumerate(inputs)]
    narrow = source.select(*(named or [F.lit(True).alias("input0")]))
    # Neighbouring partitions go to one task, which reads the first of them.
    tasks = tasks_for(source, rows)
    read = _first_rows(narrow.coalesce(tasks), READ_FACTOR * -(-rows // tasks), tasks)
    return read.orderBy(F.rand(seed)).limit(rows)


def tasks_for(source: DataFrame, rows: int) -> int:
    """How many tasks so few rows are worth."""
    return max(1, min(cores(source.sparkSession), rows // LEAST_ROWS))


def _first_rows(df: DataFrame, rows: int, parts: int) -> DataFrame:
    """The first so many rows of each partition: the lower half of what DataFrame.limit does."""
    if is_connect(df):
        from anabranch.spark import connect

        return connect.first_rows(df, rows, parts)
    limited: Any = df.limit(rows)
    local = limited._jdf.queryExecution().analyzed().child()
    jvm: Any = df.sparkSession.sparkContext._jvm
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(limited._jdf.sparkSession(), local)
    return ClassicDataFrame(made, df.sparkSession)
