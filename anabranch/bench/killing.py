"""Kills a stream in rounds at random points, starts it again, and looks at what became of it."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from anabranch.bench import rounds_job
from anabranch.model import AnabranchError, Mesh
from anabranch.spark.rounds.runner import plan_text

# Seconds that a process may take until it has done its share of rounds.
PATIENCE = 180.0
LOOK_EVERY = 0.02


@dataclass(frozen=True)
class Life:
    """What a process left when it died."""

    committed: int  # rounds
    plan: str  # for the next one


@dataclass
class Victim:
    """A stream in rounds over files, one per micro-batch, in processes of its own."""

    source: Path
    folder: Path
    seed: int = 0

    def __post_init__(self) -> None:
        self.checkpoint, self.sink = self.folder / "checkpoint", self.folder / "out"
        self._random = random.Random(self.seed)

    def killed(self, at: int) -> Life:
        """Run until so many rounds are committed, and a moment longer, which is left to chance."""
        child = subprocess.Popen(self._command(), start_new_session=True, stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + PATIENCE
            while self.committed() < at:
                if child.poll() is not None:
                    raise AnabranchError(f"the stream ended before round {at}")
                if time.monotonic() > deadline:
                    raise AnabranchError(f"round {at} was not reached in {PATIENCE:.0f} s")
                time.sleep(LOOK_EVERY)
            time.sleep(self._random.uniform(0.0, 0.6))
        finally:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        return self._life()

    def ended(self) -> None:
        """Run to the end."""
        subprocess.run(self._command(), check=True, stderr=subprocess.DEVNULL, timeout=2 * PATIENCE)

    def committed(self) -> int:
        return len(list((self.checkpoint / "commits").glob("[0-9]*")))

    def history(self) -> list[dict[str, Any]]:
        """Of all rounds, by the newest state."""
        return list(self._state()["history"])

    def is_whole(self, spark: SparkSession, expected: Callable[[DataFrame], DataFrame]) -> bool:
        """Whether every row's fate is the same as in one plain batch over all input."""
        plain = expected(spark.read.parquet(str(self.source)))
        written = spark.read.parquet(str(self.sink)).select(*plain.columns)
        lost, more = plain.exceptAll(written), written.exceptAll(plain)
        return lost.isEmpty() and more.isEmpty()

    def goes_on(self, life: Life) -> bool:
        """Whether the round after a death ran under the plan that was known then."""
        plans = {row["round"]: row["plan"] for row in self.history()}
        return bool(plans[life.committed] == life.plan)

    def _life(self) -> Life:
        """A state is written before Spark commits the round, so that each round has one."""
        committed = self.committed()
        state = self._state(f"round-{committed - 1:012d}.json")
        native, fused = (Mesh.from_dict(state[name]["plan"]) for name in ("native", "fused"))
        return Life(committed, plan_text(replace(fused, before=native)))

    def _state(self, name: str = "round-*.json") -> dict[str, Any]:
        """The newest of that name."""
        newest = max((self.checkpoint / "anabranch").glob(name))
        return dict(json.loads(newest.read_text(encoding="utf-8")))

    def _command(self) -> list[str]:
        paths = (self.source, self.sink, self.checkpoint)
        return [sys.executable, rounds_job.__file__, *map(str, paths)]
