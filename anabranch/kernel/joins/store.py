"""Where a cell keeps its book and its chunks."""

from typing import Protocol


class Store(Protocol):
    """The state of one cell."""

    def book(self) -> str | None: ...
    def write_book(self, text: str) -> None: ...
    def chunk(self, stream: str, name: str) -> bytes: ...
    def write_chunk(self, stream: str, name: str, data: bytes) -> None: ...
    def remove_chunk(self, stream: str, name: str) -> None: ...


class InMemory:
    """A store for replays and tests; as in Spark, what is not committed leaves no trace.

    Examples
    --------
    >>> store = InMemory()
    >>> store.write_book("page 1")
    >>> store.commit()
    >>> store.write_book("page 2")
    >>> store.roll_back()
    >>> store.book()
    'page 1'
    """

    def __init__(self) -> None:
        self.text: str | None = None
        self.chunks: dict[tuple[str, str], bytes] = {}
        self.commit()

    def commit(self) -> None:
        """Keep what was written."""
        self._kept = self.text, dict(self.chunks)

    def roll_back(self) -> None:
        """Forget what was written since the last commit."""
        self.text, self.chunks = self._kept[0], dict(self._kept[1])

    def book(self) -> str | None:
        return self.text

    def write_book(self, text: str) -> None:
        self.text = text

    def chunk(self, stream: str, name: str) -> bytes:
        return self.chunks[stream, name]

    def write_chunk(self, stream: str, name: str, data: bytes) -> None:
        self.chunks[stream, name] = data

    def remove_chunk(self, stream: str, name: str) -> None:
        del self.chunks[stream, name]
