"""What stands for the words that attributes have."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from anabranch.model import NULL
from anabranch.model.attribute import LONG_WORD, number_of

Floats = NDArray[np.float64]

# Words of an attribute that are told of; one with more is hardly a class.
MOST_WORDS = 200


def is_words(kind: pa.DataType) -> bool:
    """Whether the values of a column are words."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class Lexicon:
    """Brings words to numbers, and remembers some, so that plans can be told in words.

    >>> lexicon = Lexicon()
    >>> numbers = lexicon.numbers("city", pa.array(["Oslo", None, "Oslo"]))
    >>> numbers.tolist() == [2697009436.0, NULL, 2697009436.0], lexicon.take()
    (True, {'city': {2697009436.0: 'Oslo'}})
    >>> lexicon.take()  # each is told once
    {}
    """

    def __init__(self) -> None:
        self._known: dict[str, set[float]] = {}
        self._untold: dict[str, dict[float, str]] = {}

    def numbers(self, name: str, words: pa.Array) -> Floats:
        """The numbers that stand for the words of an attribute, NULL as `NULL`."""
        encoded = words.dictionary_encode()
        # As bytes: what is no UTF-8 is nobody's business until a predicate reads it.
        spelled: list[bytes] = encoded.dictionary.cast(pa.large_binary()).to_pylist()
        known = [number_of(word) for word in spelled]
        self._remember(name, known, spelled)
        places: NDArray[Any] = encoded.indices.fill_null(len(known)).to_numpy()
        numbers: Floats = np.array([*known, NULL])[places]
        return numbers

    def _remember(self, name: str, numbers: list[float], words: list[bytes]) -> None:
        known = self._known.setdefault(name, set())
        if len(known) >= MOST_WORDS:
            return
        for number, word in zip(numbers, words, strict=True):
            if number not in known and number != LONG_WORD and len(known) < MOST_WORDS:
                known.add(number)
                self._untold.setdefault(name, {})[number] = word.decode(errors="replace")

    def take(self) -> dict[str, dict[float, str]]:
        """What was learned since the last call of this."""
        untold, self._untold = self._untold, {}
        return untold
