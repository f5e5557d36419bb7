"""What profiling has found, and what it may cost."""

import numpy as np
import pytest

from anabranch.model import Attribute, Operator, Query
from anabranch.policies.judge import Judge
from anabranch.policies.knowledge import Knowledge
from anabranch.policies.purse import MOST_THOUGHT, Purse
from anabranch.policies.register import MOST_TAKEN, Register

ATTRIBUTES = (Attribute("a"), Attribute("b"))


def rows_of(count, telling, seed=0):
    """Values of two attributes; one operator drops by the first or by the second."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 4, (count, 2)).astype(float)
    chances = np.where(values[:, telling] == 2, 0.1, 0.9)
    return values, (random.random(count) < chances)[:, None], np.ones((count, 1), bool)


def best(register):
    found = register.best(0, 0.001)
    return str(found.partition) if found else None


def test_new_rows_and_forgetting_change_the_verdict():
    register = Register(ATTRIBUTES, operators=1, partitions=None)
    register.update(*rows_of(800, telling=0))
    assert best(register) == "a"
    register.clear()
    assert best(register) is None
    register.update(*rows_of(800, telling=1))
    assert best(register) == "b"
    register.clear_operator(0)
    assert best(register) is None


def test_values_that_were_never_seen_make_new_partitions():
    register = Register(ATTRIBUTES, operators=1, partitions=None)
    values, passed, met = rows_of(800, telling=0)
    register.update(values, passed, met)
    register.update(values + 10.0, passed, met)
    assert register.best(0, 0.001).partition.values == (0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0)


def test_rows_in_turn_are_all_taken():
    """Every k-th row of a long slice would be of one class."""
    register = Register(ATTRIBUTES, operators=1, partitions=None)
    count = 3 * MOST_TAKEN
    values = np.column_stack([np.arange(count) % 3, np.zeros(count)]).astype(float)
    passed = (values[:, 0] == 1)[:, None]
    register.update(values, passed, np.ones((count, 1), bool))
    assert register.rows(0) == MOST_TAKEN
    assert register.best(0, 0.001).partition.values == (0.0, 1.0, 2.0)


def test_too_few_rows_are_no_verdict():
    query = Query((Operator("o"),), ATTRIBUTES)
    known = Knowledge(query, Register(ATTRIBUTES, 1, None), alpha=0.999)
    judge = Judge(known, 0.001, together=True)
    known.register.update(*rows_of(60, telling=0))
    assert judge.search([0]) == {}
    known.register.update(*rows_of(400, telling=0))
    assert str(judge.search([0])[0].partition) == "a"
    known.overall.update(np.array([10_000]), np.array([9_900]))  # passes nearly all rows
    assert judge.search([0]) == {0: None}


@pytest.mark.parametrize("row_cost", [1e-6, 2e-5])
def test_a_hiccup_while_judging_does_not_end_profiling(row_cost):
    purse = Purse(budget=0.01)
    for took in (0.002, 5.0, 0.002):
        purse.judged = True
        purse.pay(took)
    assert purse.thinking >= -2 * MOST_THOUGHT
    for _ in range(60):
        purse.earn(1.0)
    assert not purse.is_empty(row_cost)


def test_where_rows_are_cheap_time_to_think_is_earned():
    cheap, dear = Purse(budget=0.01), Purse(budget=0.01)
    for purse in (cheap, dear):
        purse.judged = True
        purse.pay(0.004)
    assert cheap.is_empty(row_cost=1e-6)
    assert not dear.is_empty(row_cost=2e-5)
    cheap.earn(2.0)
    assert not cheap.is_empty(row_cost=1e-6)
