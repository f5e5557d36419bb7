import json

import pytest
from hypothesis import given

from anabranch.model import Mesh, Operator, PlanError, Query, load
from tests.strategies import queries

QUERY = Query((Operator("a", ("x",)), Operator("b", ("y",), after=("a",))))


@given(queries())
def test_a_plan_survives_json(query):
    figures = {name: {"cost": 1e-6, "passed": 0.5} for name in query.names}
    mesh = Mesh.single(query, query.written(), figures)
    again = Mesh.from_dict(json.loads(json.dumps(mesh.to_dict())))
    assert again == mesh
    assert str(again) == str(mesh)


def test_save_and_load(tmp_path):
    mesh = Mesh.single(QUERY, ("a", "b"))
    mesh.save(tmp_path / "plan.json")
    assert load(tmp_path / "plan.json") == mesh


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "anabranch-plan/2"}',
        '{"format": "anabranch-plan/1", "operators": [], "routes": [[]], "figures": {}}',
        '{"format": "anabranch-plan/2", "operators": [], "routes": [["a"]], "figures": {}}',
        '{"format": "anabranch-plan/2", "operators": [1], "routes": [[]], "figures": {}}',
        '{"format": "anabranch-plan/2", "operators": [], "routes": [[]], "figures": {"a": {}}}',
        '{"format": "anabranch-plan/2", "operators": [{"name": "a", "columns": [], "after": []}], '
        '"routes": [["a"]], "figures": {"a": {"cost": -1, "passed": 0.5}}}',
        '{"format": "anabranch-plan/2", "operators": [{"name": "a", "columns": [], "after": []}], '
        '"routes": [["a"]], "figures": {"a": {"cost": 1}}}',
        '{"format": "anabranch-plan/2", "operators": [], "routes": [], "figures": {}}',
    ],
)
def test_a_damaged_plan_is_an_error(tmp_path, text):
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(PlanError):
        load(path)


def test_a_missing_plan_and_a_binary_one_are_errors(tmp_path):
    with pytest.raises(PlanError, match="cannot read"):
        load(tmp_path / "none.json")
    (tmp_path / "pickle").write_bytes(b"\x80\x04\x95")
    with pytest.raises(PlanError, match="damaged"):
        load(tmp_path / "pickle")


def test_a_plan_for_another_query_lists_the_differences():
    mesh = Mesh.single(QUERY, ("a", "b"))
    other = Query((Operator("a", ("z",)), Operator("c")))
    with pytest.raises(PlanError) as error:
        mesh.check(other)
    for part in ('"b" is only in the plan', '"c" is only in the query', "columns ['x']", "['z']"):
        assert part in str(error.value)


def test_a_plan_does_not_depend_on_the_order_of_declaration():
    mesh = Mesh.single(QUERY, ("a", "b"))
    turned = Query(tuple(reversed(QUERY.operators)))
    assert mesh.check(turned).routes[0].indexes == (1, 0)


def test_the_printed_form():
    assert str(Mesh.single(QUERY, ("a", "b"))) == "1: a, b"


def cells(table, buckets=4):
    partition = {"kind": "hash", "attribute": "x", "buckets": buckets}
    return {"kind": "cells", "partitions": [partition], "table": table, "pairings": []}


@pytest.mark.parametrize(
    "change",
    [
        {"classifier": cells([[10**30, 0]])},
        {"classifier": cells([[0, 0]], buckets=2**64)},
        {"classifier": {"kind": "windowed", "rows": 1e999, "inner": cells([[0, 0]])}},
        {"attributes": {"x": "os.system"}},
        {"reasons": [{"share": 1, "cost": 1e-6, "alone": 1e-6, "passed": {}}]},
    ],
    ids=str,
)
def test_numbers_that_cannot_be_are_a_damage(change):
    query = Query((Operator("a"), Operator("b")))
    plan = {**Mesh.single(query, ("a", "b")).to_dict(), "attributes": {"x": "number"}}
    Mesh.from_dict({**plan, "classifier": cells([[0, 0]])})  # that is a plan
    with pytest.raises(PlanError, match="damaged plan"):
        Mesh.from_dict({**plan, **change})


def test_a_plan_nested_without_end_is_a_damage(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(PlanError, match="damaged plan"):
        load(path)
    inner = cells([[0, 0]])
    for _ in range(5_000):
        inner = {"kind": "windowed", "rows": 1, "inner": inner}
    plan = Mesh.single(Query((Operator("a"), Operator("b"))), ("a", "b")).to_dict()
    with pytest.raises(PlanError, match="damaged plan"):
        Mesh.from_dict({**plan, "classifier": inner})
