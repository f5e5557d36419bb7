"""By which attributes a plan routes its operators."""

from anabranch.model import AtMost, Attribute, Cells, Leaf, Mesh, Operator, Query, Route, Tree
from anabranch.model import ValuePartition as Values

QUERY = Query((Operator("a"), Operator("b")), (Attribute("x"),))
ONE, OTHER = Route(QUERY, ("a", "b")), Route(QUERY, ("b", "a"))


def test_a_tree_routes_every_operator():
    tree = Tree(AtMost("x", Leaf(0), Leaf(1), 3.0))
    assert Mesh(QUERY, (ONE, OTHER), {}, tree).routed_by() == {"a": "x", "b": "x"}


def test_rows_that_are_only_counted_are_not_routed():
    cells = Cells((Values("x", (1.0,)),), ())
    assert Mesh(QUERY, (ONE,), {}, cells).routed_by() == {}
