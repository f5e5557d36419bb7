"""Attributes of rows, and how their values are partitioned into classes.

A value reaches the kernel as a 64-bit float: numbers, dates and times as they are, words as a whole
number that stands for them. A NULL is `NULL`. It decides nothing but routes, so that a number that
happens to equal it does no harm.
"""

import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import isfinite
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from anabranch.model.errors import InputError

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

NULL = -sys.float_info.max
# Bytes beyond which a word is too long to be a class, and the number of all of these.
LONGEST_WORD, LONG_WORD = 64, -1.0
# NULL, NaN and the two infinities have partitions of their own, behind the others.
SPECIAL = 4
# Borders up to which comparing with all of them beats a binary search.
MOST_COMPARED = 64
MOST_BUCKETS = 1_000_000
# A multiplier whose bits are well mixed (the golden ratio in 64 bits), as in Fibonacci hashing.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


Kind = Literal["number", "word", "date", "time"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Attribute:
    """A column that rows may be told apart by: its (dotted) name, and what its numbers stand for.

    A date is the days since 1970, a time the microseconds.
    """

    name: str
    kind: Kind = "number"


def number_of(word: bytes) -> float:
    """The number that stands for a word, spelled in UTF-8; Spark's own `crc32` gives the same.

    >>> number_of(b"Oslo"), number_of(b"x" * 100) == LONG_WORD
    (2697009436.0, True)
    """
    return float(zlib.crc32(word)) if len(word) <= LONGEST_WORD else LONG_WORD


@dataclass(frozen=True)
class Partition(ABC):
    """Maps an attribute's values to partitions 0 .. size - 1."""

    kind: ClassVar[str]
    attribute: str

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """The attributes whose values `code` takes."""

    @property
    @abstractmethod
    def singles(self) -> tuple["SinglePartition", ...]:
        """The partitions of single attributes that it is made of."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many partitions there are."""

    @abstractmethod
    def code(self, columns: Sequence[Floats]) -> Codes:
        """The partition of each row, from one column per attribute."""

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}

    def __str__(self) -> str:
        return self.attribute


@dataclass(frozen=True)
class SinglePartition(Partition):
    """Partitions the values of one attribute."""

    @property
    def attributes(self) -> tuple[str, ...]:
        return (self.attribute,)

    @property
    def singles(self) -> tuple["SinglePartition", ...]:
        return (self,)

    @property
    @abstractmethod
    def regular(self) -> int:
        """Partitions of ordinary values."""

    @property
    def size(self) -> int:
        return self.regular + SPECIAL

    @abstractmethod
    def place(self, values: Floats) -> Codes:
        """The partition of each value that is neither NULL nor NaN nor infinite."""

    def code(self, columns: Sequence[Floats]) -> Codes:
        values = columns[0]
        ordinary = np.isfinite(values) & (values != NULL)
        if ordinary.all():
            return self.place(values)
        codes = np.full(len(values), self.regular, np.int64)
        codes[np.isnan(values)] += 1
        codes[values == -np.inf] += 2
        codes[values == np.inf] += 3
        codes[ordinary] = self.place(values[ordinary])
        return codes


@dataclass(frozen=True)
class HashPartition(SinglePartition):
    """Values share `buckets` by their hash: for discrete attributes of many values.

    >>> part = HashPartition("city", buckets=24)
    >>> codes = part.code([np.array([1.0, 2.0, 1.0, np.nan, NULL])])
    >>> codes[0] == codes[2], codes[3:].tolist()
    (np.True_, [25, 24])
    """

    kind: ClassVar[str] = "hash"
    buckets: int = 24

    def __post_init__(self) -> None:
        if not 1 <= self.buckets <= MOST_BUCKETS:
            raise InputError(
                f"a hash partition has from 1 to {MOST_BUCKETS:,} buckets, got {self.buckets}"
            )

    @property
    def regular(self) -> int:
        return self.buckets

    def place(self, values: Floats) -> Codes:
        bits = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
        with np.errstate(over="ignore"):
            mixed = ((bits ^ (bits >> np.uint64(32))) * GOLDEN) >> np.uint64(32)
        return (mixed % np.uint64(self.buckets)).astype(np.int64)


