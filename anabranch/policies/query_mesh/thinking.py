"""One search for a mesh at a time, a little further with every slice."""

from dataclasses import dataclass

from anabranch.policies.query_mesh.allowance import Allowance
from anabranch.policies.query_mesh.optimise import Solution, Task, Thought
from anabranch.policies.register import Register


@dataclass
class Thinking:
    """The search under way, if there is one, and what is known of those before."""

    done: int = 0  # searches that came to their end
    trace: tuple[tuple[int, float], ...] = ()  # of the last one
    steps: int = 0  # taken by the last call
    _thought: Thought | None = None

    @property
    def busy(self) -> bool:
        return self._thought is not None

    def begin(self, task: Task, register: Register) -> None:
        self._thought = Thought(task, register)

    def forget(self) -> None:
        """What was thought about no longer holds."""
        self._thought = None

    def go_on(self, allowance: Allowance) -> Solution | None:
        """As far as there is time; what was found, at the end."""
        thought = self._thought
        assert thought is not None
        steps, taken = allowance.steps(), 0
        while taken < steps and thought.solution is None:
            taken += thought.step()
        allowance.thought(taken)
        self.steps = taken
        if thought.solution is not None:
            self._thought, self.trace = None, thought.solution.trace
            self.done += 1
        return thought.solution
