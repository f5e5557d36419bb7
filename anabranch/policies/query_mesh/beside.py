"""A brain in a process beside the worker, at low priority, so that no batch waits for it.

The two talk in lines of JSON over pipes. The process ends when its pipe does: when it was asked
nothing for a while, or when the worker ends, however it ends.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ClassVar

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

Lines = SimpleQueue[str | None]  # None: no more will come

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
    # Seconds without a question after which the process is let go; the next one starts another.
    idle: ClassVar[float] = 60.0

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._out: Lines = SimpleQueue()
        self._in: SimpleQueue[str] = SimpleQueue()
        self._query: Query | None = None
        self._lock = threading.Lock()  # around the process and the lines for it

    def watch(self, epoch: int, readings: Sequence[Reading]) -> None:
        told = [[r.route, r.what, r.value] for r in readings]
        self._send({"kind": "watch", "epoch": epoch, "readings": told})

    def search(self, ticket: int, task: Task) -> None:
        self._query = task.query
        self._send({"kind": "search", "ticket": ticket, "task": task_to_dict(task)})

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
                return Found(data["ticket"], solution_from_dict(data["solution"], self._query))
            case _:
                return Failed(data["error"])

    def close(self) -> None:
        with self._lock:
            process = self._process
            self._out.put(None)
        if process is not None:
            try:
                process.wait(timeout=1)
            except subprocess.TimeoutExpired:  # deep in a search that nobody waits for any more
                process.kill()
                process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            if self._process is None:
                try:
                    self._start()
                except OSError as error:  # no processes or memory left: it must not end the task
                    told = {"kind": "failed", "error": f"cannot be started: {error}"}
                    self._in.put(json.dumps(told))
                    return
            self._out.put(json.dumps(message))

    def _start(self) -> None:
        package = Path(__file__).absolute().parents[2]  # also inside an archive
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._process, self._out = process, SimpleQueue()
        # A pipe that is full must not hold up the worker, so each direction has a thread.
        for work, told in ((self._write, (process, self._out)), (self._read, (process,))):
            threading.Thread(target=work, args=told, daemon=True).start()

    def _write(self, process: subprocess.Popen[str], lines: Lines) -> None:
        assert process.stdin is not None
        while (line := self._next(lines)) is not None:
            try:
                process.stdin.write(line + "\n")
                process.stdin.flush()
            except OSError:
                return  # the process is gone, which the reader reports
        process.stdin.close()

    def _next(self, lines: Lines) -> str | None:
        """What is to be written; None when the process is to end."""
        try:
            return lines.get(timeout=self.idle)
        except Empty:
            with self._lock:
                if not lines.empty():
                    return lines.get()
                self._process = None
            return None

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._in.put(line)
        code = process.wait()
        if code:
            error = f"the process beside ended with exit code {code}"
            self._in.put(json.dumps({"kind": "failed", "error": error}))


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
    try:
        if message["kind"] == "watch":
            brain.watch(message["epoch"], [Reading(*told) for told in message["readings"]])
        else:
            brain.search(message["ticket"], task_from_dict(message["task"]))
        return [_told(reply) for reply in brain.replies()]
    except Exception as error:
        return [{"kind": "failed", "error": f"{type(error).__name__}: {error}"}]


def _told(reply: Reply) -> dict[str, Any]:
    if isinstance(reply, Alarm):
        reading = [reply.reading.route, reply.reading.what, reply.reading.value]
        return {"kind": "alarm", "epoch": reply.epoch, "reading": reading}
    assert isinstance(reply, Found)
    return {"kind": "found", "ticket": reply.ticket, "solution": solution_to_dict(reply.solution)}
