"""Experiments of the papers: names, verdicts, and the same figures on every run."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from anabranch.bench.figure import Figure
from anabranch.bench.reproduce import run
from anabranch.bench.reproduce.claim import Claim, at_most, held
from anabranch.bench.reproduce.experiment import Experiment
from anabranch.bench.reproduce.registry import EXPERIMENTS, PAPERS, chosen
from anabranch.bench.size import Size
from anabranch.cli import main
from anabranch.model import InputError

# Quick ones of all papers that give the same on every run.
SOME = ("agreedy/example7", "agreedy/table2", "content/table1", "om/fig2", "om/costs", "rate/fig1")


def call(*arguments):
    return CliRunner().invoke(main, ["reproduce", *arguments])


def test_twice_the_same_with_data_pictures_and_a_page(tmp_path):
    told = []
    for turn in ("one", "two"):
        folder = tmp_path / turn
        done = call(*SOME, "--quick", "--output", str(folder))
        assert done.exit_code == 0, done.output
        told.append((folder / "counted.json").read_text())
    assert told[0] == told[1]
    figures = {figure["name"]: figure for figure in json.loads(told[0])}
    assert tuple(figures) == SOME
    claims = [claim for figure in figures.values() for claim in figure["claims"]]
    assert {claim["verdict"] for claim in claims} == {"pass"}
    assert figures["rate/fig1"]["claims"][0]["ours"] == "0.5 and 5"
    assert (tmp_path / "one" / "agreedy-table2.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "one" / "index.html").read_text()
    assert "13.3 %" in page
    assert 'src="http' not in page


def test_every_paper_has_experiments_and_every_experiment_a_judge():
    assert {name.split("/")[0] for name in EXPERIMENTS} == set(PAPERS)
    for one in EXPERIMENTS.values():
        assert (one.count is None) != (one.measure is None), one.name
    listed = call("--list", "mesh").output
    assert "mesh/fig10a" in listed
    assert "om/fig2" not in listed


def test_unknown_names_and_timed_ones_in_a_hurry_are_refused():
    with pytest.raises(InputError, match='unknown experiment "agreedy/fig99"; did you mean'):
        chosen(["agreedy/fig99"])
    done = call("mesh/fig12", "--quick")
    assert done.exit_code == 1
    assert "run it without --quick" in done.output


def figure(share):
    return Figure("made", "up", "5 %", f"{share}", ("share",), [(share,)])


def judged(share, why=""):
    return Experiment(
        "agreedy/made",
        "made up",
        lambda made: [at_most("share", 0.05, made.rows[0][0], why)],
        lambda _: figure(share),
        quick=Size(1),
    )


@pytest.mark.parametrize(
    ("share", "why", "code"), [(0.04, "", 0), (0.06, "the text is silent", 0), (0.06, "", 1)]
)
def test_a_surprise_fails_the_run(monkeypatch, tmp_path, share, why, code):
    monkeypatch.setattr(run, "chosen", lambda _: [judged(share, why)])
    done = call("--quick", "--output", str(tmp_path))
    assert done.exit_code == code, done.output
    assert ("no reason is known: agreedy/made: share" in done.output) == bool(code)


def test_a_reason_is_told_only_where_it_differs():
    assert held("x", "1", "1", True, "because") == Claim("x", "1", "1", "pass", "")
    assert held("x", "1", "2", False, "because").why == "because"


def test_judges_fail_what_is_wrong():
    """Two of them, given other rows."""
    good = EXPERIMENTS["agreedy/fig12"].count(Size(20_000))
    judge = EXPERIMENTS["agreedy/fig12"].judge
    assert {claim.verdict for claim in judge(good)} == {"pass"}
    worse = replace(good, rows=[(row[0], row[1], row[3], row[2], *row[4:]) for row in good.rows])
    assert "differs" in {claim.verdict for claim in judge(worse)}
    rates = EXPERIMENTS["rate/fig1"]
    assert rates.judge(replace(figure(1), rows=[("a", 5.0), ("b", 0.5)]))[0].verdict == "differs"
