"""The brain in a process beside: the same answers, and no process left behind."""

import os
import time

import numpy as np
import pytest

from anabranch.data.mesh_streams import xor
from anabranch.policies.query_mesh import beside
from anabranch.policies.query_mesh.beside import Beside
from anabranch.policies.query_mesh.brain import Alarm, Failed, Found, Inside
from anabranch.policies.query_mesh.monitor import Reading
from anabranch.policies.query_mesh.optimise import QUICK, Task
from anabranch.policies.query_mesh.wire import task_from_dict, task_to_dict
from anabranch.stats import Reservoir

CALM = [Reading(0, "cost", 50.0 + (-1) ** i) for i in range(40)]
MOVED = [Reading(0, "cost", 90.0)]


def task():
    stream = xor(600)
    sample = Reservoir(4, 6, 600)
    sample.update(stream.values().astype(float), stream.drops(), np.full((600, 6), 5e-6))
    return Task(sample, stream.query, np.full(6, 5e-6), QUICK, 1e-7, 1e-8)


def ask(brain):
    brain.watch(1, CALM)
    brain.search(1, task())
    brain.watch(1, MOVED)


def wait(brain, count, seconds=60.0):
    told, end = [], time.monotonic() + seconds
    while len(told) < count and time.monotonic() < end:
        told += brain.replies()
        time.sleep(0.01)
    return told


def answered(brain):
    """The process that was asked, what it found and its alarm."""
    ask(brain)
    process = brain._process
    try:
        found, alarm = wait(brain, 2)
    finally:
        brain.close()
    assert isinstance(found, Found)
    assert isinstance(alarm, Alarm)
    return process, found, alarm


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_same_answers_as_in_this_process():
    here, there = Inside(), Beside()
    assert there._process is None  # nothing was asked yet
    ask(here)
    process, found, alarm = answered(there)
    mine, same = here.replies()
    assert found.solution.mesh == mine.solution.mesh
    assert len(found.solution.mesh.routes) > 1
    assert found.solution.trace == mine.solution.trace
    assert alarm == same
    assert not is_alive(process.pid)


def test_it_ends_with_its_pipe():
    brain = Beside()
    brain.watch(0, CALM)
    assert wait(brain, 1, seconds=0.5) == []  # the line is written, calm readings have no answer
    brain._process.stdin.close()  # as when the worker is killed
    assert brain._process.wait(timeout=60) == 0


def test_a_process_that_is_asked_nothing_ends_and_another_is_started(monkeypatch):
    monkeypatch.setattr(Beside, "idle", 0.2)
    brain = Beside()
    brain.watch(0, CALM)
    first = brain._process
    assert first.wait(timeout=60) == 0
    assert brain._process is None
    assert brain.replies() == []  # that is no failure
    second, *_ = answered(brain)
    assert second.wait(timeout=60) == 0


def test_a_process_that_cannot_work_says_why(monkeypatch):
    monkeypatch.setattr(beside, "PROGRAM", "import no_such_library")
    brain = Beside()
    brain.watch(0, CALM)
    [reply] = wait(brain, 1)
    assert isinstance(reply, Failed)
    assert "exit code 1" in reply.error


def test_an_error_inside_is_an_answer():
    brain = Inside()
    with pytest.raises(ValueError, match="reshape"):
        brain.search(0, task_from_dict({**task_to_dict(task()), "sample": broken()}))
    told = beside._answer(brain, {"kind": "search", "ticket": 3, "task": {}})
    assert told[0]["kind"] == "failed"
    assert "KeyError" in told[0]["error"]


def broken():
    return {**task_to_dict(task())["sample"], "shape": [7, 4, 6]}


def test_a_task_survives_the_wire():
    sent = task()
    got = task_from_dict(task_to_dict(sent))
    assert got.query == sent.query
    assert got.query.attributes == sent.query.attributes
    assert got.settings == sent.settings
    assert (got.sample.values == sent.sample.values).all()
    assert (got.sample.bits == sent.sample.bits).all()
    assert np.allclose(got.sample.times, sent.sample.times)
