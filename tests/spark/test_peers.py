"""Peers by the workload and the peer that benchmarks/README.md adds: all find the same rows."""

import pytest

from anabranch.bench.peers import bench, peer, workload
from anabranch.bench.size import Size
from anabranch.model import AnabranchError
from tests.spark.test_docs import blocks


@pytest.fixture
def added(monkeypatch):
    """What the document says, without a file."""
    peers, works = list(peer.PEERS), dict(workload.WORKLOADS)
    for module in (peer, bench):
        monkeypatch.setattr(module, "PEERS", peers)
    monkeypatch.setattr(workload, "WORKLOADS", works)
    names = {}
    for _, code in blocks("benchmarks/README.md"):
        exec(code, names)
    return works["words"]


def test_a_workload_and_a_peer_in_one_file_each(spark, added, monkeypatch):
    figure = bench.figure(added, spark, Size(1_000), 1)
    timed = {row[0] for row in figure.rows if row[4] != ""}
    assert {"Anabranch", "PySpark", "DuckDB", "Polars", "pandas"} <= timed
    assert "PySpark, best order, one function" in timed
    out = {row[0]: row[1] for row in figure.rows if row[4] == ""}
    assert out["Anabranch, plan kept"] == "learns in the run"
    wrong = next(kind for kind in bench.PEERS if kind.name == "pandas")
    monkeypatch.setattr(wrong, "run", lambda *_: (1, 1))
    with pytest.raises(AnabranchError, match="the results differ"):
        bench.figure(added, spark, Size(1_000), 1)


def test_every_workload_of_native_predicates_is_told_to_all_that_have_words_for_it(spark, tmp_path):
    for name in ("native-cheap", "native-skewed", "native-uniform"):
        made = workload.WORKLOADS[name].make(spark, tmp_path / name, 400)
        assert made.native, name
        assert sorted(made.best or ()) == sorted(p.name for p in made.predicates)
        assert all(p.spark and p.duckdb and p.daft for p in made.predicates), name
