"""Selections on one stream: the order that lets most rows through per second.

Viglas and Naughton, SIGMOD 2002, Figure 1: a slow predicate behind a fast one gets fewer rows to be
slow on. Each has a thread of its own, as joins have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import permutations

from anabranch.cost.checks import check_not_negative, check_selectivity
from anabranch.cost.rate import selection_rate
from anabranch.model import InputError

MOST_SELECTIONS = 8


@dataclass(frozen=True)
class Selection:
    """A predicate on one stream: the share of rows that pass, seconds per row."""

    name: str
    selectivity: float
    cost: float = 0.0

    def __post_init__(self) -> None:
        check_selectivity(f"selectivity of {self.name}", self.selectivity)
        check_not_negative(f"cost of {self.name}", self.cost)


def output_rate(rate: float, order: Sequence[Selection]) -> float:
    """Rows per second behind all of them."""
    return reduce(lambda r, one: selection_rate(r, one.cost, one.selectivity), order, rate)


def best_pipeline(rate: float, selections: Sequence[Selection]) -> tuple[Selection, ...]:
    """The order with the highest output rate; of equal ones that which is busy least.

    >>> slow, fast = Selection("slow", 0.1, 1 / 50), Selection("fast", 0.1)
    >>> [one.name for one in best_pipeline(500, [slow, fast])]
    ['fast', 'slow']
    """
    if len(selections) > MOST_SELECTIONS:
        raise InputError(
            f"up to {MOST_SELECTIONS} selections on a stream are ordered, got {len(selections)}"
        )
    return min(
        permutations(selections), key=lambda order: (-output_rate(rate, order), _busy(rate, order))
    )


def _busy(rate: float, order: Sequence[Selection]) -> float:
    """Seconds of work per second."""
    spent = 0.0
    for one in order:
        spent += rate * one.cost
        rate = selection_rate(rate, one.cost, one.selectivity)
    return spent
