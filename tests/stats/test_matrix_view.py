import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anabranch.stats import MatrixView
from tests.strategies import costs, profiles, queries


def brute_force(bits, order):
    """V[i, j] by its definition in Section 4.2.1."""
    n = len(order)
    view = np.zeros((n, n), int)
    for i in range(n):
        for j in range(i, n):
            for row in bits:
                if not any(row[order[k]] for k in range(i)) and row[order[j]]:
                    view[i, j] += 1
    return view


def invariant(view, query, costs, alpha=1.0):
    """The Greedy Invariant, for operators that the guards allow at the position."""
    ratios = brute_force_ratios(view, costs)
    for i in range(len(view.order)):
        placed = set(view.order[:i])
        for j in range(i, len(view.order)):
            if query.guards[view.order[j]] <= placed and ratios[i, i] < alpha * ratios[i, j]:
                return i
    return None


def brute_force_ratios(view, costs):
    return view.values / costs[list(view.order)]


@given(st.data())
def test_incremental_equals_definition(data):
    query = data.draw(queries(least=1))
    order = tuple(query.index(name) for name in query.written())
    first, second = (data.draw(profiles(len(query))) for _ in range(2))
    view = MatrixView(query, order)
    view.insert(first)
    view.insert(second)
    upper = np.triu(view.values)
    assert (upper == np.triu(brute_force(np.concatenate([first, second]), order))).all()
    view.delete(first)
    assert (np.triu(view.values) == np.triu(brute_force(second, order))).all()


@given(st.data())
def test_a_violation_is_found_where_the_invariant_fails(data):
    query = data.draw(queries(least=1))
    order = tuple(query.index(name) for name in query.written())
    bits, cost = data.draw(profiles(len(query))), data.draw(costs(len(query)))
    alpha = data.draw(st.sampled_from([1.0, 0.9, 0.5]))
    view = MatrixView(query, order)
    view.insert(bits)
    assert view.violation(cost, alpha) == invariant(view, query, cost, alpha)


@given(st.data())
def test_correction_restores_the_invariant_and_keeps_the_view_exact(data):
    query = data.draw(queries(least=1))
    order = tuple(query.index(name) for name in query.written())
    bits, cost = data.draw(profiles(len(query))), data.draw(costs(len(query)))
    view = MatrixView(query, order)
    view.insert(bits)
    violated = view.violation(cost)
    if violated is None:
        return
    view.correct(violated, bits, cost)
    assert query.allows(tuple(query.names[i] for i in view.order))
    assert invariant(view, query, cost) is None
    assert (np.triu(view.values) == np.triu(brute_force(bits, view.order))).all()


def test_example_5_of_the_paper_moves_the_last_filter_to_the_front():
    """F3, F1, F2, F4 becomes F4, F3, F1, F2 once F4 drops most."""
    from tests.simulate import plain_query

    query = plain_query(4)
    view = MatrixView(query, (2, 0, 1, 3))
    bits = np.array(
        [[0, 0, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 1], [1, 0, 0, 0]], bool
    )
    view.insert(bits)
    assert view.violation(np.ones(4)) == 0
    view.correct(0, bits, np.ones(4))
    assert view.order == (3, 2, 0, 1)
    assert view.violation(np.ones(4)) is None
