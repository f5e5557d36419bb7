"""What numbers of a cost model must be."""

from math import inf
from typing import TypeGuard

from anabranch.model import InputError


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number; True and False are none here."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_selectivity(what: str, value: object) -> None:
    """Refuse a share outside [0, 1]."""
    if not is_number(value) or not 0 <= value <= 1:
        raise InputError(f"{what} is a share from 0 to 1, got {value!r}")


def check_not_negative(what: str, value: object) -> None:
    """Refuse what is below 0, without end, or no number."""
    if not is_number(value) or not 0 <= value < inf:
        raise InputError(f"{what} is a number of at least 0, got {value!r}")
