"""Kills a stream at random points, starts it again, and looks at what became of it."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

from anabranch.model import AnabranchError

# Seconds that a process may take until it has done its share of micro-batches.
PATIENCE = 180.0
LOOK_EVERY = 0.02


@dataclass
class Victim:
    """A stream over files, one per micro-batch, in processes of its own.

    `job` is the program, whose arguments are the folders of the input, output and checkpoint.
    """

    job: str
    source: Path
    folder: Path
    seed: int = 0

    def __post_init__(self) -> None:
        self.checkpoint, self.sink = self.folder / "checkpoint", self.folder / "out"
        self._random = random.Random(self.seed)

    def kill(self, at: int) -> None:
        """Run until so many are committed, and a moment longer, which is left to chance."""
        nowhere = subprocess.DEVNULL
        child = subprocess.Popen(
            self._command(), start_new_session=True, stdout=nowhere, stderr=nowhere
        )
        try:
            deadline = time.monotonic() + PATIENCE
            while self.committed() < at:
                if child.poll() is not None:
                    raise AnabranchError(f"the stream ended before micro-batch {at}")
                if time.monotonic() > deadline:
                    raise AnabranchError(f"micro-batch {at} was not reached in {PATIENCE:.0f} s")
                time.sleep(LOOK_EVERY)
            time.sleep(self._random.uniform(0.0, 0.6))
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def ended(self) -> str:
        """Run to the end; what it printed."""
        done = subprocess.run(
            self._command(), check=True, capture_output=True, text=True, timeout=2 * PATIENCE
        )
        return done.stdout

    def committed(self) -> int:
        return len(list((self.checkpoint / "commits").glob("[0-9]*")))

    def is_whole(self, expected: DataFrame) -> bool:
        """Whether what was written are these rows, none of them lost and none twice."""
        there = expected.sparkSession.read.parquet(str(self.sink)).select(*expected.columns)
        lost, more = expected.exceptAll(there), there.exceptAll(expected)
        return lost.isEmpty() and more.isEmpty()

    def _command(self) -> list[str]:
        paths = (self.source, self.sink, self.checkpoint)
        return [sys.executable, self.job, *map(str, paths)]
