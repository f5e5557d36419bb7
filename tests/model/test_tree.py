"""Trees: the same route as a walk row by row, through JSON and other labels too."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model import (
    NULL,
    AtMost,
    Attribute,
    Leaf,
    Mesh,
    OneOf,
    Operator,
    PlanError,
    Query,
    Reason,
    Route,
    Tree,
    Windowed,
)
from anabranch.model.telling import Telling

QUERY = Query((Operator("a"), Operator("b"), Operator("c")))
ROUTES = tuple(Route.of(QUERY, order) for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0)))
NUMBERS = [-2.0, 0.0, 1.0, 3.0, 7.0]


@st.composite
def trees(draw, depth=4):
    if depth == 0 or draw(st.booleans()):
        return Leaf(draw(st.integers(0, 2)))
    yes, no = draw(trees(depth - 1)), draw(trees(depth - 1))
    name = draw(st.sampled_from("xyz"))
    if draw(st.booleans()):
        return AtMost(name, yes, no, draw(st.sampled_from(NUMBERS)))
    values = draw(st.sets(st.sampled_from(NUMBERS), min_size=1))
    return OneOf(name, yes, no, tuple(sorted(values)))


def walk(node, row):
    """One row, one question at a time, as SQL answers it."""
    while not isinstance(node, Leaf):
        value = row[node.attribute]
        known = value != NULL and not np.isnan(value)
        if isinstance(node, AtMost):
            holds = known and value <= node.border
        else:
            holds = known and value in node.values
        node = node.yes if holds else node.no
    return node.route


def columns(rows, seed=0):
    random = np.random.default_rng(seed)
    choices = np.array([*NUMBERS, 0.5, -9.0, 99.0, NULL, np.nan, np.inf, -np.inf])
    return {name: choices[random.integers(0, len(choices), rows)] for name in "xyz"}


def routes(tree, values, rows):
    return tree.classify(values.__getitem__, rows, np.random.default_rng(0)).routes.tolist()


@given(trees())
def test_all_rows_at_once_as_row_by_row(root):
    values, tree = columns(60), Tree(root)
    expected = [walk(root, {n: values[n][i] for n in "xyz"}) for i in range(60)]
    assert routes(tree, values, 60) == expected
    mesh = Mesh(QUERY, ROUTES, {}, tree)
    again = Mesh.from_dict(json.loads(json.dumps(mesh.to_dict())))
    assert again == mesh
    assert routes(tree.mapped(lambda r: r), values, 60) == expected


@given(trees())
def test_other_labels_change_only_where_rows_go(root):
    values, tree = columns(60), Tree(root)
    told = tree.classify(values.__getitem__, 60, np.random.default_rng(0))
    turned = {cell: (route + 1) % 3 for cell, route in zip(told.cells, told.routes, strict=True)}
    other = tree.labelled(turned)
    assert routes(other, values, 60) == [(r + 1) % 3 for r in told.routes.tolist()]
    assert other.routes_of(list(turned)).tolist() == list(turned.values())


def test_what_is_pruned_and_how_it_reads():
    same = AtMost("x", Leaf(1), Leaf(1), 3.0)
    tree = Tree(OneOf("y", same, AtMost("x", Leaf(0), Leaf(2), 512.0), (1.0, 7.0)))
    small = tree.mapped(lambda r: r)
    assert len(small.leaves) == 3
    words = {"y": {1.0: "energy", 7.0: "agri"}}
    assert small.rules([str(r) for r in ROUTES], Telling(words)) == [
        "if y in {agri, energy}: b, a, c",
        "if y not in {agri, energy} and x <= 512: a, b, c",
        "if y not in {agri, energy} and x > 512: c, b, a",
    ]


def test_numbers_are_written_exactly_and_by_their_kind():
    ids = Tree(OneOf("id", Leaf(0), Leaf(1), (1234567.0, 1234568.0)))
    assert ids.rules(["a", "b"])[0] == "if id in {1234567, 1234568}: a"
    kinds = (Attribute("day", "date"), Attribute("at", "time"))
    later = AtMost("at", Leaf(1), Leaf(2), 1_700_000_000_000_001.5)
    mesh = Mesh(Query(QUERY.operators, kinds), ROUTES, {}, Tree(AtMost("day", Leaf(0), later, 9.5)))
    assert mesh.rules() == [
        "if day <= 1970-01-10: a, b, c",
        "if day > 1970-01-10 and at <= 2023-11-14 22:13:20.000001: b, a, c",
        "if day > 1970-01-10 and at > 2023-11-14 22:13:20.000001: c, b, a",
    ]
    assert Mesh.from_dict(json.loads(json.dumps(mesh.to_dict()))).rules() == mesh.rules()


def test_a_plan_whose_attributes_are_of_other_kinds_is_refused_with_all_differences():
    tree = Tree(AtMost("x", Leaf(0), OneOf("y", Leaf(1), Leaf(0), (3.0,)), 1.0))
    here = Query(QUERY.operators, (Attribute("x", "date"), Attribute("y", "word")))
    plan = Mesh.from_dict(Mesh(here, ROUTES[:2], {}, tree).to_dict())
    assert plan.check(here).rules() == plan.rules()
    other = Query((Operator("a"), Operator("b"), Operator("d")), (Attribute("x", "time"),))
    with pytest.raises(PlanError) as error:
        plan.check(other)
    for told in ('"c" is only in the plan', '"d" is only in', "x, a date there and a time here"):
        assert told in str(error.value)
    assert "by y, which this run does not have" in str(error.value)


def test_words_and_reasons_travel_with_the_plan_but_no_other_values():
    tree = Tree(OneOf("y", Leaf(0), Leaf(1), (7.0,)))
    reasons = tuple(Reason(0.5, 1e-6, 2e-6, {"a": 0.1, "b": 0.2, "c": 0.3}) for _ in range(2))
    mesh = Mesh(QUERY, ROUTES[:2], {}, tree, {}, reasons)
    told = mesh.worded({"y": {7.0: "agri", 8.0: "secret"}, "z": {1.0: "secret"}})
    text = json.dumps(told.to_dict())
    assert "agri" in text
    assert "secret" not in text
    assert Mesh.from_dict(json.loads(text)) == told
    assert told.rules() == ["if y in {agri}: a, b, c", "if y not in {agri}: b, a, c"]
    with pytest.raises(ValueError, match="a reason for each"):
        Mesh(QUERY, ROUTES, {}, Tree(Leaf(0)), {}, reasons)


def nested(depth):
    node = {"route": 0}
    for _ in range(depth):
        node = {"attribute": "x", "at_most": 1.0, "yes": node, "no": {"route": 0}}
    return node


@pytest.mark.parametrize(
    "root",
    [
        {},
        {"route": 7},
        {"route": "os.system"},
        {"route": 1e999},
        {"attribute": "x", "at_most": 10**400, "yes": {"route": 0}, "no": {"route": 0}},
        {"attribute": "x", "at_most": float("inf"), "yes": {"route": 0}, "no": {"route": 1}},
        {"attribute": "x", "one_of": [], "yes": {"route": 0}, "no": {"route": 1}},
        {"attribute": "x", "at_most": 1.0, "yes": {"route": 0}},
        nested(40),
    ],
    ids=str,
)
def test_a_damaged_tree_is_an_error(root):
    data = {
        **Mesh(QUERY, ROUTES, {}, Tree(Leaf(0))).to_dict(),
        "classifier": {"kind": "tree", "root": root},
    }
    with pytest.raises(PlanError):
        Mesh.from_dict(data)


def test_one_row_speaks_for_a_window():
    alike = Windowed(Tree(AtMost("x", Leaf(0), Leaf(1), 5.0)), rows=3)
    values = {"x": np.array([9.0, 1.0, 1.0, 2.0, 9.0, 9.0, 7.0])}
    told = alike.classify(values.__getitem__, 7, np.random.default_rng(0))
    assert told.routes.tolist() == [1, 1, 1, 0, 0, 0, 1]
    mesh = Mesh(QUERY, ROUTES, {}, alike)
    assert Mesh.from_dict(mesh.to_dict()) == mesh
