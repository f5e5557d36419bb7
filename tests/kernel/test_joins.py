"""Windowed joins in one cell, against brute force over all rows."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.kernel.joins.cell import Cell, watermark
from anabranch.kernel.joins.custody import Custody, JoinSpec
from anabranch.kernel.joins.module import Rows
from anabranch.kernel.joins.prober import Prober
from anabranch.kernel.joins.store import InMemory
from anabranch.kernel.joins.wire import batch_of, to_bytes
from anabranch.model import InputError, PlanError
from anabranch.model.join import JoinQuery, Stream
from anabranch.policies import AGreedy, Eddy, Fixed, resolve
from anabranch.policies.registry import NAMES

SHAPES = {
    "one key": [("a.x", "b.x"), ("b.x", "c.x"), ("c.x", "d.x")],
    "star": [("a.x", "b.x"), ("a.y", "c.y"), ("a.z", "d.z")],
    "chain": [("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "d.z")],
    "tree": [("a.x", "b.x"), ("b.y", "c.y"), ("b.z", "d.z")],
    "cycle": [("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "d.z"), ("d.w", "a.w")],
    "two columns": [("a.x", "b.x"), ("a.y", "b.y"), ("b.z", "c.z"), ("c.w", "d.w")],
    "triangle": [("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "a.z")],
    "pair": [("a.x", "b.x")],
    "five": [("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "d.z"), ("c.w", "e.w")],
    "six": [
        ("a.x", "b.x"),
        ("a.y", "c.y"),
        ("c.z", "d.z"),
        ("d.w", "e.w"),
        ("e.x", "f.x"),
        ("f.z", "b.z"),
    ],
}
COLUMNS = "xyzw"


def query_of(shape, windows):
    pairs = [tuple(tuple(side.split(".")) for side in pair) for pair in SHAPES[shape]]
    names = sorted({side[0] for pair in pairs for side in pair})
    return JoinQuery.on([Stream(n, windows[i]) for i, n in enumerate(names)], pairs)


def rows_of(query, name, table):
    """Rows (number, time, x, y, z, w) as the kernel has them."""
    columns = dict.fromkeys(query.keys_of[name])
    for key in columns:
        column = next(column for stream, column in query.keys[key] if stream == name)
        columns[key] = np.array([row[2 + COLUMNS.index(column)] for row in table], np.int64)
    payload = pa.record_batch({"number": pa.array([row[0] for row in table], pa.int64())})
    return Rows(columns, np.array([row[1] for row in table], np.int64), payload)


def brute_force(query, tables):
    """Every combination, stream by stream; those that cannot become one are given up at once."""
    partial = [{}]
    for name in query.names:
        partial = [
            {**by, name: row}
            for by in partial
            for row in tables[name]
            if is_match(query, {**by, name: row})
        ]
    return Counter(tuple(by[name][0] for name in query.names) for by in partial)


def is_match(query, by):
    last = max(row[1] for row in by.values())
    near = all(last - by[s.name][1] <= s.window for s in query.streams if s.name in by)
    return near and all(
        len({by[stream][2 + COLUMNS.index(column)] for stream, column in key if stream in by}) <= 1
        for key in query.keys
    )


def joined(query, batches, policy, evict=True):
    cell = Cell(query)
    policy = policy.for_join(query, dict.fromkeys(query.names, 10.0))
    trees = {name: query.tree(name) for name in query.names}
    probers = {
        name: Prober(tree, policy.of_stream(name, tree.operators())) for name, tree in trees.items()
    }
    found, seen = Counter(), {}
    for batch in batches:
        if evict:
            cell.evict(watermark(query, seen))
        for name in query.names:
            rows = rows_of(query, name, batch[name])
            for combined in cell.arrive(name, rows, {}, probers[name]):
                numbers = [combined.payloads[n].column("number").to_pylist() for n in query.names]
                found.update(zip(*numbers, strict=True))
            if batch[name]:
                seen[name] = max(seen.get(name, 0), *(row[1] for row in batch[name]))
    return found, cell, probers


@st.composite
def arrivals(draw):
    shape = draw(st.sampled_from(sorted(SHAPES)))
    query = query_of(shape, [draw(st.integers(0, 30)) for _ in range(6)])
    number, batches = 0, []
    for _ in range(draw(st.integers(1, 4))):
        batch = {}
        for name in query.names:
            batch[name] = []
            for _ in range(draw(st.integers(0, 4))):
                keys = [draw(st.integers(0, 2)) for _ in COLUMNS]
                batch[name].append((number, draw(st.integers(0, 40)), *keys))
                number += 1
        batches.append(batch)
    return query, batches


@given(arrivals(), st.sampled_from([Fixed(), AGreedy(), Eddy()]))
@settings(deadline=None, max_examples=150)
def test_any_arrivals_give_what_brute_force_gives(case, policy):
    query, batches = case
    tables = {name: [row for b in batches for row in b[name]] for name in query.names}
    found, _, _ = joined(query, batches, policy, evict=False)
    assert found == brute_force(query, tables)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_rows_in_order_are_evicted_and_nothing_is_lost(shape):
    query = query_of(shape, [40, 60, 25, 50, 45, 35])
    rows = 8 if len(query.names) < 5 else 5  # brute force takes its time
    batches = steady(query, 10, rows, np.random.default_rng(0))
    tables = {name: [row for b in batches for row in b[name]] for name in query.names}
    found, cell, _ = joined(query, batches, AGreedy())
    assert found == brute_force(query, tables)
    assert sum(found.values()) > 50
    assert all(len(window) < 10 * rows for window in cell.windows.values())


@pytest.mark.parametrize("policy", ["auto", *NAMES])
def test_under_every_policy_the_result_is_the_same(policy):
    query = query_of("tree", [40, 60, 25, 50])
    batches = steady(query, 6, 8, np.random.default_rng(2))
    tables = {name: [row for b in batches for row in b[name]] for name in query.names}
    found, _, _ = joined(query, batches, resolve(policy))
    assert found == brute_force(query, tables)
    assert found


def test_streams_that_nothing_links_are_refused():
    streams = [Stream(name, 10) for name in "abc"]
    with pytest.raises(InputError, match="nothing links c with a, b"):
        JoinQuery.on(streams, [(("a", "x"), ("b", "x"))])


def skewed():
    """Most rows of the hub, a, have no match in d."""
    query = query_of("star", [1000, 1000, 1000, 1000])
    random, batches = np.random.default_rng(1), []
    for step in range(6):
        times = [step] * 400
        batch = {name: [] for name in query.names}
        for i, time in enumerate(times):
            batch["a"].append((i, time, *random.integers(0, 1000, 4).tolist()))
        for name in "bc":  # whatever it costs to probe these, they drop nothing
            batch[name] = [(i, step, *[i] * 4) for i in range(1000)]
        for i in range(200):
            batch["d"].append((i, step, *random.integers(0, 50, 4).tolist()))
        batches.append(batch)
    return query, batches


def test_a_window_that_drops_most_comes_first():
    _, _, probers = joined(*skewed(), AGreedy())
    assert probers["a"].learner.plan().routes[0].order[0] == "d"


def test_another_worker_begins_with_the_order_that_was_learned():
    query, batches = skewed()
    spec, shelf = spec_of(query, AGreedy(), {}), InMemory()
    first, second = Custody(spec), Custody(spec)
    for batch in batches:
        parts = {n: [bytes_of(query, n, rows)] for n, rows in batch.items()}
        list(first.process(0, shelf, parts, {}, 0, Counter()))
    hub = {"a": [bytes_of(query, "a", batches[0]["a"][:5])]}  # too few to learn from
    list(second.process(0, shelf, hub, {}, 0, Counter()))
    assert second.probers["a"].learner.plan().routes[0].order[0] == "d"
    other = Custody(spec_of(query, Eddy(), {}))  # what another policy learned is not for it
    list(other.process(0, shelf, hub, {}, 0, Counter()))
    assert other.probers["a"].start is None


def spec_of(query, policy, identity):
    return JoinSpec("run", query, dict.fromkeys(query.names, policy), identity)


def bytes_of(query, name, table):
    rows = rows_of(query, name, table)
    numbered = pa.record_batch({"p": rows.payload.column("number")})
    return to_bytes(batch_of(Rows(rows.codes, rows.times, numbered)))


def steady(query, steps, rows, random):
    """Micro-batches of rows whose times go on."""
    batches, number = [], 0
    for step in range(steps):
        batch = {}
        for name in query.names:
            times = sorted(random.integers(step * 20, step * 20 + 20, rows).tolist())
            batch[name] = [
                (number + i, time, *random.integers(0, 4, 4).tolist())
                for i, time in enumerate(times)
            ]
            number += rows
        batches.append(batch)
    return batches


def test_whichever_worker_has_a_cell_and_whatever_fails_rows_are_joined_once():
    query = query_of("tree", [40, 60, 25, 50])
    random = np.random.default_rng(3)
    batches = steady(query, 24, 6, random)
    tables = {name: [row for b in batches for row in b[name]] for name in query.names}
    spec = spec_of(query, AGreedy(), {"on": "tree"})
    workers, shelf = [Custody(spec), Custody(spec)], InMemory()
    found, seen, figures = Counter(), {}, Counter()
    for batch in batches:
        parts = {n: [bytes_of(query, n, rows)] for n, rows in batch.items()}
        now = {n: max(row[1] for row in rows) for n, rows in batch.items()}
        while True:
            shelf.roll_back()
            worker = workers[random.integers(2)]
            out, fails = [], random.random() < 0.3
            results = worker.process(0, shelf, parts, now, watermark(query, seen), figures)
            if fails and random.random() < 0.5:
                for _ in range(random.integers(1, 5)):  # it fails on the way
                    next(results, None)
                continue
            out = list(results)
            if not fails:
                break
        shelf.commit()
        seen = now
        for combined in out:
            numbers = [combined.payloads[n].column("p").to_pylist() for n in query.names]
            found.update(zip(*numbers, strict=True))
    assert found == brute_force(query, tables)
    assert figures["hits"] > 3
    assert figures["misses"] > 3
    assert len(shelf.chunks) < 4 * 16


def test_a_copy_that_has_forgotten_more_is_not_used():
    """As that of a query that was ahead, where the same join is started again."""
    query = query_of("pair", [10, 10])
    custody, rows = Custody(spec_of(query, Fixed(), {})), [(1, 50, 0, 0, 0, 0)]
    parts = {name: [bytes_of(query, name, rows)] for name in "ab"}
    list(custody.process(0, InMemory(), {}, {}, 1_000, Counter()))
    found = list(custody.process(0, InMemory(), parts, {}, 0, Counter()))
    assert sum(map(len, found)) == 1


def test_an_hour_at_a_steady_rate_holds_a_flat_number_of_rows():
    query = query_of("one key", [300, 300, 300, 300])
    custody, shelf, seen = Custody(spec_of(query, Fixed(), {})), InMemory(), {}
    held, sizes, memory = [], [], []
    for batch in steady(query, 180, 4, np.random.default_rng(0)):  # 3,600 seconds
        parts = {n: [bytes_of(query, n, rows)] for n, rows in batch.items()}
        figures = Counter()
        for _ in custody.process(0, shelf, parts, {}, watermark(query, seen), figures):
            pass
        seen = {n: max(row[1] for row in rows) for n, rows in batch.items()}
        held.append(sum(figures[f"held {n}"] for n in query.names))
        sizes.append(figures["bytes"])
        memory.append(sum(map(len, custody.copies[0].cell.windows.values())))
    window = 300 / 20 * 4 * 4  # rows of four windows
    assert max(held[30:]) <= 1.5 * window
    assert max(memory[30:]) <= 1.5 * window
    assert np.mean(sizes[150:]) < 1.2 * np.mean(sizes[30:60])


def test_the_state_of_another_join_is_refused():
    query = query_of("pair", [10, 10])
    shelf, parts = InMemory(), {"a": [bytes_of(query, "a", [(1, 1, 0, 0, 0, 0)])]}
    first = Custody(spec_of(query, Fixed(), {"cells": 2, "windows": [10, 10]}))
    list(first.process(0, shelf, parts, {}, 0, Counter()))
    other = Custody(spec_of(query, Fixed(), {"cells": 4, "windows": [10, 10]}))
    with pytest.raises(PlanError, match="cells was 2, is 4"):
        list(other.process(0, shelf, parts, {}, 0, Counter()))


def test_equal_codes_of_other_words_are_no_match():
    query = query_of("pair", [10, 10])
    cell = Cell(query, inexact=(0,))

    def rows(words):
        payload = pa.record_batch({"p": words, "k0": words})
        return Rows({0: np.zeros(len(words), np.int64)}, np.zeros(len(words), np.int64), payload)

    list(cell.arrive("a", rows(["x", "y"]), {}, Prober(query.tree("a"), Fixed())))
    (found,) = cell.arrive("b", rows(["y"]), {}, Prober(query.tree("b"), Fixed()))
    assert found.payloads["a"].column("p").to_pylist() == ["y"]
