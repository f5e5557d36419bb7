"""Workers agree: what each saw too little of, all saw enough of."""

import numpy as np

from anabranch.data.mesh_streams import xor
from anabranch.model import Mesh, Tree
from anabranch.policies import Opinion, QueryMesh
from anabranch.policies.query_mesh.agree import agree, costs_of, merged
from anabranch.policies.query_mesh.evidence import Evidence
from anabranch.policies.query_mesh.repair import expected
from anabranch.policies.query_mesh.wire import sample_to_dict
from anabranch.stats import Reservoir

COSTS = np.full(6, 5e-6)


def opinion(rows, seed, seen=None, overhead=1e-9):
    stream = xor(rows, seed)
    sample = Reservoir(4, 6, rows, seed)
    sample.update(stream.values().astype(float), stream.drops(), np.tile(COSTS, (rows, 1)))
    evidence = {"sample": sample_to_dict(sample), "classifying": 1e-7, "overhead": overhead}
    plan = Mesh.single(stream.query, stream.query.written())
    return Opinion(seen or rows, plan, evidence)


def test_one_mesh_from_many_small_samples():
    query = xor(1).query
    alone = agree(query, [opinion(40, 0)])
    assert alone is not None
    assert len(alone.routes) == 1
    told = agree(query, [opinion(40, seed) for seed in range(30)])
    assert isinstance(told.classifier, Tree)
    assert set(told.classifier.attributes) == {"A1", "A2"}
    assert len(told.reasons) == len(told.routes)
    fresh = xor(5_000, seed=99)
    sample = Reservoir(4, 6, 5_000)
    sample.update(fresh.values().astype(float), fresh.drops(), np.ones((5_000, 6)))
    oracle = fresh.oracle(fresh.drops()) / 5_000 * 5e-6
    assert expected(told, sample, COSTS) < 1.05 * oracle
    assert [QueryMesh().agree(query, []), agree(query, [Opinion(5, told)])] == [None, None]


def test_a_worker_that_saw_more_counts_more():
    query = xor(1).query
    sample = merged(query, [opinion(500, 1, seen=9), opinion(500, 2, seen=1)], seed=0)
    assert 500 < len(sample) < 600  # all rows of the one, some of the other
    assert np.allclose(costs_of(sample), COSTS)


def test_what_a_further_route_costs_decides_how_many_there_are():
    query = xor(1).query
    several, single = (
        agree(query, [opinion(40, seed, overhead=cost) for seed in range(30)])
        for cost in (1e-9, 1e-4)
    )
    assert len(several.routes) > 1
    assert len(single.routes) == 1


def test_first_calls_and_rows_before_the_first_timing_do_not_tell_what_is_usual():
    sample = Reservoir(0, 2, 100)
    assert costs_of(sample).tolist() == [1, 1]
    times = np.full((100, 2), [1e-6, 2e-6])
    times[:40] = np.nan
    times[40:60] = 0.5  # a model was loaded
    sample.update(np.zeros((100, 0)), np.zeros((100, 2), bool), times)
    assert np.allclose(costs_of(sample), [1e-6, 2e-6])


def test_samples_are_told_when_they_have_grown_and_stay_small():
    stream = xor(4_000)
    evidence = Evidence(stream.query, 4_000, 0)
    told = []
    for begin in range(0, 4_000, 40):
        rows = slice(begin, begin + 40)
        evidence.sample.update(
            stream.values()[rows].astype(float), stream.drops()[rows], np.ones((40, 6))
        )
        told.append(evidence.news(classifying=1e-7, overhead=0.0))
    sent = [news for news in told if news is not None]
    assert told[0] is None  # 40 rows are too few
    assert 8 < len(sent) < 15
    for news in sent:
        numbers = news["sample"]["values"] + news["sample"]["times"]
        assert len(numbers) <= 4 * 65_536 / 3 + 8
