"""The experiments on Query Mesh that count, and those on its search."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from anabranch.bench.burn import burn, steps_for
from anabranch.bench.figure import Figure
from anabranch.bench.replay import EVALUATION, Replayed, replay
from anabranch.bench.size import Size
from anabranch.cost import greedy_order, optimal_order
from anabranch.data.mesh_streams import ClassStream, poisson, xor
from anabranch.kernel import Fabric, RowPredicate
from anabranch.model import AnabranchError
from anabranch.policies import AGreedy, ContentLearns, Fixed, Policy, QueryMesh, resolve
from anabranch.policies.query_mesh.costing import Costing
from anabranch.policies.query_mesh.lattice import configuration
from anabranch.policies.query_mesh.optimise import QUICK, THOROUGH, Task, optimise
from anabranch.policies.query_mesh.repair import expected
from anabranch.policies.query_mesh.search import SEARCHES
from anabranch.policies.query_mesh.starts import STARTS
from anabranch.policies.query_mesh.training import Training
from anabranch.policies.query_mesh.treed import solve
from anabranch.stats import Reservoir

# The paper's Eddy with content-based routing, in its own setting.
CBR = ContentLearns(p=0.06, sample=150, partitions=24, first_rows=0, pairs=False)
# Runs by which the delay of each batch is told: the machine makes some calls slow.
DELAY_RUNS = 5


def run(
    policy: Policy, stream: ClassStream, size: Size, drops: Any = None, **arguments: Any
) -> Replayed:
    """Replay a stream; wrong results are an error."""
    known = stream.drops() if drops is None else drops
    columns = arguments.pop("columns", None) or stream.columns()
    done = replay(policy, known, stream.attributes, columns, **arguments)
    if not (done.keep == ~known.any(axis=1)).all():
        raise AnabranchError(f"{policy.name} returned other rows than the filters pass")
    size.tick()
    return done


def best_single(stream: ClassStream, drops: Any) -> Fixed:
    """The best order for all rows."""
    ones = np.ones(drops.shape[1])
    sample = drops[:50_000]
    find = optimal_order if drops.shape[1] <= 10 else greedy_order
    order = find(sample, ones, stream.query)
    return Fixed(order=[stream.query.names[i] for i in order])


def sample_of(stream: ClassStream, rows: int, seed: int = 0) -> Reservoir:
    """A sample of a stream."""
    some = replace(stream, rows=rows, seed=1_000 + seed)
    sample = Reservoir(len(some.names), some.table.shape[1], rows)
    sample.update(some.values().astype(float), some.drops(), np.ones((rows, some.table.shape[1])))
    return sample


# Classes by two attributes together ------------------------------------------------------------


def by_two(size: Size) -> Figure:
    """XOR of two categories: no attribute alone tells anything."""
    stream = xor(size.rows)
    drops = stream.drops()
    oracle = stream.oracle(drops)
    policies: dict[str, Policy] = {
        "best single order": best_single(stream, drops),
        "A-Greedy": AGreedy(p="auto", window=250),
        "Eddy+CBR, as the paper's": CBR,
        "content, single attributes": ContentLearns(pairs=False),
        "content": ContentLearns(),
        "mesh": QueryMesh(),
        "auto": resolve("auto"),
    }
    rows = [
        (name, done.evaluations, done.evaluations / oracle)
        for name, policy in policies.items()
        for done in [run(policy, stream, size, drops)]
    ]
    told = {row[0]: row[2] for row in rows}
    return Figure(
        "xor",
        f"classes by the XOR of two categories, 6 operators, {size.rows:,} rows, two workers",
        "CBR considers single attributes only (Section 2)",
        f"mesh {told['mesh']:.3f}x the oracle, all learning included; single attributes "
        f"{told['content, single attributes']:.3f}x",
        ("policy", "evaluations", "x oracle"),
        rows,
    )


# Figure 11 -------------------------------------------------------------------------------------


def over_time(size: Size) -> Figure:
    """Results by time, on the modelled clock, where all have the same time."""
    stream = poisson(size.rows)
    drops = stream.drops()
    policies: dict[str, Policy] = {
        "single plan": best_single(stream, drops),
        "Eddy+CBR": CBR,
        "query mesh": QueryMesh(),
    }
    lines, rows = {}, []
    passed = np.cumsum(~drops.any(axis=1))
    batch = 10_000
    for name, policy in policies.items():
        done = run(policy, stream, size, drops, workers=1, batch=batch)
        results = passed[np.minimum(np.arange(1, len(done.times) + 1) * batch, len(passed)) - 1]
        lines[name] = (done.times, results.tolist())
    end = min(times[-1] for times, _ in lines.values())
    for name, (times, results) in lines.items():
        rows.append((name, float(np.interp(end, times, results)), times[-1]))
    ahead = rows[2][1] / rows[0][1] - 1, rows[2][1] / rows[1][1] - 1
    return Figure(
        "fig11",
        f"results over time, Poisson, 10 operators of 5 us, {size.rows:,} rows, one worker, "
        "modelled clock",
        "QM produces significantly more results over time than SP and MR",
        f"when the mesh is through, it has produced {ahead[0]:+.0%} results more than the single "
        f"plan and {ahead[1]:+.0%} more than Eddy+CBR",
        ("policy", "results by then", "seconds for all rows"),
        rows,
        {name: (times[::5], results[::5]) for name, (times, results) in lines.items()},
        ("seconds", "results"),
    )


# Figures 12 and 13 -----------------------------------------------------------------------------


def search_time(size: Size) -> Figure:
    """Search time by the size of the training set."""
    rows, lines = [], {}
    for name in ("ii", "sa"):
        points = []
        for tuples in (8, 10, 20, 40, 60, 80, 100):
            costing = _problem(tuples)
            begin = time.process_time()
            search = SEARCHES[name](costing, "content_driven")
            search.run()
            seconds = time.process_time() - begin
            single = costing.total(configuration([range(tuples)]))
            rows.append((name, tuples, 1e3 * seconds, 1 - search.best_cost / single))
            points.append((tuples, 1e3 * seconds))
            size.tick()
        lines[name.upper()] = ([x for x, _ in points], [y for _, y in points])
    slowest = max(row[2] for row in rows if row[0] == "sa")
    return Figure(
        "fig12",
        "search time by the size of the training set, 8 operators, content-driven start",
        "larger training sets increase the optimisation cost (8 to 100 tuples)",
        f"SA takes {slowest / 1e3:.2f} s at most",
        ("search", "tuples", "ms", "saving"),
        rows,
        lines,
        ("training tuples", "ms"),
    )


def _problem(tuples: int) -> Costing:
    """Training tuples of 20 rows each, with selectivities of their own."""
    random = np.random.default_rng(tuples)
    classes = np.repeat(np.arange(tuples), 20)
    table = random.random((tuples, 8))
    bits = random.random((len(classes), 8)) >= table[classes]
    query = ClassStream(table, 1).query
    training = Training.of(bits, classes, content=random.random((tuples, 3)))
    return Costing(query, training, np.full(8, EVALUATION), 1e-7, 1e-8)


def starts(size: Size) -> Figure:
    """The mesh that a search finds from each start solution, by what it costs on other rows."""
    stream = poisson(1)
    costs = np.full(10, EVALUATION)
    fresh = sample_of(stream, 20_000, seed=77)
    rows = []
    for start in STARTS:
        for name, settings in (("ii", QUICK), ("sa", THOROUGH)):
            rates = []
            for seed in range(8):
                sample = sample_of(stream, 1_000, seed)
                chosen = replace(settings, start=start, seed=seed)
                mesh = optimise(Task(sample, stream.query, costs, chosen, 1e-7, 1e-9)).mesh
                rates.append(1 / expected(mesh, fresh, costs))
                size.tick()
            rows.append((start, name, float(np.mean(rates)), float(np.min(rates))))
    by = {(row[0], row[1]): row[2] for row in rows}
    best = max(by.values())
    spread = {start: by[start, "ii"] / best - 1 for start in STARTS}
    told = ", ".join(f"{name} {share:+.1%}" for name, share in spread.items())
    return Figure(
        "fig13",
        "output rate of the mesh found from each start solution, Poisson, sample of 1,000, 8 seeds",
        "route-driven is best; extreme-N -6 %, content-driven -10 %, random -12 %, extreme-1 -19 %",
        f"by II, against the best of all: {told}",
        ("start", "search", "rows per second", "worst seed"),
        rows,
        {
            name.upper(): (list(STARTS), [by[start, name] for start in STARTS])
            for name in ("ii", "sa")
        },
        ("start solution", "rows per second"),
    )


# Drift -----------------------------------------------------------------------------------------


def drift(size: Size) -> Figure:
    """The classes change places half way."""
    half = size.rows // 4
    first = xor(half)
    then = first.swapped()
    drops = np.concatenate([first.drops(), then.drops()])
    columns = {n: np.concatenate([first.columns()[n], then.columns()[n]]) for n in first.names}
    oracle = (first.oracle(first.drops()) + then.oracle(then.drops())) / (2 * half)
    rows, lines, batch = [], {}, 2_000
    for name, policy in (("content", ContentLearns()), ("mesh", QueryMesh())):
        done = run(policy, first, size, drops, columns=columns, workers=1, batch=batch)
        each = np.array(done.per_batch) / (batch * oracle)
        after = np.flatnonzero(_smooth(each[half // batch :]) <= 1.10)
        back = int(after[0]) * batch if len(after) else -1
        rows.append((name, back, float(each[: half // batch].mean()), float(each[-25:].mean())))
        lines[name] = ((np.arange(len(each)) * batch).tolist()[::2], _smooth(each).tolist()[::2])
    return Figure(
        "drift",
        f"classes swapped after {half:,} rows, batches of {batch:,}",
        "concept drift is treated in a twin paper",
        f"mesh back within 10 % of the oracle after {rows[1][1]:,} rows",
        ("policy", "rows until within 10 %", "x oracle before", "x oracle at the end"),
        rows,
        lines,
        ("rows", "x oracle"),
    )


def _smooth(values: Any, width: int = 3) -> Any:
    return np.convolve(values, np.ones(width) / width, mode="same")


def delay(size: Size) -> Figure:
    """By how much learning delays batches, in processor time: searches, and a drift."""
    rows = []
    half = 200_000
    for count in (4, 16):
        first = replace(xor(half), attribute_count=count)
        then = first.swapped()
        drops = np.concatenate([first.drops(), then.drops()])
        values = np.concatenate([first.values(), then.values()])
        runs = []
        for _ in range(DELAY_RUNS):
            runs.append(_delays(first, drops, values))
            size.tick()
        usual = np.median(runs, axis=0)
        early, later = usual[:3], usual[3:]
        median = float(np.median(later))
        rows.append((count, median, float(early.max()), float(later.max()), float(np.max(runs))))
    return Figure(
        "delay",
        "share by which learning prolongs a batch of 10,000 rows, 5 us per evaluation; "
        f"medians of {DELAY_RUNS} runs for each batch",
        "the optimiser runs on a separate thread, without migration delay",
        f"{max(row[2] for row in rows):.1%} at most of the first three batches, "
        f"{max(row[3] for row in rows):.1%} of the others, where the classes swap and the mesh is "
        "mended",
        ("attributes", "median", "longest of the first 3", "longest later", "longest of all runs"),
        rows,
    )


def _delays(stream: ClassStream, drops: Any, values: Any) -> list[float]:
    """Of each batch: learning as a share of all else."""
    steps = steps_for(5.0)

    def judge(dropped: bool) -> bool:
        burn(steps)
        return not dropped

    count = drops.shape[1]
    columns = [pa.array(drops[:, j]) for j in range(count)]
    columns += [pa.array(values[:, i].astype(float)) for i in range(values.shape[1])]
    places = {name: count + i for i, name in enumerate(stream.names)}
    learner = QueryMesh().bind(stream.query)
    learner.beside()  # as in a worker of Spark
    predicates = [(RowPredicate(judge), [j]) for j in range(count)]
    # All of it computes: by the processor's time, what others do on the machine does not matter.
    fabric = Fabric(stream.query, predicates, learner, clock=time.thread_time, attributes=places)
    delays = []
    for begin in range(0, len(drops), 10_000):
        fabric.process([column.slice(begin, 10_000) for column in columns], 10_000)
        times = fabric.take_ledger().times
        delays.append(times.learning / (times.total - times.learning))
    learner.close()
    return delays


# Workers ---------------------------------------------------------------------------------------


def workers(size: Size) -> Figure:
    """Each worker learns for itself, or all begin with the plan of one bounded sample."""
    stream = xor(size.rows)
    drops = stream.drops()
    oracle = stream.oracle(drops)
    sample = sample_of(stream, 2_000)
    costs = np.full(drops.shape[1], EVALUATION)
    plan = solve(Task(sample, stream.query, costs, THOROUGH, 1e-7)).mesh
    paid = 2_000 * drops.shape[1]
    rows = []
    for count in (2, 16, 64, 512):
        alone = run(QueryMesh(), stream, size, drops, workers=count).evaluations
        told = run(QueryMesh(), stream, size, drops, workers=count, start=plan).evaluations + paid
        rows.append((count, size.rows // count, alone / oracle, told / oracle))
    axis = [row[0] for row in rows]
    return Figure(
        "workers",
        f"learning in each worker or on the driver, XOR, {size.rows:,} rows in all",
        "not in the paper",
        "; ".join(f"{row[0]} workers: {row[2]:.3f}x or {row[3]:.3f}x the oracle" for row in rows),
        ("workers", "rows each", 'learn="worker"', 'learn="driver", sample included'),
        rows,
        {
            "worker": (axis, [row[2] for row in rows]),
            "driver": (axis, [row[3] for row in rows]),
        },
        ("workers", "evaluations, x oracle"),
    )


COUNTED: dict[str, Callable[[Size], Figure]] = {
    "xor": by_two,
    "fig11": over_time,
    "fig12": search_time,
    "fig13": starts,
    "drift": drift,
    "delay": delay,
    "workers": workers,
}
