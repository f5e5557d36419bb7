"""The documents that are made from data are as the data makes them, and no loss is unexplained."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from anabranch.bench.results import losses
from anabranch.bench.results.losses import CLOCK, CONTESTANT, LESS, MOST, NOISE, RATIO
from anabranch.bench.results.stored import Stored, figures
from anabranch.bench.results.write import documents, stale, write
from anabranch.cli import main
from anabranch.model import AnabranchError

ROOT = Path(__file__).parents[2]
MADE = {"command": "anabranch bench x", "commit": "abc", "cores": "2", "versions": "pyspark 4"}


def test_documents_are_as_the_data_makes_them():
    assert stale(ROOT) == []


def test_a_change_of_the_data_changes_the_documents(tmp_path):
    for path in (*ROOT.glob("benchmarks/results/*/*.json"), *documents(ROOT)):
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    assert stale(tmp_path) == []
    source = tmp_path / "benchmarks/results/peers/skewed-5us.json"
    told = json.loads(source.read_text())
    place = told["columns"].index(RATIO)
    for row in told["rows"]:
        if row[0] == "PySpark":
            row[place] = 77.7
    source.write_text(json.dumps(told))
    changed = write(tmp_path)
    assert sorted(path.name for path in changed) == ["README.md", "results.md"]
    assert all("77.7" in path.read_text() for path in changed)
    assert stale(tmp_path) == []


def peers(ratio, most=1.1, less=0.9):
    rows = [["Anabranch", 1.0, 1.0, 1.0], ["Somebody", ratio, most, less], ["Nobody", *[""] * 3]]
    columns = [CONTESTANT, RATIO, MOST, LESS]
    return {"made-up": Stored("made-up", "", "", "", columns, rows, MADE)}


def test_a_loss_needs_a_reason(monkeypatch):
    assert losses.losses(peers(1.2)) == []
    assert losses.losses(peers(0.97)) == [("made-up", "Somebody", 0.97, NOISE)]
    for told in (peers(0.5), peers(0.97, most=0.99)):  # the second in every turn
        with pytest.raises(AnabranchError, match="Somebody is ahead on made-up, and no reason"):
            losses.losses(told)
    assert losses.losses(peers(0.5, less=1.1)) == [("made-up", "Somebody", 0.5, CLOCK)]
    monkeypatch.setattr(losses, "REASONS", {("made-up", "Somebody"): "it is small"})
    assert losses.losses(peers(0.5)) == [("made-up", "Somebody", 0.5, "it is small")]


def test_reasons_are_of_losses_that_are_there():
    found = figures(ROOT / "benchmarks" / "results" / "peers")
    lost = {(workload, name) for workload, name, *_ in losses.losses(losses.races(found))}
    assert set(losses.REASONS) <= lost


def test_elsewhere_the_command_says_where_it_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = CliRunner().invoke(main, ["results"])
    assert told.exit_code == 1
    assert "run this in the root of a clone" in told.output
