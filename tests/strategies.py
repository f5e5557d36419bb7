"""Hypothesis strategies for queries and profiles."""

import numpy as np
from hypothesis import strategies as st

from anabranch.model import Operator, Query


@st.composite
def queries(draw: st.DrawFn, least: int = 0, most: int = 6) -> Query:
    """Operators with guards that can only point back in a hidden order, so never in a circle."""
    count = draw(st.integers(least, most))
    hidden = draw(st.permutations(range(count)))
    operators = {}
    for place, i in enumerate(hidden):
        earlier = [f"op{j}" for j in hidden[:place]]
        guards = draw(st.sets(st.sampled_from(earlier), max_size=2)) if earlier else set()
        operators[i] = Operator(f"op{i}", (f"x{i}",), tuple(sorted(guards)))
    return Query(tuple(operators[i] for i in range(count)))


@st.composite
def profiles(draw: st.DrawFn, operators: int, rows: int = 40) -> np.ndarray:
    """Bits of dropped rows."""
    size = draw(st.integers(0, rows))
    seed = draw(st.integers(0, 2**32 - 1))
    rates = draw(st.lists(st.floats(0.05, 0.95), min_size=operators, max_size=operators))
    return np.random.default_rng(seed).random((size, operators)) < np.array(rates)


def costs(operators: int) -> st.SearchStrategy[np.ndarray]:
    one = st.floats(0.1, 10.0)
    return st.lists(one, min_size=operators, max_size=operators).map(np.array)
