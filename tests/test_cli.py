"""The command line, as a user meets it."""

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from anabranch.cli import main
from anabranch.model import Mesh, Operator, Query
from anabranch.policies import POLICIES


def call(*arguments):
    return CliRunner().invoke(main, list(arguments))


def spawn(tmp_path, *arguments):
    """In a process of its own: these commands start and stop Spark."""
    command = [sys.executable, "-m", "anabranch.cli", *arguments]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)


def test_policies_lists_all():
    output = call("policies").output
    assert all(policy.name in output for policy in POLICIES)


def test_explain_prints_a_plan(tmp_path):
    query = Query((Operator("a", ("x",)), Operator("b", ("y",), after=("a",))))
    figures = {"a": {"cost": 2e-6, "passed": 0.25}}
    Mesh.single(query, ("a", "b"), figures).save(tmp_path / "plan.json")
    assert call("explain", str(tmp_path / "plan.json")).output.splitlines() == [
        "order now:",
        "  1. a(x): 2.00 us per row, drops 75.0% of the rows it sees, 375,000 drops per second",
        "  2. b(y) after a",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "none.json"], "Error: cannot read the plan none.json"),
        (["bench", "filters", "grups-8"], 'Error: unknown workload "grups-8"; did you mean'),
    ],
)
def test_errors_are_one_line(arguments, message):
    result = call(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith(message)
    assert len(result.output.splitlines()) == 1


def test_demo_compares_and_writes_a_page(tmp_path):
    done = spawn(tmp_path, "demo", "--rows", "20000", "--output", "page.html")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "The same alerts both ways" in done.stdout
    assert "Anabranch report" in (tmp_path / "page.html").read_text()


def test_bench_prints_every_contestant(tmp_path):
    arguments = ("bench", "filters", "groups-4", "--rows", "2000", "--repeat", "1")
    done = spawn(tmp_path, *arguments, "--output", "figures.json")
    assert done.returncode == 0, done.stderr[-2000:]
    lines = {
        line["contestant"]: line for line in json.loads((tmp_path / "figures.json").read_text())
    }
    expected = {"plain Spark", "chained filters", "identity", "fixed, as written", "fixed, best"}
    expected |= {policy.name for policy in POLICIES if policy.name != "fixed"}
    assert set(lines) == expected | {"auto (budget 1 %)", "clairvoyant bound"}
    assert lines["plain Spark"]["evaluations"] == 4 * 2000
    assert lines["fixed, best"]["of_best"] == pytest.approx(1)
    for name in lines:
        assert name in done.stdout
