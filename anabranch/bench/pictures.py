"""The pictures of the pages on policies: what each one does through a change, beside the others.

Counted by replays on the kernel, the same on every run.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.bench.om_replay import SPEEDS, single
from anabranch.bench.replay import replay
from anabranch.cost import optimal_order, order_cost
from anabranch.cost.flow import Flow
from anabranch.cost.om_plans import candidates
from anabranch.data.mesh_streams import ClassStream
from anabranch.data.stream_specs import three_way
from anabranch.model import AnabranchError
from anabranch.policies import POLICIES, ContentKnows, Policy, resolve
from anabranch.report.style import COLOURS

# Of three classes of rows, what each of six operators passes, before and after.
BEFORE = np.array(
    [
        [0.9, 0.9, 0.2, 0.9, 0.5, 0.9],
        [0.9, 0.9, 0.9, 0.3, 0.5, 0.9],
        [0.9, 0.2, 0.9, 0.9, 0.5, 0.9],
    ]
)
AFTER = np.roll(BEFORE, (1, 3), axis=(0, 1))
HALF, BATCH = 100_000, 2_000
GREY, TINTS = "#cccccc", ["#cfe3f1", "#fbe6bf"]


@cache
def _stream() -> tuple[ClassStream, NDArray[np.bool_], dict[str, Any]]:
    """A change half way."""
    parts = [ClassStream(table, HALF, seed=seed) for seed, table in enumerate((BEFORE, AFTER))]
    drops = np.concatenate([part.drops() for part in parts])
    names = parts[0].names
    columns = {n: np.concatenate([part.columns()[n] for part in parts]) for n in names}
    return parts[0], drops, columns


def _told() -> ContentKnows:
    """Classes and orders as they are before the change."""
    stream, drops, columns = _stream()
    kinds = np.minimum(columns["A1"][:HALF], len(BEFORE) - 1)
    orders = {}
    for value in range(int(columns["A1"].max()) + 1):
        mine = drops[:HALF][kinds == min(value, len(BEFORE) - 1)]
        best = optimal_order(mine, np.ones(drops.shape[1]), stream.query)
        orders[value] = [stream.query.names[i] for i in best]
    return ContentKnows("A1", orders)


def _policies() -> dict[str, Policy]:
    named = {policy.name: resolve(policy.name) for policy in POLICIES}
    return {"auto": resolve("auto"), **named, ContentKnows.name: _told()}


@cache
def _lines() -> Mapping[str, NDArray[np.float64]]:
    """Evaluations per row over time, by policy."""
    stream, drops, columns = _stream()
    found = {}
    for name, policy in _policies().items():
        seen = stream.attributes if policy.uses_attributes else ()
        values = columns if policy.uses_attributes else None
        done = replay(policy, drops, seen, values, workers=1, batch=BATCH, query=stream.query)
        if not (done.keep == ~drops.any(axis=1)).all():
            raise AnabranchError(f"{name} returned other rows than the filters pass")
        found[name] = np.convolve(done.per_batch, np.ones(3) / 3, "same")[1:-1] / BATCH
    return found


@cache
def _best() -> float:
    """The best order for all rows of both halves, which is known afterwards only."""
    stream, drops, _ = _stream()
    ones = np.ones(drops.shape[1])
    return float(order_cost(drops, ones, optimal_order(drops[::7], ones, stream.query)))


def through_a_change(name: str, axes: Any) -> None:
    """The policy in colour, the others in grey."""
    for other, line in _lines().items():
        mine = other == name
        rows = BATCH * (1 + np.arange(len(line))) / 1e3
        style = {"color": COLOURS[0], "linewidth": 2.0, "zorder": 3} if mine else {"color": GREY}
        axes.plot(rows, line, label=name if mine else None, **style)
    axes.plot([], [], color=GREY, label="the other policies")
    axes.axhline(_best(), color=COLOURS[5], linestyle="--", linewidth=1, label="best fixed order")
    axes.axvline(HALF / 1e3, color="black", linestyle=":", linewidth=1)
    axes.text(HALF / 1e3, axes.get_ylim()[1], " the data changes", va="top")
    axes.set(xlabel="thousands of rows", ylabel="predicates evaluated per row", ylim=(1, None))


def chart(axes: Any) -> None:
    """OM: which plan is looked up where, and the way of a stream over the chart."""
    scene = single(0.26, 1, SPEEDS["near the arrival rate"])
    plans = candidates(scene.query)
    made = scene.chart(plans, 40)
    across, up = made.axes
    from matplotlib.colors import ListedColormap

    extent = (across.low, across.high, up.low, up.high)
    axes.imshow(
        made.cells.T, origin="lower", aspect="auto", extent=extent, cmap=ListedColormap(TINTS)
    )
    path = scene.series[across.name], scene.series[up.name]
    axes.plot(*path, color=COLOURS[5], linewidth=0.6, label="the stream")
    for code, plan in enumerate(plans):
        axes.plot([], [], "s", color=TINTS[code], label=str(plan).removeprefix("tcp -> "))
    axes.set(xlabel="selectivity of the first selection", ylabel="rows per second")


def crossing(axes: Any) -> None:
    """Rate-based: two trees of joins, of which one is ahead first and the other later."""
    for colour, tree in zip(COLOURS, three_way(), strict=False):
        times, found = Flow(tree).curve(20.0)
        axes.plot(times, found, color=colour, label=str(tree))
    axes.set(xlabel="seconds", ylabel="results")


def write_pictures(folder: Path, done: Callable[[str], None]) -> None:
    """One for each policy."""
    from matplotlib.figure import Figure as Canvas

    draw: dict[str, Callable[[Any], None]] = {
        name: lambda axes, name=name: through_a_change(name, axes)  # type: ignore[misc]
        for name in _policies()
    }
    draw |= {"om": chart, "rate": crossing}
    folder.mkdir(parents=True, exist_ok=True)
    for name, each in draw.items():
        canvas = Canvas(figsize=(7, 3.4), layout="constrained")
        axes = canvas.subplots()
        each(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 1.16), ncols=3)
        canvas.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
        done(name)
