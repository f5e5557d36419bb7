"""The Catalyst host: a plan for native predicates as filters inside Spark, without Python.

One filter per position of the routes: the predicate that a row's route has there. Spark asks the
filters of a plan one after the other, and reads a column when the first of them needs it. Where
routes differ the predicates stand in the branches of a conditional: what branches of a plain
conjunction share Spark would hoist (common-subexpression elimination), and evaluate for all rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model import AtMost, InputError, Leaf, Mesh, OneOf, Tree
from anabranch.model.tree import Node
from anabranch.spark.attributes import numbers, possible

Conditions = Mapping[str, Column]  # a predicate's name -> its expression
Numbers = Mapping[str, Column]  # an attribute's name -> the number that stands for its value


def applied(df: DataFrame, mesh: Mesh, conditions: Conditions) -> DataFrame:
    """The rows of `df` that pass all predicates, asked in the order of each row's route."""
    for position in positions(mesh, conditions, df):
        df = df.filter(position)
    return df


def conjunction(mesh: Mesh, conditions: Conditions, df: DataFrame) -> Column:
    """The same as one expression."""
    return chain(positions(mesh, conditions, df))


def positions(mesh: Mesh, conditions: Conditions, df: DataFrame) -> list[Column]:
    """Of each position of the routes, the predicate that a row's own route has there."""
    columns = []
    for names in zip(*(route.order for route in mesh.routes), strict=True):
        if len(set(names)) == 1:
            columns.append(conditions[names[0]])
        else:
            columns.append(by_route(mesh, df, [conditions[name] for name in names]))
    return columns


def chain(conditions: Sequence[Column]) -> Column:
    """All of these, each asked only where those before it hold; NULL does not hold."""
    *first, whole = conditions
    for condition in reversed(first):
        whole = F.when(condition, whole).otherwise(F.lit(False))
    return whole


def by_route(mesh: Mesh, df: DataFrame, columns: Sequence[Column]) -> Column:
    """Of one column per route, that of the route that a row of `df` takes in the kernel, too."""
    if mesh.classifier is None:
        return columns[0]
    tree = mesh.classifier.each_row
    if not isinstance(tree, Tree):
        raise InputError(
            f"only a tree becomes an expression, this plan has {tree.kind}; Run.plan() of the "
            "policies mesh and auto gives a tree where one tells the classes apart"
        )
    mesh.check(replace(mesh.query, attributes=possible(df)))
    return _branch(tree.root, numbers(df, tree.attributes), columns)


def _branch(node: Node, number: Numbers, columns: Sequence[Column]) -> Column:
    if isinstance(node, Leaf):
        return columns[node.route]
    yes, no = (_branch(way, number, columns) for way in (node.yes, node.no))
    return yes if yes is no else F.when(_holds(node, number), yes).otherwise(no)


def _holds(question: AtMost | OneOf, number: Numbers) -> Column:
    """Whether a test holds; one that is NULL does not, so rows without a value go the other way."""
    value = number[question.attribute]
    # Spark orders NaN above all numbers: it is at most none of them, as in the kernel.
    if isinstance(question, AtMost):
        return value <= question.border
    return value.isin(*question.values)
