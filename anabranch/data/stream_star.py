"""Stream-Star: a stream that joins N dimension tables, after the paper on content-based routing.

Bizarro, Babu, DeWitt, Widom: Content-Based Routing, VLDB 2005, Sections 6.1 and 6.3. Whether a row
finds a partner in dimension j depends on its class, attribute `attrC`, by a table of selectivities;
eight other attributes (constants, sequences, foreign keys) tell nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from anabranch.model import Attribute, InputError

Floats = NDArray[np.float64]
Bits = NDArray[np.bool_]

DIMENSION_ROWS = 10_000
STREAM_ROWS = 100_000
AGGREGATE = 0.05  # share of the rows that pass all joins
CLASS = "attrC"
UNRELATED = ("const1", "const2", "seq1", "seq2", "fk1", "fk2", "fk3", "fk4")


def skewed(joins: int, own: float, aggregate: float = AGGREGATE) -> Floats:
    """Table 3: a class per join, selectivity A for its own and B for the others.

    A * B^(N - 1) is the share of rows that pass all joins.

    >>> skewed(2, 0.25).tolist()
    [[0.25, 0.2], [0.2, 0.25]]
    """
    if joins < 2 or not aggregate <= own <= 1:
        raise InputError(f"at least 2 joins and A from {aggregate} to 1, got {joins} and {own}")
    other = (aggregate / own) ** (1 / (joins - 1))
    return np.where(np.eye(joins, dtype=bool), own, other)


def random_table(joins: int, seed: int, aggregate: float | None = None) -> Floats:
    """Random selectivities (Section 6.4), or random ones with a given product (Section 6.5).

    >>> random_table(3, seed=1, aggregate=0.2).prod(axis=1).round(6).tolist()
    [0.2, 0.2, 0.2]
    """
    random = np.random.default_rng(seed)
    if aggregate is None:
        return random.random((joins, joins))
    # Shares of the logarithm, so that every row has the product asked for.
    shares = random.dirichlet(np.ones(joins), joins)
    return np.asarray(aggregate**shares)


@dataclass(frozen=True)
class StreamStar:
    """A stream for a class/operator table of selectivities.

    >>> star = StreamStar(skewed(2, 0.05), rows=20_000)
    >>> [round(float(x), 2) for x in 1 - star.drops()[star.classes() == 0].mean(axis=0)]
    [0.05, 1.0]
    """

    table: Floats  # class, operator -> selectivity
    rows: int = STREAM_ROWS
    seed: int = 0

    @property
    def joins(self) -> int:
        return int(self.table.shape[1])

    @property
    def operators(self) -> list[str]:
        return [f"d{j + 1}" for j in range(self.joins)]

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The class and the eight unrelated attributes."""
        return tuple(Attribute(name) for name in (CLASS, *UNRELATED))

    def classes(self) -> NDArray[np.int64]:
        return self._random(0).integers(0, len(self.table), self.rows)

    def drops(self) -> Bits:
        """Whether each row fails to find a partner in each dimension."""
        passes = self.table[self.classes()]
        return np.asarray(self._random(1).random(passes.shape) >= passes)

    def _random(self, which: int) -> np.random.Generator:
        # Far from the small seeds by which rows are sampled: equal ones would give equal draws.
        return np.random.default_rng([20_050_830, self.seed, which])

    def columns(self) -> dict[str, Any]:
        """The stream: the class, foreign keys of the dimensions, unrelated attributes.

        Keys of the dimensions are even, so that neither a range nor a hash of the key tells whether
        it has a partner.
        """
        random = self._random(2)
        drops = self.drops()
        columns: dict[str, Any] = {CLASS: self.classes()}
        for j in range(self.joins):
            key = 2 * random.integers(0, DIMENSION_ROWS, self.rows)
            columns[f"fkd{j + 1}"] = key + drops[:, j]
        steps = np.arange(self.rows)
        values: Sequence[Any] = (
            np.full(self.rows, 7),
            np.full(self.rows, 0),
            steps,
            steps % 1000,
            *(random.integers(0, size, self.rows) for size in (10, 100, 1_000, 10_000)),
        )
        return columns | dict(zip(UNRELATED, values, strict=True))

    def stream(self, spark: SparkSession, partitions: int = 2) -> DataFrame:
        """The stream as a DataFrame, in generation order within each partition."""
        df = spark.createDataFrame(pa.table(self.columns()))
        return df.repartitionByRange(partitions, "seq1").sortWithinPartitions("seq1")

    def dimension(self, spark: SparkSession, join: int) -> DataFrame:
        """A dimension table: its key, named as the stream's foreign key, and a payload."""
        keys = 2 * np.arange(DIMENSION_ROWS)
        return spark.createDataFrame(pa.table({f"fkd{join + 1}": keys, f"name{join + 1}": keys}))

    def best_orders(self) -> dict[int, list[str]]:
        """For each class the operators by rising selectivity: what Content-Knows is told."""
        names = self.operators
        return {
            which: [names[j] for j in np.argsort(row, kind="stable")]
            for which, row in enumerate(self.table)
        }
