"""What kind of expression a native predicate is: where in a plan may it stand?"""

from collections.abc import Iterator
from typing import Any, Literal

from pyspark.sql import Column, DataFrame

from anabranch.spark.session import is_connect

# free: runs in the order that a plan says. first: a source can skip files, row groups or partitions
# by it, as long as it is an ordinary filter. pinned: must stay an ordinary filter. random: which
# rows it passes depends on which rows it is asked for.
Place = Literal["free", "first", "pinned", "random"]

COMPARISONS = {
    "EqualTo",
    "EqualNullSafe",
    "LessThan",
    "LessThanOrEqual",
    "GreaterThan",
    "GreaterThanOrEqual",
    "In",
    "InSet",
    "IsNull",
    "IsNotNull",
    "StartsWith",
}
NULLS = {"IsNull", "IsNotNull"}
CONNECTIVES = {"And", "Or", "Not"}
# What Spark itself takes out of a filter, and only out of an ordinary one.
TAKEN_OUT = {"PythonUDF", "ListQuery", "Exists", "ScalarSubquery", "LateralSubquery"}


def looked_at(df: DataFrame, condition: Column) -> tuple[Place, tuple[str, ...]]:
    """Where a predicate on `df`, which must resolve, may stand, and the columns that it reads."""
    if is_connect(df):
        from anabranch.spark import connect

        return connect.looked_at(df, condition)
    filtered: Any = df.filter(condition)
    analysed = filtered._jdf.queryExecution().analyzed()
    if analysed.nodeName() != "Filter":
        return "pinned", ()  # Spark reads more for it than the input has, as a hidden column
    expression = analysed.condition()
    nodes = list(_nodes(expression))
    reads = tuple(dict.fromkeys(filter(None, map(_path, nodes))))
    if not expression.deterministic():
        return "random", reads
    if any(node.nodeName() in TAKEN_OUT for node in nodes):
        return "pinned", reads
    simple = _is_simple(expression) or _is_partitioned_by(analysed, expression)
    return "first" if simple else "free", reads


def _path(node: Any) -> str:
    """The dotted name of a column, or of a field of one; "" for what is neither."""
    if node.nodeName() == "GetStructField":
        outer = _path(node.child())
        return f"{outer}.{node.extractFieldName()}" if outer else ""
    return str(node.name()) if node.nodeName() == "AttributeReference" else ""


def _nodes(expression: Any) -> Iterator[Any]:
    yield expression
    for child in _children(expression):
        yield from _nodes(child)


def _children(expression: Any) -> list[Any]:
    children = expression.children()
    return [children.apply(i) for i in range(children.size())]


def _is_simple(expression: Any) -> bool:
    """Comparisons of one column each with what is constant."""
    if expression.nodeName() in CONNECTIVES:
        return all(map(_is_simple, _children(expression)))
    if expression.nodeName() not in COMPARISONS:
        return False
    varying = [child for child in _children(expression) if not child.foldable()]
    if expression.nodeName() in NULLS and varying and varying[0].nodeName() == "Cast":
        return False  # no source asks it, and of a filter Spark asks it last
    return len(varying) == 1 and _is_column(varying[0])


def _is_column(expression: Any) -> bool:
    while expression.nodeName() in ("GetStructField", "Cast"):
        expression = expression.child()
    return bool(expression.nodeName() == "AttributeReference")


def _is_partitioned_by(plan: Any, expression: Any) -> bool:
    """Whether it asks for nothing but columns that the files of a source are in folders by."""
    asked = {node.exprId().id() for node in _nodes(expression) if _is_attribute(node)}
    return bool(asked) and asked <= set(_folders(plan))


def _is_attribute(node: Any) -> bool:
    return bool(node.nodeName() == "AttributeReference")


def _folders(plan: Any) -> Iterator[int]:
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(i) for i in range(leaves.size())):
        if leaf.nodeName() != "LogicalRelation":
            continue
        relation = leaf.relation()
        if relation.getClass().getSimpleName() != "HadoopFsRelation":
            continue
        names = set(relation.partitionSchema().fieldNames())
        output = leaf.output()
        for column in (output.apply(i) for i in range(output.size())):
            if column.name() in names:
                yield column.exprId().id()
