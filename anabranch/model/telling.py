"""Values of attributes as people write them; rows have them as numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from math import floor

from anabranch.model.attribute import LONG_WORD

# Attribute -> number -> the word that it stands for.
Words = Mapping[str, Mapping[float, str]]


@dataclass(frozen=True)
class Telling:
    """What numbers stand for: known words, and the kinds of attributes.

    Examples
    --------
    >>> tell = Telling({"city": {7.0: "Oslo"}}, {"day": "date", "at": "time", "city": "word"})
    >>> [tell("city", 7.0), tell("day", 20_000.5), tell("at", 1.75e15), tell("id", 1234567.0)]
    ['Oslo', '2024-10-04', '2025-06-15 15:06:40', '1234567']
    """

    words: Words = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, attribute: str, value: float) -> str:
        word = self.words.get(attribute, {}).get(value)
        if word is not None:
            return word
        try:
            match self.kinds.get(attribute):
                # No value lies between two days, or two microseconds: a border there is the first.
                case "date":
                    return str(date(1970, 1, 1) + timedelta(days=floor(value)))
                case "time":
                    return str(datetime(1970, 1, 1) + timedelta(microseconds=floor(value)))
                case "word" if value == LONG_WORD:
                    return "(long words)"
        except OverflowError:
            pass  # beyond the years that Python knows: as the number that it is
        return _number(value)


def _number(value: float) -> str:
    """The shortest way to write exactly this number."""
    short = f"{value:g}"
    if float(short) == value:
        return short
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


PLAIN = Telling()


def microseconds(seconds: float) -> str:
    """A time per row, in microseconds, as people write it.

    >>> microseconds(1.2345e-6), microseconds(6.0312e-3)
    ('1.23', '6,031')
    """
    value = 1e6 * seconds
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
