"""Join predicates as users write them: `"trades.sector = news.sector"`."""

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from anabranch.model import InputError
from anabranch.model.join import Field

EXAMPLE = 'as in on("trades.sector = news.sector")'


def equalities(texts: Sequence[str], names: Sequence[str]) -> list[tuple[Field, Field]]:
    """Pairs of a stream and an expression over it that are to be equal.

    >>> equalities(["a.x = b.x AND lower(a.y) = c.y"], ["a", "b", "c"])
    [(('a', 'a.x'), ('b', 'b.x')), (('a', 'LOWER(a.y)'), ('c', 'c.y'))]
    """
    found = []
    for text in texts:
        for part in _conjuncts(_parsed(text)):
            if not isinstance(part, exp.EQ):
                raise InputError(
                    f'on("{text}"): "{part.sql("spark")}" is no equality; joins need equalities of '
                    f"two streams, {EXAMPLE}; put other conditions into where(...)"
                )
            left, right = (_field(text, side, names) for side in (part.left, part.right))
            if left[0] == right[0]:
                raise InputError(
                    f'on("{text}"): both sides are of {left[0]}; put conditions on one stream into '
                    "where(...)"
                )
            found.append((left, right))
    return found


def columns_in(text: str, names: Sequence[str]) -> dict[str, set[str]] | None:
    """Stream -> the columns of it that an expression reads; None if that cannot be told.

    >>> columns_in("a.x > b.y.z", ["a", "b"]) == {"a": {"x"}, "b": {"y"}}
    True
    >>> columns_in("a", ["a"]) is columns_in("*", ["a"]) is None
    True
    """
    try:
        tree = sqlglot.parse_one(text, read="spark")
    except SqlglotError:
        return None
    found: dict[str, set[str]] = {}
    for column in tree.find_all(exp.Column):
        parts = [part.name for part in column.parts]
        if parts[0] == "event_time" and len(parts) == 1:
            continue
        if len(parts) < 2 or parts[0] not in names:
            return None
        found.setdefault(parts[0], set()).add(parts[1])
    return None if tree.find(exp.Star) else found


def _parsed(text: str) -> exp.Expr:
    if not isinstance(text, str):
        raise InputError(f"on() takes predicates as text, {EXAMPLE}, got {text!r}")
    try:
        return sqlglot.parse_one(text, read="spark")
    except SqlglotError as error:
        raise InputError(f'on("{text}") is not understood, {EXAMPLE}: {error}') from error


def _conjuncts(tree: exp.Expr) -> list[exp.Expr]:
    if isinstance(tree, exp.Paren):
        return _conjuncts(tree.this)
    if isinstance(tree, exp.And):
        return [*_conjuncts(tree.left), *_conjuncts(tree.right)]
    return [tree]


def _field(text: str, side: exp.Expr, names: Sequence[str]) -> Field:
    columns = list(side.find_all(exp.Column))
    streams = {column.parts[0].name for column in columns if len(column.parts) > 1}
    alone = [column.name for column in columns if len(column.parts) == 1]
    if alone or not streams:
        what = f'"{alone[0]}" is of no stream' if alone else "a side reads no column"
        raise InputError(f'on("{text}"): {what}; write stream.column, {EXAMPLE}')
    unknown = sorted(streams - set(names))
    if unknown:
        raise InputError(
            f'on("{text}"): there is no stream "{unknown[0]}"; there are {", ".join(names)}'
        )
    if len(streams) > 1:
        raise InputError(f'on("{text}"): each side must be of one stream, {EXAMPLE}')
    return streams.pop(), side.sql("spark")
