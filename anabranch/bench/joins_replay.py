"""Windowed joins on the kernel: probe orders, ways to probe, and an hour of event time."""

from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from anabranch.bench.figure import Figure
from anabranch.bench.probing import Along, Probed
from anabranch.bench.replay import CALL, EVALUATION
from anabranch.bench.size import Size, spread
from anabranch.data.constellation import Constellation
from anabranch.kernel.joins.cell import Cell
from anabranch.kernel.joins.custody import Custody, JoinSpec
from anabranch.kernel.joins.prober import Prober
from anabranch.kernel.joins.store import InMemory
from anabranch.kernel.joins.wire import batch_of, to_bytes
from anabranch.model import AnabranchError, Attribute, Operator, Query
from anabranch.policies import AGreedy, Fixed, Policy, resolve

STARS = {
    "independent": Constellation(((0.5, 0.6, 0.3, 0.4),), (1.0, 1.5, 2.0, 1.0)),
    "correlated": Constellation(((0.5, 0.5, 0.6, 0.6),), (1.0, 1.5, 2.0, 1.0), together=0.9),
    "many matches": Constellation(((0.7, 0.5, 0.6, 0.3),), (5.0, 4.0, 3.0, 5.0), keys=1_000),
    "two classes": Constellation(
        ((0.1, 0.6, 0.6, 0.6), (0.6, 0.6, 0.6, 0.1)), (1.0, 1.5, 2.0, 1.0)
    ),
}
KIND = Attribute("hub.kind")  # tells the classes apart
POLICIES = ("agreedy", "sweep", "independent", "local_swaps", "eddy", "content", "mesh", "auto")
WARM = 12  # chunks until all windows are full


@dataclass
class ByProbes:
    """A clock that only probes move, so that counts are the same every time."""

    prober: Prober | None = None
    calls: int = 0

    def __call__(self) -> float:
        self.calls += 1
        return (self.prober.probed if self.prober else 0) * EVALUATION + self.calls * CALL


def probes_of(star: Constellation, chunks: int, policy: Policy) -> Counter[str]:
    """How many probes the rows of each stream made, profiling included."""
    query, told = star.query, Counter[str]()
    whole = Query(tuple(map(Operator, query.names)))
    probers = {}
    for name in query.names:
        tree, clock = query.tree(name), ByProbes()
        own = policy.restricted(tree.operators(), whole)
        attributes = (KIND,) if name == "hub" and policy.uses_attributes else ()
        probers[name] = clock.prober = Prober(tree, own, attributes, clock=clock, busy=clock)
    cell = Cell(query)
    for chunk in star.chunks(chunks):
        for name, rows in chunk.items():
            values = {KIND.name: rows.payload.column("kind")}
            for found in cell.arrive(name, rows, values, probers[name]):
                told["results"] += len(found)
        cell.evict(max(int(rows.times.max()) for rows in chunk.values()))
    for name, prober in probers.items():
        told[name] = prober.probed
    return told


def _of(task: tuple[str, int, str | tuple[str, ...]]) -> Counter[str]:
    name, chunks, how = task
    policy = resolve(how) if isinstance(how, str) else Fixed(order=how)
    return probes_of(STARS[name], chunks, policy)


