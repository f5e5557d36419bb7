"""A stream in rounds that is killed: did it go on with what it knew?"""

import json
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.bench import rounds_job
from anabranch.bench.killing import Victim
from anabranch.model import Mesh
from anabranch.spark.rounds.runner import plan_text


@dataclass(frozen=True)
class Life:
    """What a process left when it died."""

    committed: int  # rounds
    plan: str  # for the next one


@dataclass
class RoundsVictim(Victim):
    """The stream of `rounds_job`."""

    job: str = field(init=False, default=rounds_job.__file__)

    def killed(self, at: int) -> Life:
        """What is left after so many rounds and a moment."""
        self.kill(at)
        # A state is written before Spark commits the round, so that each round has one.
        committed = self.committed()
        state = self._state(f"round-{committed - 1:012d}.json")
        native, fused = (Mesh.from_dict(state[name]["plan"]) for name in ("native", "fused"))
        return Life(committed, plan_text(replace(fused, before=native)))

    def history(self) -> list[dict[str, Any]]:
        """Of all rounds, by the newest state."""
        return list(self._state()["history"])

    def goes_on(self, life: Life) -> bool:
        """Whether the round after a death ran under the plan that was known then."""
        plans = {row["round"]: row["plan"] for row in self.history()}
        return bool(plans[life.committed] == life.plan)

    def _state(self, name: str = "round-*.json") -> dict[str, Any]:
        """The newest of that name."""
        newest = max((self.checkpoint / "anabranch").glob(name))
        return dict(json.loads(newest.read_text(encoding="utf-8")))
