"""Windowed joins in one cell, against brute force over all rows."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.kernel.joins.cell import Cell, watermark
from anabranch.kernel.joins.module import Rows
from anabranch.kernel.joins.prober import Prober
from anabranch.model import InputError
from anabranch.model.join import JoinQuery, Stream
from anabranch.policies import AGreedy, Eddy, Fixed

SHAPES = {
    "one key": [("a.x", "b.x"), ("b.x", "c.x"), ("c.x", "d.x")],
    "star": [("a.x", "b.x"), ("a.y", "c.y"), ("a.z", "d.z")],
    "chain": [("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "d.z")],
    "tree": [("a.x", "b.x"), ("b.y", "c.y"), ("b.z", "d.z")],
    "cycle": [("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "d.z"), ("d.w", "a.w")],
    "two columns": [("a.x", "b.x"), ("a.y", "b.y"), ("b.z", "c.z"), ("c.w", "d.w")],
    "triangle": [("a.x", "b.x"), ("b.y", "c.y"), ("c.z", "a.z")],
    "pair": [("a.x", "b.x")],
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
    probers = {name: Prober(query.tree(name), policy) for name in query.names}
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
    query = query_of(shape, [draw(st.integers(0, 30)) for _ in range(4)])
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
    query = query_of(shape, [40, 60, 25, 50])
    random = np.random.default_rng(0)
    batches, number = [], 0
    for step in range(10):
        batch = {}
        for name in query.names:
            rows = []
            for time in sorted(random.integers(step * 20, step * 20 + 20, 8).tolist()):
                rows.append((number, time, *random.integers(0, 4, 4).tolist()))
                number += 1
            batch[name] = rows
        batches.append(batch)
    tables = {name: [row for b in batches for row in b[name]] for name in query.names}
    found, cell, _ = joined(query, batches, AGreedy())
    assert found == brute_force(query, tables)
    assert sum(found.values()) > 50
    assert all(len(window) < 10 * 8 for window in cell.windows.values())


def test_streams_that_nothing_links_are_refused():
    streams = [Stream(name, 10) for name in "abc"]
    with pytest.raises(InputError, match="nothing links c with a, b"):
        JoinQuery.on(streams, [(("a", "x"), ("b", "x"))])


def test_a_window_that_drops_most_comes_first():
    query = query_of("star", [1000, 1000, 1000, 1000])
    random, batches = np.random.default_rng(1), []
    for step in range(6):
        times = [step] * 400
        batch = {name: [] for name in query.names}
        for i, time in enumerate(times):
            batch["a"].append((i, time, *random.integers(0, 1000, 4).tolist()))
        for name, high in (("b", 1000), ("c", 1000), ("d", 50)):
            for i in range(200):
                batch[name].append((i, step, *random.integers(0, high, 4).tolist()))
        batches.append(batch)
    _, _, probers = joined(query, batches, AGreedy())
    assert probers["a"].learner.plan().routes[0].order[0] == "d"
