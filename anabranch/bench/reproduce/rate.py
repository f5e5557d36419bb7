"""What the paper on rate-based optimisation says of its figures (SIGMOD 2002, Section 5)."""

from collections.abc import Sequence
from typing import Any

from anabranch.bench.figure import Figure
from anabranch.bench.rates import RATES
from anabranch.bench.reproduce.claim import Claim, held, not_comparable
from anabranch.bench.reproduce.experiment import Experiment
from anabranch.bench.size import Size

CONSTANTS = "what move, hash and probe take, and the trees of Figure 11, are not in the text"
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
        held(
            "results at which (A, C), B is predicted to overtake",
            "roughly 2,000",
            f"{by['flow']:,}",
            1_500 <= by["flow"] <= 2_500,
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
            f"{CONSTANTS}; with none of the trees that fit the other figures does it come out",
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
        not_comparable(
            "seconds until the last result",
            "880, 970 and 1,300",
            ", ".join(f"{ends[name]:,.0f}" for name in RANKED),
            CONSTANTS,
        ),
    )


COUNTED = {
    "fig1": ("fig1", fig1, "two orders of two selections"),
    "fig7": ("three_way", fig7, "Figures 7 and 8: two plans for three streams, by the end"),
    "fig9": ("three_way", fig9, "Figures 9 and 10: where these cross"),
    "fig12": ("five_way", fig12, "Figures 12 and 13: three plans for five streams"),
    "fig14": ("five_way", fig14, "Figures 14 and 15: the first results of these"),
    "table6": ("five_way", table6, "the traditional cost model"),
}
RATE = tuple(
    Experiment(
        f"rate/{name}", about, judge, RATES.counted[counted], quick=Size(1_000), full=Size(1_000)
    )
    for name, (counted, judge, about) in COUNTED.items()
)
