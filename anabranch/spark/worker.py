"""What runs inside a Python worker of Spark: one learning fabric per query.

Module state survives from task to task and from micro-batch to micro-batch. It is only a cache: a
worker that Spark ends and starts again begins with the plan in the closure.
"""

import json
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext

from anabranch.kernel import Fabric, Predicate
from anabranch.kernel.fabric import Memory, named
from anabranch.kernel.predicate import Mask
from anabranch.model import Mesh, Query
from anabranch.policies import Policy

# Queries whose learners a worker remembers, the least recently used going first.
MAX_LEARNERS = 64
# A ledger is sent with the first batch of a task, then after 2, 4, 8 ... batches up to this many,
# and with the last one: a limit sees figures early, a long task sends few.
MAX_BATCHES_PER_LEDGER = 64
# Before a letter: whether the row that it travels with is kept. As bytes, LAST_KEPT is between.
KEPT, LAST_KEPT, DROPPED = b"+", b",", b"-"

_learners: OrderedDict[str, tuple[Policy, Memory]] = OrderedDict()
# Spark's daemon forks its workers before they load this module: each gets its own name.
WORKER = uuid.uuid4().hex[:8]


@dataclass(frozen=True)
class Fused:
    """The fused operator: everything a worker needs to run a query."""

    run: str
    query: Query
    predicates: Sequence[tuple[Predicate, Sequence[int]]]
    policy: Policy
    start: Mesh | None
    seed: int
    attributes: Mapping[str, int] = field(default_factory=dict)  # name -> its input

    def __call__(self, batches: Iterator[Any]) -> Iterator[pa.Array]:
        learner, memory = self._learner()
        fabric = Fabric(
            self.query,
            self.predicates,
            learner,
            task_seed(self.seed),
            attributes=self.attributes,
            memory=memory,
        )
        cpu = time.process_time()

        def tell() -> dict[str, Any]:
            nonlocal cpu
            ledger = fabric.take_ledger()
            before, cpu = cpu, time.process_time()
            ledger.cpu = cpu - before
            return ledger.to_dict()

        def judge(columns: list[pa.Array]) -> Mask:
            return fabric.process(columns, len(columns[0]))

        end = partial(close_all, self.query, self.predicates)
        return answered(batches, judge, Mail(self.run, tell, marked), end)

    def _learner(self) -> tuple[Policy, Memory]:
        known = _learners.pop(self.run, None)
        if known is None:
            learner = self.policy.bind(self.query, self.start)
            learner.beside()
            known = learner, Memory()
        _learners[self.run] = known
        while len(_learners) > MAX_LEARNERS:
            _, (oldest, _) = _learners.popitem(last=False)
            oldest.close()
        return known


Envelope = Callable[[NDArray[Any], bytes | None], pa.Array]


def marked(keep: Mask, letter: bytes | None) -> pa.Array:
    """Verdicts as Spark reads them fastest: NULL for a row that is dropped, and empty for others.

    A letter travels with the first row, behind a mark that says which of the two that row is.

    >>> marked(np.array([True, False]), None).to_pylist()
    [b'', None]
    >>> marked(np.array([False, True]), b"{}").to_pylist()
    [b'-{}', b'']
    """
    told = pa.array(keep)
    starts = pa.py_buffer(bytes(4 * (len(keep) + 1)))
    # The bits of the verdicts are those that tell what is not NULL.
    empty = pa.Array.from_buffers(
        pa.binary(), len(keep), [told.buffers()[1], starts, pa.py_buffer(b"")]
    )
    if letter is None:
        return empty
    first = pa.array([(KEPT if keep[0] else DROPPED) + letter], pa.binary())
    return pa.concat_arrays([first, empty.slice(1)])


class Mail:
    """Sends what there is to tell along with the verdicts, in an envelope of both."""

    def __init__(self, run: str, tell: Callable[[], dict[str, Any]], envelope: Envelope) -> None:
        context = TaskContext.get()
        self._head = {
            "run": run,
            "worker": WORKER,
            "stage": context.stageId() if context else 0,
            "partition": context.partitionId() if context else 0,
            # Unlike the attempt's number it also rises when a whole stage is run again.
            "attempt": context.taskAttemptId() if context else 0,
            # One task runs the operator several times when its partitions were coalesced.
            "call": uuid.uuid4().hex[:8],
        }
        self._tell, self._envelope = tell, envelope
        self._sent = 0
        self._batches = 0
        self._patience = 1

    def wrap(self, verdicts: NDArray[Any], last: bool) -> pa.Array:
        """The verdicts, with a letter if one is due."""
        self._batches += 1
        due = last or self._batches >= self._patience
        return self._envelope(verdicts, self._letter(last) if due else None)

    def _letter(self, last: bool) -> bytes:
        self._sent += 1
        self._batches = 0
        self._patience = min(2 * self._patience, MAX_BATCHES_PER_LEDGER)
        letter = {**self._head, "number": self._sent, "last": last, "ledger": self._tell()}
        return json.dumps(letter).encode()


def task_seed(seed: int) -> int:
    """Another one for every task, or each micro-batch would profile the same places."""
    context = TaskContext.get()
    task = [context.stageId(), context.partitionId()] if context else []
    return int(np.random.SeedSequence([seed, *task]).generate_state(1)[0])


def close_all(query: Query, predicates: Sequence[tuple[Predicate, Sequence[int]]]) -> None:
    """Let Iterator UDFs come to their end."""
    for operator, (predicate, _) in zip(query.operators, predicates, strict=True):
        close = getattr(predicate, "close", None)
        if close is not None:
            with named(operator):
                close()


def answered(
    batches: Iterator[Any],
    judge: Callable[[list[pa.Array]], NDArray[Any]],
    mail: Mail,
    end: Callable[[], None],
) -> Iterator[pa.Array]:
    """The verdicts on each batch. The last ones wait, so that they can carry what is left."""
    held: NDArray[Any] | None = None
    for batch in batches:
        verdicts = judge([batch] if isinstance(batch, pa.Array) else list(batch))
        if not len(verdicts):
            continue  # has no row that could carry a letter, and none to answer for
        if held is not None:
            yield mail.wrap(held, last=False)
        held = verdicts
    end()
    if held is not None:
        yield mail.wrap(held, last=True)
