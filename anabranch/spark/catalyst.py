"""The Catalyst host: a plan for native predicates as filters inside Spark, without Python.

One filter per position of the routes: the predicate that a row's route has there; and one per
predicate where the ends of routes agree on an order. Spark asks the filters of a plan one after the
other, and reads a column when the first of them needs it. Where
routes differ the predicates stand in the branches of a conditional: what branches of a plain
conjunction share Spark would hoist (common-subexpression elimination), and evaluate for all rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from graphlib import CycleError, TopologicalSorter

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model import AtMost, InputError, Leaf, Mesh, OneOf, Query, Tree
from anabranch.model.tree import Node, nodes
from anabranch.spark.attributes import column_of, numbers, possible

Conditions = Mapping[str, Column]  # a predicate's name -> its expression
Order = tuple[str, ...]


def applied(df: DataFrame, mesh: Mesh, conditions: Conditions) -> DataFrame:
    """The rows of `df` that pass all predicates, asked in the order of each row's route."""
    asked = positions(mesh, conditions, df)
    return df.filter(together(mesh.query, asked)) if asked else df


def conjunction(mesh: Mesh, conditions: Conditions, df: DataFrame) -> Column:
    """The same as one expression."""
    return chain(positions(mesh, conditions, df))


def positions(mesh: Mesh, conditions: Conditions, df: DataFrame) -> list[Column]:
    """The filters to ask one after the other, each with what a row's own route asks there."""
    orders, nothing = [route.order for route in mesh.routes], F.lit(True)
    own, shared = own_and_shared(orders)
    routed = router(mesh, df)

    def asked(names: Sequence[str | None]) -> Column:
        each = [nothing if name is None else conditions[name] for name in names]
        return each[0] if len(set(names)) == 1 else routed(each)

    first = [asked([order[position] for order in orders]) for position in range(own)]
    ends = [asked([name if name in order[own:] else None for order in orders]) for name in shared]
    return [*first, *ends]


def own_and_shared(orders: Sequence[Order]) -> tuple[int, Order]:
    """How many positions routes have for themselves, and the order of all that comes after.

    So that as few copies of predicates are needed as can be.

    >>> own_and_shared([("a", "b", "c", "d"), ("b", "a", "c", "d"), ("d", "a", "b", "c")])
    (1, ('a', 'b', 'c', 'd'))
    >>> own_and_shared([("a", "b"), ("b", "a")])
    (2, ())
    """
    length = len(orders[0])
    best, fewest = (length, Order()), sum(len(set(names)) for names in zip(*orders, strict=True))
    for own in range(length - 1, -1, -1):
        shared = _one_order([order[own:] for order in orders])
        if shared is None:
            break
        copies = sum(len({order[i] for order in orders}) for i in range(own)) + len(shared)
        if copies < fewest:
            best, fewest = (own, shared), copies
    return best


def _one_order(ends: Sequence[Order]) -> Order | None:
    """An order of all that has each of these as a part, if there is one."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for end in ends:
        for name, before in zip(end, (None, *end), strict=False):
            sorter.add(name, *([before] if before else []))
    try:
        return tuple(sorter.static_order())
    except CycleError:
        return None


def together(query: Query, positions: Sequence[Column]) -> Column:
    """Of a filter by all of these, one after the other.

    Spark makes the same of several filters, each of which it would have to analyse. Where one
    predicate guards another it is a chain: without generated code Spark asks the right side of an
    AND also where the left side is NULL.
    """
    return chain(positions) if any(query.guards) else reduce(Column.__and__, positions)


def chain(conditions: Sequence[Column]) -> Column:
    """All of these, each asked only where those before it hold; NULL does not hold."""
    *first, whole = conditions
    for condition in reversed(first):
        # With `otherwise(False)` in place of coalesce Spark would make `a AND b` of "if a is not
        # NULL then b else false", and in a filter ask a last.
        whole = F.coalesce(F.when(condition, whole), F.lit(False))
    return whole


def router(mesh: Mesh, df: DataFrame) -> Callable[[Sequence[Column]], Column]:
    """A function that makes of one column per route that of the route that a row of `df` takes.

    It is the route that the row takes in the kernel, too.
    """
    if mesh.classifier is None:
        return lambda columns: columns[0]
    tree = mesh.classifier.each_row
    if not isinstance(tree, Tree):
        raise InputError(
            f"only a tree becomes an expression, this plan has {tree.kind}; Run.plan() of the "
            "policies mesh and auto gives a tree where one tells the classes apart"
        )
    mesh.check(replace(mesh.query, attributes=possible(df)))
    tests = {
        node: _holds(mesh, df, node) for node in nodes(tree.root) if not isinstance(node, Leaf)
    }
    return lambda columns: _branch(tree.root, columns, tests)


def _branch(
    node: Node, columns: Sequence[Column], tests: Mapping[AtMost | OneOf, Column]
) -> Column:
    if isinstance(node, Leaf):
        return columns[node.route]
    yes, no = (_branch(way, columns, tests) for way in (node.yes, node.no))
    return yes if yes is no else F.when(tests[node], yes).otherwise(no)


def _holds(mesh: Mesh, df: DataFrame, question: AtMost | OneOf) -> Column:
    """Whether a test holds; one that is NULL does not, so rows without a value go the other way."""
    name = question.attribute
    # Spark orders NaN above all numbers: it is at most none of them, as in the kernel.
    if isinstance(question, AtMost):
        return numbers(df, [name])[name] <= question.border
    words = mesh.words.get(name, {})
    if all(value in words for value in question.values):
        # Less code than the number that stands for a word, and faster.
        return column_of(df, name).isin(*(words[value] for value in question.values))
    return numbers(df, [name])[name].isin(*question.values)
