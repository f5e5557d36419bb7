"""Routing by source: the eddy, and classes that were told."""

import numpy as np
import pytest

from anabranch.bench.replay import replay
from anabranch.model import Attribute, InputError, Mesh, Operator, Query
from anabranch.policies import ContentKnows, Eddy, resolve
from anabranch.stats import Selectivity


def right_rows(done, drops):
    return bool((done.keep == ~drops.any(axis=1)).all())


@pytest.mark.parametrize("routing", ["lottery", "minimum"])
def test_an_eddy_finds_the_selective_operator(routing):
    drops = np.random.default_rng(0).random((50_000, 4)) < [0.05, 0.1, 0.9, 0.2]
    done = replay(Eddy(routing=routing), drops)
    assert right_rows(done, drops)
    worst = 50_000 * (1 + 0.95 + 0.95 * 0.9 * (1 + 0.8))
    assert done.evaluations < (0.75 if routing == "lottery" else 0.4) * worst
    assert done.plans[0].query.names  # still a plan that can be saved
    assert Mesh.from_dict(done.plans[0].to_dict()) == done.plans[0]


def test_the_lottery_draws_in_inverse_proportion_to_selectivity():
    eddy = Eddy().bind(Query((Operator("a"), Operator("b"))))
    for place, passed in enumerate((200.0, 800.0)):
        known = Selectivity.of(np.array([1_000.0]), np.array([passed]), 0.999, 0.5)
        eddy._selectivity[place] = known
    first = [eddy._draw().routes[i].order[0] for _ in range(300) for i in range(8)]
    assert first.count("a") / len(first) == pytest.approx(0.8, abs=0.03)


def test_bad_eddies_and_what_content_knows_must_be_told():
    with pytest.raises(InputError, match='"lottery" or "minimum"'):
        Eddy(routing="roulette")
    with pytest.raises(InputError, match="alpha"):
        Eddy(alpha=0.0)
    with pytest.raises(InputError, match="must be told"):
        resolve("content_knows")
    with pytest.raises(InputError, match="at least one"):
        ContentKnows("a", {})
    query = Query((Operator("x"), Operator("y")), (Attribute("city"),))
    with pytest.raises(InputError, match=r'no attribute "sity"; did you mean "city"'):
        ContentKnows("sity", {1: ["x", "y"]}).bind(query)
    with pytest.raises(InputError, match="not a valid order"):
        ContentKnows("city", {1: ["x"]}).bind(query)
