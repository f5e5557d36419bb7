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
    """In a process of its own."""
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
        (["bench", "content", "fig44"], 'Error: unknown figure "fig44"; did you mean "fig4"?'),
    ],
)
def test_errors_are_one_line(arguments, message):
    result = call(*arguments)
    assert result.exit_code == 1
    assert result.output.startswith(message)
    assert len(result.output.splitlines()) == 1


def test_bench_content_writes_data_pictures_and_a_page(tmp_path):
    names = ("fig4", "fig5", "fig8")
    sizes = ("--rows", "4000", "--streams", "1", "--repeat", "1")
    done = spawn(tmp_path, "bench", "content", *names, *sizes, "--output", "out")
    assert done.returncode == 0, done.stderr[-2000:]
    figures = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("out/*.json")}
    assert set(figures) == set(names)
    assert [row[0] for row in figures["fig4"]["rows"]] == [round(0.05 * i, 2) for i in range(1, 20)]
    assert sum(figures["fig5"]["rows"][0][1:]) == pytest.approx(1)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "paper" in page.lower()
    assert 'src="http' not in page
    for name in ("fig4", "fig5", "fig8"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_bench_mesh_writes_data_pictures_and_a_page(tmp_path):
    names = ("xor", "fig11", "drift")
    done = spawn(
        tmp_path, "bench", "mesh", *names, "--rows", "20000", "--repeat", "1", "--output", "out"
    )
    assert done.returncode == 0, done.stderr[-2000:]
    figures = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("out/*.json")}
    assert set(figures) == set(names)
    assert [row[0] for row in figures["xor"]["rows"]][-2:] == ["mesh", "auto"]
    for name in ("fig11", "drift"):
        assert (tmp_path / "out" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_bench_mesh_names_its_figures(tmp_path):
    done = spawn(tmp_path, "bench", "mesh", "fig99")
    assert done.returncode == 1
    assert 'unknown figure "fig99"' in done.stderr


def test_plan_ranks_tells_crossings_and_draws(tmp_path):
    page = tmp_path / "plans.html"
    told = call("plan", "examples/rates.yaml", "--output", str(page))
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert "1.  ((a, c), b)  10,000 results after" in told.output
    assert any(line.startswith("First ((a, b), c) is ahead") for line in lines)
    assert "Results over time" in page.read_text()
    data = json.loads(call("plan", "examples/rates.yaml", "--json").output)
    assert [plan["tree"] for plan in data["plans"]] == ["((a, c), b)", "((a, b), c)"]
    assert 1_500 < data["stages"][1]["results"] < 2_500


def test_plan_tells_which_field_is_wrong(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(
        "streams: {a: {rate: -1}, b: {rate: 1}}\npredicates: []\nobjective: steady_rate"
    )
    told = call("plan", str(path))
    assert told.exit_code == 1
    assert "spec.yaml: streams.a: rate of a is a number above 0, got -1" in told.output
    assert "Traceback" not in told.output


@pytest.mark.parametrize(
    ("bench", "figures"),
    [("rates", ("fig1", "three_way")), ("om", ("trace", "histogram"))],
)
def test_benches_that_count_write_data_pictures_and_a_page(tmp_path, bench, figures):
    output = tmp_path / "out"
    told = call("bench", bench, *figures, "--output", str(output))
    assert told.exit_code == 0, told.output
    data = {path.stem: json.loads(path.read_text()) for path in output.glob("*.json")}
    assert set(data) == set(figures)
    assert all(figure["name"] == name for name, figure in data.items())
    assert all(figure["made"]["commit"] for figure in data.values())
    assert (output / "index.html").exists()
    assert list(output.glob("*.png"))
