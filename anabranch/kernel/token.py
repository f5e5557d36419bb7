"""R-tokens: the stack of operators that a ruster has yet to visit (Query Mesh, Section 5.2).

The top comes first. Where the order is uncertain, several operators stand side by side, and any of
them may be next (Section 5.4).
"""

from functools import lru_cache

Token = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=4096)
def taken(token: Token, operator: int) -> Token:
    """What is left when one of the operators on top was visited.

    >>> show(taken(((2,), (3, 1), (4,)), 2))
    '<3|1,4>'
    >>> show(taken(((3, 1), (4,)), 3)), show(taken(((3, 1, 4),), 3))
    ('<1,4>', '<1|4>')
    """
    top, *rest = token
    left = tuple(other for other in top if other != operator)
    return (left, *rest) if left else tuple(rest)


def show(token: Token) -> str:
    """As the paper writes it.

    >>> show(((2,), (3, 1), (4,)))
    '<2,3|1,4>'
    """
    return "<" + ",".join("|".join(map(str, side)) for side in token) + ">"
