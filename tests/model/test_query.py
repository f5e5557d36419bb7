import pytest
from hypothesis import given

from anabranch.model import InputError, Operator, Query, Route
from tests.strategies import queries


@given(queries(least=1))
def test_the_written_order_is_valid_and_each_operator_waits_for_its_guards(query):
    written = query.written()
    assert query.allows(written)
    for operator in query.operators:
        for guard in operator.after:
            assert written.index(guard) < written.index(operator.name)


def test_guards_are_transitive():
    query = Query((Operator("a"), Operator("b", after=("a",)), Operator("c", after=("b",))))
    assert query.guards == (frozenset(), frozenset({0}), frozenset({0, 1}))


@pytest.mark.parametrize(
    ("operators", "message"),
    [
        ((Operator("a", after=("b",)), Operator("b", after=("a",))), "cycle: "),
        ((Operator("a", after=("a",)),), "cycle: a -> a"),
        ((Operator("a"), Operator("a")), "used twice: a"),
        ((Operator("sig_a"), Operator("b", after=("sig_b",))), 'did you mean "sig_a"'),
    ],
)
def test_bad_queries_are_refused_with_what_is_wrong(operators, message):
    with pytest.raises(InputError, match=message):
        Query(operators)


def test_a_cycle_is_told_in_the_order_of_its_guards():
    circle = (Operator("a", after=("c",)), Operator("b", after=("a",)), Operator("c", after=("b",)))
    with pytest.raises(InputError, match=r"->.*remove one `after`"):
        Query(circle)


@pytest.mark.parametrize("order", [("a",), ("a", "a"), ("b", "a"), ("a", "b", "x")])
def test_a_route_must_hold_each_operator_once_behind_its_guards(order):
    query = Query((Operator("a"), Operator("b", after=("a",))))
    with pytest.raises(InputError, match="not a valid order"):
        Route(query, order)


@pytest.mark.parametrize(
    ("name", "cost"), [("", None), ("a", 0.0), ("a", -1.0), ("a", float("nan"))]
)
def test_bad_operators_are_refused(name, cost):
    with pytest.raises(InputError):
        Operator(name, cost=cost)
