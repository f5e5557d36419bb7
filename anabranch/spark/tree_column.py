"""A decision tree as one Spark expression: the route of each row, without Python."""

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from anabranch.model import AtMost, InputError, Leaf, Mesh, Tree
from anabranch.model.tree import Node
from anabranch.spark.attributes import numbers, possible

Numbers = Callable[[str], Column]  # an attribute's name -> the number that stands for its value


def route_column(mesh: Mesh, df: DataFrame) -> Column:
    """The number of the route that each row of `df` takes, from 0, as the kernel would say."""
    if mesh.classifier is None:
        return F.lit(0)
    if not isinstance(mesh.classifier, Tree):
        raise InputError(
            f"only a tree becomes an expression, this plan has {mesh.classifier.kind}; Run.plan() "
            "of the policies mesh and auto gives a tree where one tells the classes apart"
        )
    mesh.check(replace(mesh.query, attributes=possible(df)))
    columns = numbers(df, mesh.classifier.attributes)
    return _route(mesh.classifier.root, columns.__getitem__)


def _route(node: Node, number: Numbers) -> Column:
    """A test that is NULL does not hold, so rows without a value go the other way."""
    if isinstance(node, Leaf):
        return F.lit(node.route)
    value = number(node.attribute)
    # Spark orders NaN above all numbers: it is at most none of them, as in the kernel.
    holds = value <= node.border if isinstance(node, AtMost) else value.isin(*node.values)
    return F.when(holds, _route(node.yes, number)).otherwise(_route(node.no, number))
