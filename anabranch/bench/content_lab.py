"""The experiments on the Lab's readings in the paper on content-based routing: Figure 8 and Q2."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.bench.figure import Figure
from anabranch.bench.replay import replay
from anabranch.bench.size import Size, spread
from anabranch.data.lab import made_up_lab
from anabranch.model import Attribute
from anabranch.policies import ContentLearns, Eddy
from anabranch.policies.register import Register
from anabranch.stats.gain import gain_ratio

Bits = NDArray[np.bool_]

LAB_ATTRIBUTES = tuple(
    Attribute(name) for name in ("sensorID", "day", "hour", "minute", "second", "year", "month")
)


def adaptivity(size: Size, window: int = 1_500) -> Figure:
    """Figure 8: which attribute tells most about `light > 500`, and how much, over time."""
    lab = made_up_lab()
    passed = (np.asarray(lab["light"]) > 500)[:, None]
    values = np.column_stack([np.asarray(lab[a.name], float) for a in LAB_ATTRIBUTES])
    rows = []
    for begin in range(0, len(passed) - window, window):
        part = slice(begin, begin + window)
        register = Register(LAB_ATTRIBUTES, 1, None, window)
        register.update(values[part], passed[part], np.ones((window, 1), bool))
        best = register.best(0, 0.001, pairs=False)
        sensors = np.asarray(lab["sensorID"])[part].astype(int)
        seen = np.bincount(sensors, minlength=55).astype(float)
        out = np.bincount(sensors[passed[part, 0]], minlength=55).astype(float)
        day, hour = int(lab["day"][begin]), int(lab["hour"][begin])
        share = float(passed[part].mean())
        name = str(best.partition) if best else "none"
        rows.append((24 * (day - 1) + hour, share, name, float(gain_ratio(seen, out))))
    size.tick()
    axis = [row[0] for row in rows]
    found = Counter(row[2] for row in rows)
    light = [row for row in rows if 0.02 < row[1] < 0.98]
    return Figure(
        "fig8",
        "light > 500 over three days and nights (made-up readings)",
        "sensorID is almost always the best attribute, hours sometimes near dawn and dusk, none "
        "when all or no rows pass",
        f"best attribute by windows of {window} rows: "
        + ", ".join(f"{name} {count}" for name, count in found.most_common())
        + f"; of the {len(light)} windows with a selectivity between 2 and 98 %, sensorID in "
        + f"{sum(row[2] == 'sensorID' for row in light)}",
        ("hours", "selectivity", "best attribute", "gain ratio of sensorID"),
        rows,
        {
            "selectivity": (axis, [row[1] for row in rows]),
            "gain ratio of sensorID": (axis, [row[3] for row in rows]),
        },
        ("hours since the start", "share"),
    )


def q2(lab: Mapping[str, Any], seed: int) -> Bits:
    """A random query Q2: each reading between a low and a high bound."""
    random = np.random.default_rng([2, seed])
    drops = []
    for name in ("light", "temperature", "humidity", "voltage"):
        column = np.asarray(lab[name], float)
        low = np.quantile(column, random.uniform(0, 0.25))
        high = np.quantile(column, random.uniform(0.75, 1))
        drops.append((column < low) | (column > high))
    return np.column_stack(drops)


def _q2(seed: int) -> tuple[float, float, float, float]:
    lab = made_up_lab()
    drops = q2(lab, seed)
    sbr, learns = (
        replay(policy, drops, LAB_ATTRIBUTES, lab) for policy in (Eddy(), ContentLearns())
    )
    kept = int((~drops.any(axis=1)).sum())
    to_drop = [done.evaluations - kept * drops.shape[1] for done in (sbr, learns)]
    windows = drops[: len(drops) // 1000 * 1000].reshape(-1, 1000, drops.shape[1]).mean(axis=1)
    edge = float(((windows < 0.02) | (windows > 0.98)).mean())
    return (
        1 - learns.evaluations / sbr.evaluations,
        1 - learns.seconds / sbr.seconds,
        1 - to_drop[1] / to_drop[0],
        edge,
    )


def queries(size: Size) -> Figure:
    """Q2: random queries over the Lab."""
    rows = spread(_q2, range(size.streams), size)
    calls, time, drop, edge = np.array(rows).mean(axis=0)
    return Figure(
        "q2",
        f"{size.streams} random queries Q2 (made-up readings)",
        "8 % fewer routing calls, 5 % less time, 18 % fewer calls until a row is dropped; "
        "selectivities near 0 or 1 for 57.2 % of the time",
        f"{calls:.1%} fewer evaluations, {time:.1%} less modelled time, {drop:.1%} fewer until a "
        f"row is dropped; selectivities near 0 or 1 for {edge:.1%} of the time",
        ("query", "calls saved", "time saved", "calls to a drop saved", "near 0 or 1"),
        [(i, *row) for i, row in enumerate(rows)],
        {
            "evaluations": (range(len(rows)), sorted(100 * row[0] for row in rows)),
            "until a drop": (range(len(rows)), sorted(100 * row[2] for row in rows)),
        },
        ("queries, by what is saved", "% improvement over SBR"),
    )
