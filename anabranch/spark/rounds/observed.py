"""What a round tells from inside the job that runs it, through `observe`.

Rows are counted where they come in and where they go out. Some rounds ask all native predicates of
some rows: these rows stay in the flow until they are told of behind the filters, where few rows are
left, so that a row that is not sampled costs one draw.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model import NULL
from anabranch.model.telling import Words
from anabranch.spark.attributes import numbers, spelled
from anabranch.spark.catalyst import chain
from anabranch.spark.look import guarded, without_guards
from anabranch.spark.native_stage import Stage
from anabranch.spark.stopwatch import stamps
from anabranch.stats import Reservoir

# Column names that no user has: they are dropped before the user sees the schema.
LUCKY, FIELD = "__anabranch_lucky", "__anabranch_sampled"
# Steps of the draws.
STEPS = 1 << 20
# Rows that a partition tells of, at most about; how many there are is known only afterwards.
MOST_ROWS = 1_000
# The bits of an id that Spark counts a partition's rows by.
PLACES = (1 << 33) - 1


class Count:
    """Rows that passed one place; of several actions in a round the one that read most."""

    def __init__(self) -> None:
        self.rows: int | None = None  # nothing told yet

    def deliver(self, row: Any) -> None:
        self.rows = max(self.rows or 0, int(row[0]))


def counted(df: DataFrame, name: str) -> DataFrame:
    """`df`, whose rows are told of under a name."""
    return df.observe(name, F.count(F.lit(1)).alias("rows"))


class Told:
    """The rows sampled in a round; of several actions in it the one that told of most."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.sample = self._empty(1)
        self.words: Words = {}

    def _empty(self, rows: int) -> Reservoir:
        return Reservoir(len(self._stage.query.attributes), len(self._stage.query), rows)

    def deliver(self, row: Any) -> None:
        letters = [bytes(letter) for letter in row[0]]
        if len(letters) > len(self.sample):
            self.sample = self._empty(len(letters))
            rows = [json.loads(letter) for letter in letters]
            self.sample.update(*_read(self._stage, rows))
            self.words = _words(self._stage, rows)


class Sampler:
    """Asks all native predicates of some rows of a round. Its expressions are made once."""

    def __init__(self, stage: Stage, source: DataFrame) -> None:
        known = numbers(source, [attribute.name for attribute in stage.query.attributes])
        fields = [value.alias(f"v{i}") for i, value in enumerate(known.values())]
        fields += stamps([*guarded(stage.query, stage.conditions), F.lit(True)])
        self._fields = fields
        self._words = {
            name: spelled(source, name).alias(f"w{i}") for i, name in _word_attributes(stage)
        }
        letter = F.to_json(FIELD, {"ignoreNullFields": "true"}).cast("binary")
        self._letters = F.collect_list(letter).alias("sample")
        # A predicate whose guard does not hold drops nothing; the guard does.
        verdicts = chain([F.col(FIELD)[f"b{i}"] for i in range(len(stage.query))])
        self._passes = F.when(F.col(LUCKY), verdicts).otherwise(F.lit(True))

    def applied(
        self,
        df: DataFrame,
        positions: Sequence[Column],
        rate: float,
        seed: int,
        name: str,
        unspelled: Iterable[str] = (),
    ) -> DataFrame:
        """The rows of `df` that pass the filters; a share of about `rate` of all is told of.

        `unspelled` are attributes whose words are told, too.
        """
        # A text is no part of the code that Spark generates, and there are few rates: the code is
        # that of rounds before, and compiled.
        share = 2.0 ** round(math.log2(rate))
        place = F.monotonically_increasing_id()
        draw = F.pmod(F.xxhash64(F.lit(f"round {seed}"), place), F.lit(STEPS))
        early = place.bitwiseAND(F.lit(PLACES)) < MOST_ROWS / share
        df = df.withColumn(LUCKY, (draw < share * STEPS) & early)
        # In one conditional: of several filters Spark would make one that asks a predicate also
        # where its guard is NULL.
        df = df.filter(F.when(F.col(LUCKY), F.lit(True)).otherwise(chain(positions)))
        words = [self._words[attribute] for attribute in unspelled]
        asked = F.when(F.col(LUCKY), F.struct(*self._fields, *words))
        df = df.withColumn(FIELD, asked).observe(name, self._letters)
        return df.filter(self._passes).drop(LUCKY, FIELD)


def _word_attributes(stage: Stage) -> list[tuple[int, str]]:
    """Place and name of the attributes that are words."""
    return [(i, a.name) for i, a in enumerate(stage.query.attributes) if a.kind == "word"]


def _words(stage: Stage, rows: Sequence[Mapping[str, Any]]) -> Words:
    """What the numbers of the rows told stand for."""
    return {
        name: {float(row[f"v{i}"]): row[f"w{i}"] for row in rows if f"w{i}" in row}
        for i, name in _word_attributes(stage)
    }


def _read(stage: Stage, rows: Sequence[Mapping[str, Any]]) -> tuple[Any, Any, Any]:
    """Values, drops and seconds of the rows told."""
    attributes, count = len(stage.query.attributes), len(stage.query)
    values = np.array(
        [[float(row.get(f"v{i}", NULL)) for i in range(attributes)] for row in rows]
    ).reshape(len(rows), attributes)
    passed = np.array([[bool(row.get(f"b{i}")) for i in range(count)] for row in rows])
    read = np.array([[row[f"t{i}"] for i in range(count + 2)] for row in rows], float)
    seconds = np.diff(read, axis=1) * 1e-9
    least = float(np.median(seconds[:, -1]))  # to read the clock
    taken = np.maximum(seconds[:, :-1] - least, 0.0)
    return values, ~passed, without_guards(stage.query, passed, taken)
