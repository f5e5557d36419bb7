"""How many ways each join key is split, so that few rows need copies.

F. Afrati, J. Ullman: Optimizing Joins in a Map-Reduce Environment, EDBT 2010: cells are the product
of shares, one per key; a row is sent to every cell that agrees with the keys that it has.
"""

from collections.abc import Iterator, Mapping
from math import prod

from anabranch.model.join import JoinQuery

Shares = tuple[int, ...]  # one per key


def copies(query: JoinQuery, shares: Shares, stream: str) -> int:
    """To how many cells a row of a stream goes.

    >>> from anabranch.model.join import Stream
    >>> query = JoinQuery.on(
    ...     [Stream(name, 1) for name in "abc"],
    ...     [(("a", "x"), ("b", "x")), (("b", "y"), ("c", "y"))],
    ... )
    >>> [copies(query, (4, 2), name) for name in "abc"]
    [2, 1, 4]
    """
    return prod(share for key, share in enumerate(shares) if key not in query.keys_of[stream])


def best_shares(query: JoinQuery, cells: int, rates: Mapping[str, float]) -> Shares:
    """The shares with as many cells that copy fewest rows, by the rates of the streams.

    >>> from anabranch.model.join import Stream
    >>> pairs = [(("a", "x"), ("b", "x")), (("b", "y"), ("c", "y"))]
    >>> query = JoinQuery.on([Stream(name, 1) for name in "abc"], pairs)
    >>> best_shares(query, 4, {"a": 100.0, "b": 1.0, "c": 1.0})  # rows of a have no copies
    (4, 1)
    """

    def sent(shares: Shares) -> float:
        return sum(rates.get(name, 1.0) * copies(query, shares, name) for name in query.names)

    return min(_factors(cells, len(query.keys)), key=lambda shares: (sent(shares), max(shares)))


def _factors(product: int, count: int) -> Iterator[Shares]:
    """All ways to write a number as a product of so many."""
    if count == 1:
        yield (product,)
        return
    for first in range(1, product + 1):
        if product % first == 0:
            for others in _factors(product // first, count - 1):
                yield (first, *others)
