"""What the paper on rate-based optimisation says of its figures (SIGMOD 2002, Section 5)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from anabranch.bench.figure import Figure
from anabranch.bench.rates import RATES
from anabranch.bench.reproduce.claim import Claim, held, not_comparable
from anabranch.bench.reproduce.experiment import Experiment
from anabranch.bench.size import Size

CONSTANTS = "what move, hash and probe take, and the trees of Figure 11, are not in the text"
FITTED = (
    "what a row takes is not in the text, and was chosen so that the plans cross there; that the "
    "simulation agrees is the test"
)
PLANS = ("(A, B), C", "(A, C), B")
RANKED = ["Evenly Spread", "Fast Leaves", "Left Deep"]


def fig1(figure: Figure) -> Sequence[Claim]:
    rates = [row[1] for row in figure.rows]
    return (
        held(
            "results per second, slow selection first and last",
            "0.5 and 5",
            " and ".join(f"{rate:g}" for rate in rates),
            rates == [0.5, 5.0],
        ),
    )


def fig9(figure: Figure) -> Sequence[Claim]:
    by = {row[0].split(",")[0]: row[1] for row in figure.rows}
    off = by["flow"] / by["simulated"] - 1
    return (
        not_comparable(
            "results at which (A, C), B is predicted to overtake",
            "roughly 2,000",
            f"{by['flow']:,}",
            FITTED,
        ),
        held(
            "the same by Equation 2 as printed",
            "roughly 2,000",
            f"{by['Equation 2']:,}",
            1_500 <= by["Equation 2"] <= 2_500,
            "it takes the newest rate of a join for the rate of all its results, and what waits "
            "in queues is not in it; the flow has queues",
        ),
        held(
            "the same measured (here: simulated)",
            "quite close",
            f"{by['simulated']:,} ({off:+.0%})",
            abs(off) <= 0.25,
        ),
    )


def fig7(figure: Figure) -> Sequence[Claim]:
    """The text has no figures of these plots; it says what they show."""
    ends = {}
    for kind in ("predicted", "simulated"):
        plans = {name.removesuffix(f", {kind}"): y for name, (_, y) in figure.lines.items()}
        ends[kind] = {name: plans[name][-1] for name in PLANS}
    return [
        held(
            f"results by the end, {kind}",
            "(A, C), B is ahead",
            ", ".join(f"{name}: {found:,.0f}" for name, found in told.items()),
            told["(A, C), B"] > told["(A, B), C"],
        )
        for kind, told in ends.items()
    ]


def _order(figure: Figure, place: int, results: int) -> list[str]:
    rows: list[Any] = [row for row in figure.rows if row[0] == results]
    return [row[1] for row in sorted(rows, key=lambda row: row[place])]


def fig12(figure: Figure) -> Sequence[Claim]:
    claims = []
    for place, model in ((2, "predicted"), (4, "simulated")):
        orders = {tuple(_order(figure, place, n)) for n in (1_000, 20_000, 100_000)}
        claims.append(
            held(
                f"plans from first to last, {model}, up to 100,000 results",
                ", ".join(RANKED),
                "; ".join(", ".join(order) for order in sorted(orders)),
                orders == {tuple(RANKED)},
            )
        )
    return claims


def fig14(figure: Figure) -> Sequence[Claim]:
    order = _order(figure, 2, 20_000)
    return (
        held(
            "Left Deep for the first 20,000 results",
            "marginally ahead of Fast Leaves",
            f"first to last: {', '.join(order)}",
            order.index("Left Deep") < order.index("Fast Leaves"),
            CONSTANTS,
        ),
    )


def table6(figure: Figure) -> Sequence[Claim]:
    last = {row[1]: row for row in figure.rows if row[0] == "the last"}
    ends = {name: row[2] for name, row in last.items()}
    read = {name: float(row[5].replace(",", "")) for name, row in last.items()}
    order = sorted(ends, key=lambda name: (ends[name], RANKED.index(name)))
    cheapest = min(read, key=lambda name: read[name])
    return (
        held(
            "rate-based: plans from first to last by the last result",
            ", ".join(RANKED),
            ", ".join(f"{name} {ends[name]:,.0f} s" for name in order),
            ends["Evenly Spread"] < ends["Fast Leaves"] < ends["Left Deep"],
            "both bushy plans wait for the same join in the end, so that they tie",
        ),
        held(
            "traditional: the cheapest plan",
            "Fast Leaves",
            ", ".join(f"{name} {megabytes:,.0f} MB" for name, megabytes in read.items()),
            cheapest == "Fast Leaves",
        ),
        held(
            "traditional: the dearest plan",
            "Left Deep",
            max(read, key=lambda name: read[name]),
            max(read, key=lambda name: read[name]) == "Left Deep",
        ),
        not_comparable(
            "seconds until the last result",
            "880, 970 and 1,300",
            ", ".join(f"{ends[name]:,.0f}" for name in RANKED),
            f"{CONSTANTS}; what a row takes was chosen so that the first is near",
        ),
    )


def first(results: float) -> Callable[[Figure], Figure]:
    """A figure's lines up to so many results."""

    def zoomed(figure: Figure) -> Figure:
        lines = {}
        for name, (x, y) in figure.lines.items():
            near = [(a, b) for a, b in zip(x, y, strict=True) if b <= results]
            lines[name] = ([a for a, _ in near], [b for _, b in near])
        return replace(figure, lines=lines)

    return zoomed


COUNTED = {
    "fig1": ("fig1", fig1, "two orders of two selections", inf),
    "fig7": ("three_way", fig7, "Figures 7 and 8: two plans for three streams, by the end", inf),
    "fig9": ("three_way", fig9, "Figures 9 and 10: where these cross", 5_000),
    "fig12": ("five_way", fig12, "Figures 12 and 13: three plans for five streams", inf),
    "fig14": ("five_way", fig14, "Figures 14 and 15: the first results of these", 30_000),
    "table6": ("five_way", table6, "the traditional cost model", inf),
}
RATE = tuple(
    Experiment(
        f"rate/{name}",
        about,
        judge,
        RATES.counted[counted],
        quick=Size(1_000),
        full=Size(1_000),
        view=first(most),
    )
    for name, (counted, judge, about, most) in COUNTED.items()
)