def orders(size: Size) -> Figure:
    """Probe orders that are learned, against every fixed one."""
    chunks, rows = max(size.rows // 1_000, WARM), list[tuple[Any, ...]]()
    for name, star in STARS.items():
        every = [("hub", *order) for order in permutations(star.names)]
        tasks: list[tuple[str, int, str | tuple[str, ...]]] = [
            *((name, chunks, policy) for policy in POLICIES),
            *((name, chunks, order) for order in every),
        ]
        told = spread(_of, tasks, size)
        if len({one.pop("results") for one in told}) > 1:
            raise AnabranchError("the results differ")
        fixed = told[len(POLICIES) :]
        # Rows of every stream have an order of their own.
        best = sum(min(one[stream] for one in fixed) for stream in fixed[0])
        worst = sum(max(one[stream] for one in fixed) for stream in fixed[0])
        ours = [sum(one.values()) / best for one in told[: len(POLICIES)]]
        rows.append((name, best, worst / best, sum(fixed[0].values()) / best, *ours))
    at = 4 + POLICIES.index("agreedy")
    return Figure(
        "orders",
        f"a hub and four satellites, {chunks:,} chunks of 1,000 hub rows: probes as a multiple of "
        "the best fixed order's of each stream",
        "A-Greedy, Section 8: at most 1.05x wanted",
        "agreedy: " + ", ".join(f"{row[0]} {row[at]:.3f}x" for row in rows),
        ("star", "best: probes", "worst", "written", *POLICIES),
        rows,
    )


def probing(size: Size) -> Figure:
    """Drop-probing beside the two ways that it replaces, along the same order."""
    rows = list[tuple[Any, ...]]()
    for name, star in STARS.items():
        query, cell = star.query, Cell(star.query)
        order, policy = tuple(star.names), Fixed()
        ways = {way: Probed() for way in ("drop-probing", "BLPT", "PPT")}
        probers = {stream: Prober(query.tree(stream), policy) for stream in query.names}
        for number, chunk in enumerate(star.chunks(WARM + 1)):
            if number == WARM:
                along = Along(query, cell.windows, chunk["hub"], order)
                along.materialising(ways["BLPT"])
                along.looping(ways["PPT"])
            before = probers["hub"].probed
            for _ in cell.arrive("hub", chunk["hub"], {}, probers["hub"]):
                pass
            if number == WARM:
                ways["drop-probing"].probes = probers["hub"].probed - before
            for stream in star.names:
                for _ in cell.arrive(stream, chunk[stream], {}, probers[stream]):
                    pass
            cell.evict(max(int(told.times.max()) for told in chunk.values()))
        size.tick()
        if ways["BLPT"].results != ways["PPT"].results:
            raise AnabranchError("the results differ")
        rows += [(name, way, told.probes, told.stored) for way, told in ways.items()]
    saved = [rows[i + 1][2] / rows[i][2] for i in range(0, len(rows), 3)]
    return Figure(
        "probing",
        "1,000 rows of the hub along the order written, windows full",
        "A-Greedy, Section 8.1: drop-probing does the least for an order",
        "BLPT and PPT probe "
        + ", ".join(f"{ratio:.1f}x" for ratio in saved)
        + " as often as drop-probing does; BLPT stores prefixes, too",
        ("star", "way", "probes", "rows of prefixes stored"),
        rows,
    )


def hour(size: Size) -> Figure:
    """An hour of event time at a steady rate: what is held."""
    star = Constellation(((0.5, 0.5),), (1.0, 1.0), rows=200, keys=2_000)
    query, shelf = star.query, InMemory()
    custody = Custody(JoinSpec("hour", query, dict.fromkeys(query.names, AGreedy()), {}))
    held, stored, memory = list[int](), list[int](), list[int]()
    mark = -1
    for number, chunk in enumerate(star.chunks(3_600)):
        figures = _second(custody, shelf, chunk, mark)
        mark = max(int(rows.times.max()) for rows in chunk.values())
        if number % 60 == 59:
            held.append(sum(figures[f"held {name}"] for name in query.names))
            stored.append(figures["bytes"])
            memory.append(figures["memory"])
            size.tick()
    minutes = list(range(1, len(held) + 1))
    rows = [(minutes[i], held[i], stored[i], memory[i]) for i in (0, 14, 29, 44, 59)]
    # The first minute is warm: the windows are of ten seconds.
    spread_of = {what: max(told) / min(told) for what, told in (("rows", held), ("bytes", stored))}
    return Figure(
        "hour",
        "an hour of event time, 600 rows per second, windows of 10 seconds",
        "no paper; wanted: flat",
        f"largest by smallest minute: rows held {spread_of['rows']:.2f}x, bytes of state "
        f"{spread_of['bytes']:.2f}x, bytes of memory {max(memory) / min(memory):.2f}x",
        ("minute", "rows held", "bytes of state", "bytes in memory"),
        rows,
        {"rows held": (minutes, held)},
        ("minute", "rows"),
    )


def _second(custody: Custody, shelf: InMemory, chunk: dict[str, Any], mark: int) -> Counter[str]:
    parts = {name: [to_bytes(batch_of(rows))] for name, rows in chunk.items()}
    seen = {name: int(rows.times.max()) for name, rows in chunk.items()}
    figures: Counter[str] = Counter()
    for _ in custody.process(0, shelf, parts, seen, mark, figures):
        pass
    return figures


FIGURES = {"orders": orders, "probing": probing, "hour": hour}
