"""A sample of native predicates' rows inside the job that runs them, through `observe`."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from anabranch.model import NULL
from anabranch.spark.attributes import numbers
from anabranch.spark.look import guarded
from anabranch.spark.native_stage import Stage
from anabranch.spark.stopwatch import stamps
from anabranch.stats import Reservoir

# A column name that no user has: it is dropped before the user sees the schema.
FIELD = "__anabranch_sampled"


class Observed:
    """The sampled rows of one round, and how many rows there were."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.rows = 0
        self.sample = Reservoir(len(stage.query.attributes), len(stage.query), 10_000)

    def deliver(self, row: Any) -> None:
        """What an action tells: the rows sampled, as JSON, and the number of all."""
        letters, self.rows = list(row[0]), self.rows + int(row[1])
        if letters:
            self.sample.update(*_read(self._stage, map(bytes, letters)))


def observed(df: DataFrame, stage: Stage, rate: float, seed: int, name: str) -> DataFrame:
    """`df`, of which a share `rate` of the rows is asked all predicates, with the time it takes."""
    known = numbers(df, [attribute.name for attribute in stage.query.attributes])
    fields = [value.alias(f"v{i}") for i, value in enumerate(known.values())]
    fields += stamps([*guarded(stage.query, stage.conditions), F.lit(True)])
    told = F.when(F.rand(seed) < rate, F.to_json(F.struct(*fields)).cast("binary"))
    metrics = F.collect_list(FIELD).alias("sample"), F.count(F.lit(1)).alias("rows")
    return df.withColumn(FIELD, told).observe(name, *metrics).drop(FIELD)


def _read(stage: Stage, letters: Iterable[bytes]) -> tuple[Any, Any, Any]:
    """Values, drops and seconds of the rows told."""
    rows = [json.loads(letter) for letter in letters]
    attributes, count = len(stage.query.attributes), len(stage.query)
    values = np.array(
        [[float(row.get(f"v{i}", NULL)) for i in range(attributes)] for row in rows]
    ).reshape(len(rows), attributes)
    passed = np.array([[bool(row.get(f"b{i}")) for i in range(count)] for row in rows])
    read = np.array([[row[f"t{i}"] for i in range(count + 2)] for row in rows], float)
    seconds = np.diff(read, axis=1) * 1e-9
    least = float(np.median(seconds[:, -1]))  # to read the clock
    return values, ~passed, np.maximum(seconds[:, :-1] - least, 0.0)
