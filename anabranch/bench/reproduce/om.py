"""What the paper on OM says of its figures (Section 5)."""

from collections.abc import Sequence

from anabranch.bench.figure import Figure
from anabranch.bench.om import OM_BENCH
from anabranch.bench.om_examples import EXAMPLES
from anabranch.bench.reproduce.claim import Claim, at_least, held, not_comparable, percent
from anabranch.bench.reproduce.experiment import Experiment
from anabranch.bench.size import Size

TRACES = "the paper's traffic is not at hand; made-up streams with the same variation are smoother"


def fig2(figure: Figure) -> Sequence[Claim]:
    return [
        held(
            f"rate and memory of {name}",
            f"{rate:g} and {memory:g}",
            f"{our_rate:g} and {our_memory:g}",
            rate == our_rate and memory == our_memory,
        )
        for name, rate, our_rate, memory, our_memory in figure.rows
    ]


PRINTED = ((697.52, 517.54), (5_550.0, 9_150.0))


def costs(figure: Figure) -> Sequence[Claim]:
    return [
        held(
            f"cost of both plans, weights {row[0]:g} and {row[1]:g}",
            " and ".join(f"{cost:,.2f}" for cost in printed),
            " and ".join(f"{cost:,.2f}" for cost in row[2:4]),
            all(abs(a - b) < 0.005 for a, b in zip(printed, row[2:4], strict=True)),
        )
        for row, printed in zip(figure.rows, PRINTED, strict=True)
    ]


def rounds(figure: Figure) -> Sequence[Claim]:
    return [
        held(f"what passes in round {number}", printed, ours, printed == ours)
        for number, printed, ours in figure.rows
    ]


def several(figure: Figure) -> Sequence[Claim]:
    return [
        not_comparable(
            f"fidelity of ten queries at once, {name}",
            percent(printed),
            percent(ours),
            "each has a stream of its own here; that they are served in turns changes no decision",
        )
        for name, _, printed, ours, _ in figure.rows
    ]


def fig3a(figure: Figure) -> Sequence[Claim]:
    _, fidelity, moves, switches, decisions, per_row = figure.rows[0]
    return (
        at_least("fidelity over ten minutes, made-up stream", 0.80, fidelity),
        held(
            "decisions",
            "600; an eddy 300,000, or 1,500 if modified",
            f"{decisions}; {per_row:,} if one by row",
            decisions == 600,
        ),
        not_comparable("moves and switches", "84 and 23", f"{moves} and {switches}", TRACES),
    )


def _above_both(paper: str, fidelities: Sequence[Sequence[float]]) -> Claim:
    """Of OM, RATE and RAND."""
    rate, random = (max(row[i] for row in fidelities) for i in (1, 2))
    return held(
        "OM, RATE and RAND",
        paper,
        f"RATE {percent(rate)} at most, RAND {percent(random)}",
        all(om > max(others) for om, *others in fidelities),
    )


def fig3b(figure: Figure) -> Sequence[Claim]:
    least, most = min(row[2] for row in figure.rows), max(row[2] for row in figure.rows)
    return (
        held(
            "fidelity at k = 10, variation 0.09 to 0.26",
            "76 to 81 %",
            f"{percent(least)} to {percent(most)} (smoother streams)",
            least >= 0.76,
        ),
        _above_both("OM is above both", [(row[2], row[4], row[5]) for row in figure.rows]),
    )


def fig3c(figure: Figure) -> Sequence[Claim]:
    by = {row[0]: row for row in figure.rows}
    return (
        at_least("fidelity at k = 40, made-up streams", 0.95, by[40][1]),
        held(
            "fidelity by k",
            "rises from 10 to 40, then stable",
            ", ".join(f"{k}: {percent(row[1])}" for k, row in by.items()),
            by[40][1] > by[10][1] and abs(by[80][1] - by[40][1]) < 0.02,
        ),
        held(
            "regions costed for k = 40",
            "1,600",
            f"{by[40][4]} (refined at borders), fidelity {percent(by[40][3])}",
            by[40][4] <= 160,
        ),
    )


def fig4a(figure: Figure) -> Sequence[Claim]:
    told = [row[1] for row in figure.rows]
    return (
        held(
            "fidelity, three made-up streams joined",
            "80 to 99 %",
            f"{percent(min(told))} to {percent(max(told))}",
            min(told) >= 0.80,
        ),
        _above_both("OM is above both; RAND about 30 %", [row[1:4] for row in figure.rows]),
    )


def fig4b(figure: Figure) -> Sequence[Claim]:
    by = {row[0]: row[1] for row in figure.rows}
    last = by[max(by)]
    stable = min(k for k in by if all(abs(by[m] - last) < 0.02 for m in by if m >= k))
    return (
        held(
            "k from which the fidelity is stable",
            "5 (traffic), 8 (random data)",
            f"{stable}",
            stable <= 8,
            "within 2 points of the finest chart; neither of the paper's streams is at hand",
        ),
    )


COUNTED = {
    "fig2": (EXAMPLES["fig2"], fig2, "rate and memory of two plans"),
    "costs": (EXAMPLES["costs"], costs, "Section 3: cost under two weightings"),
    "rounds": (EXAMPLES["rounds"], rounds, "Section 3.1: what comes out of rounds"),
    "fig3a": (OM_BENCH.counted["trace"], fig3a, "fidelity over time"),
    "fig3b": (OM_BENCH.counted["fidelity"], fig3b, "fidelity on erratic streams"),
    "fig3c": (OM_BENCH.counted["partitions"], fig3c, "fidelity by the fineness of the chart"),
    "fig4a": (OM_BENCH.counted["join"], fig4a, "fidelity of a join"),
    "fig4b": (OM_BENCH.counted["join_partitions"], fig4b, "the same by fineness"),
    "several": (OM_BENCH.counted["several"], several, "Section 5: ten queries at once"),
}
OM = tuple(
    Experiment(f"om/{name}", about, judge, count, quick=Size(1_000), full=Size(1_000))
    for name, (count, judge, about) in COUNTED.items()
)
