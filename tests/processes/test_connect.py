"""The in-flow and Catalyst hosts against a local Connect server, in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

from tests.processes.connect_job import ROWS


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("connect")
    command = [sys.executable, "-m", "tests.processes.connect_job", str(folder)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=240, cwd=os.getcwd()
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return next(json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))


def test_python_predicates_are_told_of_for_each_action(told):
    python = told["python"]
    assert python["same"]
    assert python["rows"] == [ROWS, 2 * ROWS]
    assert ROWS < python["evaluations"] < 2 * ROWS
    assert python["scope"] == "2 actions"
    assert told["table"] == {"lookup": True, "join": True}


def test_native_predicates_are_sampled_and_planned(told):
    native = told["native"]
    assert native["same"]
    assert native["figures"] == ["a", "b", "c"]
    assert "native predicates sampled" in native["explained"]
    assert native["codegen"] > 0
    assert native["pushed"]


def test_streams_are_told_of(told):
    assert told["stream"]["same"]
    assert told["stream"]["rows"] == ROWS
    assert "micro-batches" in told["stream"]["scope"]


def test_what_cannot_be_is_refused(told):
    assert "rounds need a classic Spark session" in told["rounds"]
    assert 'reads the column "idd"' in told["unknown"]
    assert "cannot be resolved" in told["unresolved"]
    assert "stacktrace" not in told["unresolved"]


def test_the_place_of_a_predicate_is_found_by_the_servers_words(told):
    places = {name: place for name, (place, *_) in told["places"].items()}
    assert places == {
        "compared": "first",
        "casted": "first",
        "computed": "free",
        "called": "free",
        "matched": "free",
        "two": "free",
        "random": "random",
        "subquery": "pinned",
    }
    assert told["places"]["two"][1] == ["id", "other"]
    assert [name for name, (*_, dear) in told["places"].items() if dear] == [
        *("matched", "random", "subquery")
    ]
    assert told["udf"] == ["pinned", ["id"], True]
    assert told["cores"] == 2
    assert 0 < told["megabytes"] < 1
