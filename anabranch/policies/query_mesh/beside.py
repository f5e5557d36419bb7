"""A brain in a process beside the worker, at low priority, so that no batch waits for it.

The two talk in lines of JSON over pipes. The process ends when its pipe does, which is when the
worker ends, however it ends.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

from anabranch.model import Query
from anabranch.policies.query_mesh.brain import Alarm, Brain, Failed, Found, Inside, Reply
from anabranch.policies.query_mesh.monitor import Reading
from anabranch.policies.query_mesh.optimise import Task
from anabranch.policies.query_mesh.wire import (
    solution_from_dict,
    solution_to_dict,
    task_from_dict,
    task_to_dict,
)

# How low: the process gets a tenth of what a busy worker gets, and all that nobody else wants.
NICE = 10
# The package without its public face, which would load pyspark.
PROGRAM = """
import sys, types
package = types.ModuleType("anabranch")
package.__path__ = sys.argv[1:]
sys.modules["anabranch"] = package
from anabranch.policies.query_mesh.beside import serve
serve()
"""


class Beside(Brain):
    """Starts the process when it is first asked for something."""

    # Importing what it needs takes a second or two of a processor: not worth it for short runs.
    patience = 30.0
    searches = True

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._out: SimpleQueue[str | None] = SimpleQueue()
        self._in: SimpleQueue[str] = SimpleQueue()
        self._query: Query | None = None

    def watch(self, epoch: int, readings: Sequence[Reading]) -> None:
        told = [[r.route, r.what, r.value] for r in readings]
        self._send({"kind": "watch", "epoch": epoch, "readings": told})

    def search(self, epoch: int, task: Task) -> None:
        self._query = task.query
        self._send({"kind": "search", "epoch": epoch, "task": task_to_dict(task)})

    def replies(self) -> list[Reply]:
        told = []
        while True:
            try:
                told.append(self._reply(json.loads(self._in.get_nowait())))
            except Empty:
                return told

    def _reply(self, data: dict[str, Any]) -> Reply:
        match data["kind"]:
            case "alarm":
                return Alarm(data["epoch"], Reading(*data["reading"]))
            case "found":
                assert self._query is not None
                return Found(data["epoch"], solution_from_dict(data["solution"], self._query))
            case _:
                return Failed(data["epoch"], data["error"])

    def close(self) -> None:
        if self._process is not None:
            self._out.put(None)
            try:
                self._process.wait(timeout=1)
            except subprocess.TimeoutExpired:  # deep in a search that nobody waits for any more
                self._process.kill()
                self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        if self._process is None:
            try:
                self._start()
            except OSError as error:  # no processes or memory left: it must not end the task
                told = {"kind": "failed", "epoch": -1, "error": f"cannot be started: {error}"}
                self._in.put(json.dumps(told))
                return
        self._out.put(json.dumps(message))

    def _start(self) -> None:
        package = Path(__file__).absolute().parents[2]  # also inside an archive
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # A pipe that is full must not hold up the worker, so each direction has a thread.
        for work, pipe in ((self._write, self._process.stdin), (self._read, self._process.stdout)):
            threading.Thread(target=work, args=(pipe,), daemon=True).start()

    def _write(self, pipe: IO[str]) -> None:
        while (line := self._out.get()) is not None:
            try:
                pipe.write(line + "\n")
                pipe.flush()
            except OSError:
                return  # the process is gone, which the reader reports
        pipe.close()

    def _read(self, pipe: IO[str]) -> None:
        for line in pipe:
            self._in.put(line)
        process = self._process
        assert process is not None
        code = process.wait()
        if code:
            error = f"the process beside ended with exit code {code}"
            self._in.put(json.dumps({"kind": "failed", "epoch": -1, "error": error}))


def serve() -> None:
    """Answer until the other side is gone: the main function of the process."""
    os.nice(NICE)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    brain = Inside()
    for line in sys.stdin:
        message = json.loads(line)
        for answer in _answer(brain, message):
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def _answer(brain: Inside, message: dict[str, Any]) -> list[dict[str, Any]]:
    epoch = message["epoch"]
    try:
        if message["kind"] == "watch":
            brain.watch(epoch, [Reading(*told) for told in message["readings"]])
        else:
            brain.search(epoch, task_from_dict(message["task"]))
        return [_told(reply) for reply in brain.replies()]
    except Exception as error:
        return [{"kind": "failed", "epoch": epoch, "error": f"{type(error).__name__}: {error}"}]


def _told(reply: Reply) -> dict[str, Any]:
    if isinstance(reply, Alarm):
        reading = [reply.reading.route, reply.reading.what, reply.reading.value]
        return {"kind": "alarm", "epoch": reply.epoch, "reading": reading}
    assert isinstance(reply, Found)
    return {"kind": "found", "epoch": reply.epoch, "solution": solution_to_dict(reply.solution)}
