"""What a join of streams did so far."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from anabranch.model.join import JoinQuery
from anabranch.report.log import WorkerLog
from anabranch.report.report import Report

# Figures of which the newest counts, as of rows held.
GAUGES = ("bytes", "memory")
# Micro-batches that are remembered one by one.
MOST_MOMENTS = 1_000


@dataclass
class JoinTally:
    """What the workers told of their cells, added up.

    Rows held and bytes are what a cell told last, all else are sums.

    Examples
    --------
    >>> from anabranch.model.join import Stream
    >>> pair = [(("a", "k"), ("b", "k"))]
    >>> tally = JoinTally(JoinQuery.on([Stream("a", 10), Stream("b", 10)], pair))
    >>> for held in (5, 7):
    ...     tally.add({"worker": "w", "cell": 0, "ledgers": {}, "figures": {
    ...         "rows a": 5, "held a": held, "results": 2, "bytes": 10}})
    >>> report = tally.report("", "fixed")
    >>> report.streams["a"].rows, report.streams["a"].held, report.results, report.state_bytes
    (10, 7, 4, 10)
    """

    query: JoinQuery
    sums: Counter[str] = field(default_factory=Counter)
    cells: dict[int, dict[str, int]] = field(default_factory=dict)
    logs: dict[str, WorkerLog] = field(default_factory=dict)
    moments: dict[int, Counter[str]] = field(default_factory=dict)  # by micro-batch
    told: Counter[int] = field(default_factory=Counter)  # by cell

    def add(self, letter: Mapping[str, Any]) -> None:
        """Take in what one cell told of one micro-batch."""
        figures = letter["figures"]
        last = {k: v for k, v in figures.items() if k.startswith("held ") or k in GAUGES}
        self.cells[letter["cell"]] = last
        self.sums.update({k: v for k, v in figures.items() if k not in last})
        self._remember(letter["cell"], {**last, "results": figures.get("results", 0)})
        for source, ledger in letter["ledgers"].items():
            operators = len(self.query.tree(source).operators())
            log = self.logs.setdefault(source, WorkerLog(operators))
            log.update(letter["worker"], ledger)

    def _remember(self, cell: int, figures: Mapping[str, int]) -> None:
        """Every cell tells once in a micro-batch."""
        self.told[cell] += 1
        number = self.told[cell]
        self.moments.setdefault(number, Counter()).update(figures)
        self.moments.pop(number - MOST_MOMENTS, None)

    def copy(self) -> "JoinTally":
        logs = {source: log.copy() for source, log in self.logs.items()}
        moments = {number: told.copy() for number, told in self.moments.items()}
        cells, told = dict(self.cells), self.told.copy()
        return JoinTally(self.query, self.sums.copy(), cells, logs, moments, told)

    def report(
        self, scope: str, policy: str, expected: Mapping[str, float] | None = None
    ) -> "JoinReport":
        """All of it; `expected` are the rows that a stream's window was thought to hold."""

        def held(figure: str) -> int:
            return sum(cell.get(figure, 0) for cell in self.cells.values())

        streams = {
            name: StreamFigures(
                self.sums[f"rows {name}"],
                self.sums[f"late {name}"],
                held(f"held {name}"),
                self.sums[f"evicted {name}"],
                (expected or {}).get(name),
            )
            for name in self.query.names
        }
        sources = {
            source: Report.of(self.query.tree(source).operators(), log, scope, policy)
            for source, log in sorted(self.logs.items())
        }
        return JoinReport(
            scope,
            policy,
            streams,
            sources,
            self.sums["results"],
            held("bytes"),
            held("memory"),
            self.sums["hits"],
            self.sums["misses"],
            self.sums["microseconds"] / 1e6,
            [{"micro-batch": number, **told} for number, told in sorted(self.moments.items())],
        )


@dataclass(frozen=True)
class StreamFigures:
    """Rows of a stream: that came to a cell, that were late, that are held, that were evicted.

    A row that goes to several cells counts in each. `expected` is what its rate and its window let
    expect to be held, where the rate is known.
    """

    rows: int
    late: int
    held: int
    evicted: int
    expected: float | None = None


@dataclass(frozen=True)
class JoinReport:
    """Figures of a join, over all micro-batches that Spark has reported.

    Attributes
    ----------
    streams
        By name: rows, late, held, evicted.
    sources
        Stream -> a report of the probes that its rows made: evaluations, orders, decisions.
    results
        Combinations found.
    state_bytes, memory_bytes
        Of the rows held: in the state store (compressed), and in the workers' copies.
    hits, misses
        How often a worker had the windows of a cell at hand, or had to read them from the state.
    seconds
        Inside the operator, over all workers.
    moments
        By micro-batch, the newest thousand: rows held, bytes, results.
    """

    scope: str
    policy: str
    streams: dict[str, StreamFigures]
    sources: dict[str, Report]
    results: int = 0
    state_bytes: int = 0
    memory_bytes: int = 0
    hits: int = 0
    misses: int = 0
    seconds: float = 0.0
    moments: list[dict[str, int]] = field(default_factory=list)

    @property
    def probes(self) -> dict[str, dict[str, int]]:
        """Source -> stream -> how often its window was probed."""
        return {source: dict(told.evaluations) for source, told in self.sources.items()}

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {
            "scope": self.scope,
            "policy": self.policy,
            "streams": {name: asdict(figures) for name, figures in self.streams.items()},
            "sources": {name: told.to_dict() for name, told in self.sources.items()},
            "results": self.results,
            "state_bytes": self.state_bytes,
            "memory_bytes": self.memory_bytes,
            "hits": self.hits,
            "misses": self.misses,
            "seconds": self.seconds,
            "moments": self.moments,
        }

    def to_html(self, path: str | Path) -> Path:
        """Write one self-contained page: what windows hold over time, and who probes whom."""
        from anabranch.report.joins_html import write_html

        return write_html(self, Path(path))

    def __rich__(self) -> Any:
        from anabranch.report.joins_text import render

        return render(self)

    def __str__(self) -> str:
        from anabranch.report.joins_text import plain

        return plain(self)