def borders_passed(borders: Sequence[float], values: Floats, beyond: np.ufunc) -> Codes:
    """How many of the rising borders each value lies beyond.

    With few borders it is faster to compare all of them than to search: nothing to predict for the
    processor.
    """
    if len(borders) > MOST_COMPARED:
        side: Literal["left", "right"] = "left" if beyond is np.greater else "right"
        return np.searchsorted(np.array(borders), values, side=side).astype(np.int64)
    passed, count = np.empty(len(values), bool), np.zeros(len(values), np.uint8)
    for border in borders:
        beyond(values, border, out=passed)
        count += passed
    return count.astype(np.int64)


@dataclass(frozen=True)
class RangePartition(SinglePartition):
    """Ranges between borders: for continuous attributes. What lies outside falls into the ends.

    >>> RangePartition("size", (10.0, 20.0)).code([np.array([3, 10, 15, 99, np.inf])]).tolist()
    [0, 1, 1, 2, 6]
    """

    kind: ClassVar[str] = "range"
    borders: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not all(map(isfinite, self.borders)) or not all(
            a < b for a, b in pairwise(self.borders)
        ):
            raise InputError(f"borders must rise, got {self.borders}")

    @property
    def regular(self) -> int:
        return len(self.borders) + 1

    def place(self, values: Floats) -> Codes:
        return borders_passed(self.borders, values, np.greater_equal)


@dataclass(frozen=True)
class ValuePartition(SinglePartition):
    """One partition per known value and one for all others: for discrete attributes of few values.

    >>> ValuePartition("day", (1.0, 7.0)).code([np.array([7.0, 3.0, 1.0])]).tolist()
    [1, 2, 0]
    """

    kind: ClassVar[str] = "values"
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.values))
        if not self.values or not rising or not all(map(isfinite, self.values)):
            raise InputError(f"known values must rise and there must be one, got {self.values}")

    @property
    def regular(self) -> int:
        return len(self.values) + 1

    def place(self, values: Floats) -> Codes:
        known = np.array(self.values)
        codes = borders_passed(self.values, values, np.greater)
        strange = known[np.minimum(codes, len(known) - 1)] != values
        codes[strange] = len(known)
        return codes


@dataclass(frozen=True)
class PairPartition(Partition):
    """The partitions of two attributes taken together.

    >>> both = PairPartition("a, b", ValuePartition("a", (0.0,)), ValuePartition("b", (0.0,)))
    >>> both.attributes, both.size
    (('a', 'b'), 36)
    >>> both.code([np.array([0.0, 1.0]), np.array([1.0, 0.0])]).tolist()
    [1, 6]
    """

    kind: ClassVar[str] = "pair"
    first: SinglePartition
    second: SinglePartition

    @property
    def attributes(self) -> tuple[str, ...]:
        return (*self.first.attributes, *self.second.attributes)

    @property
    def singles(self) -> tuple[SinglePartition, ...]:
        return (self.first, self.second)

    @property
    def size(self) -> int:
        return self.first.size * self.second.size

    def code(self, columns: Sequence[Floats]) -> Codes:
        one, two = self.first.code(columns[:1]), self.second.code(columns[1:])
        return one * self.second.size + two

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "first": self.first.to_dict(), "second": self.second.to_dict()}


def pair_of(first: SinglePartition, second: SinglePartition) -> PairPartition:
    """Two single partitions as one."""
    return PairPartition(f"{first.attribute}, {second.attribute}", first, second)


def partition_from(data: Mapping[str, Any]) -> Partition:
    """Read back what `to_dict` made."""
    if data["kind"] == PairPartition.kind:
        return pair_of(_single_from(data["first"]), _single_from(data["second"]))
    return _single_from(data)


def _single_from(data: Mapping[str, Any]) -> SinglePartition:
    match data["kind"]:
        case "hash":
            return HashPartition(str(data["attribute"]), int(data["buckets"]))
        case "range":
            return RangePartition(str(data["attribute"]), tuple(map(float, data["borders"])))
        case "values":
            return ValuePartition(str(data["attribute"]), tuple(map(float, data["values"])))
        case kind:
            raise ValueError(f"no partition of the kind {kind!r}")
