"""Errors that say what is valid."""

from collections.abc import Iterable
from difflib import get_close_matches


class AnabranchError(Exception):
    """Base of every error that Anabranch raises on purpose."""


class InputError(AnabranchError, ValueError):
    """The query, the policy or an argument cannot be used as given."""


class PlanError(AnabranchError, ValueError):
    """A saved plan is damaged or belongs to another query."""


def closest(name: str, valid: Iterable[str]) -> str:
    """List the valid names, the nearest one first as a question.

    >>> closest("agredy", ["fixed", "agreedy"])
    'did you mean "agreedy"? valid: fixed, agreedy'
    >>> closest("x", [])
    'valid: none'
    """
    names = [str(item) for item in valid]
    listing = f"valid: {', '.join(names) or 'none'}"
    near = get_close_matches(str(name), names, n=1)
    return f'did you mean "{near[0]}"? {listing}' if near else listing
