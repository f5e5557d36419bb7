"""What kind of expression a native predicate is: where in a plan may it stand, is it dear?"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pyspark.sql import Column, DataFrame

from anabranch.spark.session import is_connect

# free: runs in the order that a plan says. first: a source can skip files, row groups or partitions
# by it, as long as it is an ordinary filter. pinned: must stay an ordinary filter. random: which
# rows it passes depends on which rows it is asked for.
Place = Literal["free", "first", "pinned", "random"]


class Looked(NamedTuple):
    """Where a predicate may stand, the columns that it reads, and whether it may take microseconds
    where a comparison takes nanoseconds."""

    place: Place
    reads: tuple[str, ...]
    dear: bool


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
# What a processor does in a few steps; a cast may be more than that, and is so common.
LIGHT = {
    *COMPARISONS,
    *CONNECTIVES,
    *("AttributeReference", "Literal", "GetStructField", "GetArrayItem", "Cast", "Alias"),
    *("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod"),
    *("UnaryMinus", "UnaryPositive", "Abs", "Greatest", "Least", "IsNaN", "NaNvl"),
    *("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "ShiftLeft", "ShiftRight"),
    *("Between", "Nvl", "NullIf", "NullIfResult", "Floor", "Ceil", "Round"),
    *("With", "CommonExpressionDef", "CommonExpressionRef"),
    *("If", "CaseWhen", "Coalesce", "Length", "Size", "EndsWith", "Contains"),
    *("Year", "Month", "DayOfMonth", "Hour", "Minute", "DateAdd", "DateSub", "DateDiff"),
}
# With so few leaves an expression is told in one answer of moderate size: Spark's JSON has a branch
# of a CASE twice, one of a CASE within it four times.
MOST_LEAVES = 10
# What Spark itself takes out of a filter, and only out of an ordinary one.
TAKEN_OUT = {"PythonUDF", "ListQuery", "Exists", "ScalarSubquery", "LateralSubquery"}


def looked_at(df: DataFrame, condition: Column) -> Looked:
    """What a predicate on `df`, which must resolve, is."""
    if is_connect(df):
        from anabranch.spark import connect

        return connect.looked_at(df, condition)
    filtered: Any = df.filter(condition)
    analysed = filtered._jdf.queryExecution().analyzed()
    if analysed.nodeName() != "Filter":
        return Looked("pinned", (), False)  # Spark reads more for it than the input has
    expression = analysed.condition()
    root = _read(expression, df)
    nodes = list(root.walk())
    reads = tuple(dict.fromkeys(filter(None, (node.path for node in nodes))))
    dear = any(node.name not in LIGHT for node in nodes)
    if not expression.deterministic():
        return Looked("random", reads, dear)
    if any(node.name in TAKEN_OUT for node in nodes):
        return Looked("pinned", reads, dear)
    simple = _is_simple(root) or _is_partitioned_by(analysed, nodes)
    return Looked("first" if simple else "free", reads, dear)


@dataclass(frozen=True)
class Node:
    """An expression, as far as it matters here."""

    name: str
    told: dict[str, Any]
    children: tuple["Node", ...]

    @property
    def path(self) -> str:
        """The dotted name of a column, or of a field of one; "" for what is neither."""
        if self.name == "GetStructField":
            outer, field = self.children[0].path, self.told.get("name")
            return f"{outer}.{field}" if outer and field else ""
        return str(self.told["name"]) if self.is_attribute else ""

    @property
    def is_attribute(self) -> bool:
        return self.name == "AttributeReference"

    @property
    def constant(self) -> bool:
        """Of what is not random."""
        return not any(node.is_attribute for node in self.walk())

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()


def _read(expression: Any, df: DataFrame) -> Node:
    """In one answer where that may be: to ask for every node takes a millisecond each."""
    jvm: Any = df.sparkSession.sparkContext._jvm
    asks = jvm.org.apache.spark.sql.catalyst.expressions.SubqueryExpression.hasSubquery(expression)
    if asks or expression.collectLeaves().size() > MOST_LEAVES:  # plans are told in full, too
        return _walked(expression)
    return _tree(iter(json.loads(expression.toJSON())))


def _walked(expression: Any) -> Node:
    """Node by node."""
    name = expression.getClass().getSimpleName()
    told: dict[str, Any] = {}
    if name == "AttributeReference":
        told = {"name": expression.name(), "exprId": {"id": expression.exprId().id()}}
    elif name == "GetStructField":
        told = {"name": expression.extractFieldName()}
    children = expression.children()
    # A list of constants, which may be long, says nothing more.
    listed = name == "In" and expression.inSetConvertible()
    count = 1 if listed else children.size()
    return Node(name, told, tuple(_walked(children.apply(i)) for i in range(count)))


def _tree(told: Iterator[dict[str, Any]]) -> Node:
    """From Spark's own list: every node stands before its children.

    >>> told = [{"class": "a.Not", "num-children": 1}, {"class": "a.Literal", "num-children": 0}]
    >>> [node.name for node in _tree(iter(told)).walk()]
    ['Not', 'Literal']
    """
    node = next(told)
    children = tuple(_tree(told) for _ in range(node["num-children"]))
    return Node(node["class"].rpartition(".")[2], node, children)


def _is_simple(node: Node) -> bool:
    """Comparisons of one column each with what is constant."""
    if node.name in CONNECTIVES:
        return all(map(_is_simple, node.children))
    if node.name not in COMPARISONS:
        return False
    varying = [child for child in node.children if not child.constant]
    if node.name in NULLS and varying and varying[0].name == "Cast":
        return False  # no source asks it, and of a filter Spark asks it last
    return len(varying) == 1 and _is_column(varying[0])


def _is_column(node: Node) -> bool:
    while node.name in ("GetStructField", "Cast"):
        node = node.children[0]
    return node.is_attribute


def _is_partitioned_by(plan: Any, nodes: list[Node]) -> bool:
    """Whether it asks for nothing but columns that the files of a source are in folders by."""
    asked = {node.told["exprId"]["id"] for node in nodes if node.is_attribute}
    return bool(asked) and asked <= set(_folders(plan))


def _folders(plan: Any) -> Iterator[int]:
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(i) for i in range(leaves.size())):
        if leaf.nodeName() != "LogicalRelation":
            continue
        relation = leaf.relation()
        if relation.getClass().getSimpleName() != "HadoopFsRelation":
            continue
        names = set(relation.partitionSchema().fieldNames())
        if not names:
            continue
        output = leaf.output()
        for column in (output.apply(i) for i in range(output.size())):
            if column.name() in names:
                yield column.exprId().id()
