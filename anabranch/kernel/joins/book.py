"""What a cell writes down: which chunks its windows are made of, and what it has seen and learned.

The book is small and is written with every micro-batch; chunks are written once, and now and then
neighbours are put together, so that a window is made of few.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from anabranch.model import PlanError

FORMAT = "anabranch-join-1"
# A chunk holds at most this share of a window, so that it is soon behind it as a whole.
SHARE = 8
# Neighbours become one unless the older has so many times the rows.
RATIO = 2
MOST_ROWS = 500_000
# How rows are spread, which is the same join.
SPREAD = {"cells", "shares"}


@dataclass(frozen=True)
class Chunk:
    """Rows that are kept together: their number, their first and last time, their size."""

    name: str
    rows: int
    first: int
    last: int
    bytes: int

    @staticmethod
    def fresh_name() -> str:
        """One that no other attempt to write the same rows has."""
        return uuid.uuid4().hex[:16]


@dataclass
class Book:
    """The state of a cell, except for the rows themselves.

    `identity` is what the query was when the state was begun: another query cannot go on with it.
    `name` is new with every page, so that a worker's copy of the windows is known to be this one.
    """

    identity: Mapping[str, Any]
    name: str = ""
    seen: dict[str, int] = field(default_factory=dict)  # stream -> the greatest time
    chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    plans: dict[str, Any] = field(default_factory=dict)  # source -> the plan, and whose it is

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_json(cls, text: str) -> "Book":
        """Read back what `to_json` made.

        >>> book = Book({"on": "a.x = b.x"}, chunks={"a": [Chunk("n", 1, 0, 9, 50)]})
        >>> Book.from_json(book.to_json()) == book
        True
        """
        data = json.loads(text)
        if data.pop("format", None) != FORMAT:
            raise PlanError(f'not the state of a join: the "format" must be "{FORMAT}"')
        chunks = {
            stream: [Chunk(**chunk) for chunk in chunks]
            for stream, chunks in data.pop("chunks").items()
        }
        return cls(**data, chunks=chunks)

    def check(self, identity: Mapping[str, Any]) -> None:
        """Refuse the state of another query, and say in what it differs."""
        other = [
            what
            for what in sorted({*self.identity, *identity})
            if self.identity.get(what) != identity.get(what)
        ]
        lines = [
            f"{what} was {self.identity.get(what)!r}, is {identity.get(what)!r}" for what in other
        ]
        if not lines:
            return
        advice = (
            f"run(cells={self.identity.get('cells')}) with the rates= of before goes on with it"
        )
        raise PlanError(
            "this checkpoint belongs to another join: " + "; ".join(lines) + "; rows are kept by "
            "cell and window: " + (advice if set(other) <= SPREAD else "use a new checkpoint")
        )

    def turn(self) -> None:
        """Begin a new page."""
        self.name = Chunk.fresh_name()

    def expired(self, stream: str, since: int) -> list[Chunk]:
        """Take out the chunks that are from before a time as a whole."""
        chunks = self.chunks.get(stream, [])
        gone = [chunk for chunk in chunks if chunk.last < since]
        self.chunks[stream] = [chunk for chunk in chunks if chunk.last >= since]
        return gone

    def neighbours(self, stream: str, window: int) -> int:
        """How many of the newest chunks to put together into one; 0 for none.

        >>> book = Book({}, chunks={"a": [Chunk("x", 10, 0, 5, 1), Chunk("y", 8, 6, 9, 1)]})
        >>> book.neighbours("a", window=800), book.neighbours("a", window=8)
        (2, 0)
        """
        chunks = self.chunks.get(stream, [])
        if len(chunks) < 2:
            return 0
        whole, count = chunks[-1], 1
        for chunk in reversed(chunks[:-1]):
            both = replace(
                whole,
                rows=whole.rows + chunk.rows,
                first=min(whole.first, chunk.first),
                last=max(whole.last, chunk.last),
            )
            if chunk.rows > RATIO * whole.rows or both.rows > MOST_ROWS:
                break
            if both.last - both.first > max(window // SHARE, 1):
                break
            whole, count = both, count + 1
        return count if count > 1 else 0
