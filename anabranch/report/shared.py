"""What several queries did in one pass, and what sharing saved."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from anabranch.kernel.shared import SharedTally
from anabranch.model.shared import SharedQuery


@dataclass(frozen=True)
class SharedReport:
    """Figures of all queries.

    Attributes
    ----------
    rows_in, rows_out
        Rows that came to Python operators, and by query those that it was given (in rounds) or
        that it keeps behind Python.
    evaluations
        Operator -> rows that it was evaluated on, `profiling` of these to learn the order.
    alone
        Operator -> evaluations that the queries would have made one by one, in the same order.
    served
        Query -> rounds in which it was served.
    """

    scope: str
    rows_in: int
    rows_out: dict[str, int]
    evaluations: dict[str, int]
    profiling: dict[str, int]
    alone: dict[str, int]
    seconds: dict[str, float]
    order: tuple[str, ...] = ()
    switches: int = 0
    served: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        shared: SharedQuery,
        tally: SharedTally,
        scope: str,
        served: Mapping[str, int],
        out: Mapping[str, int] | None = None,
    ) -> "SharedReport":
        names = shared.query.names
        evaluated, extra, _, alone = (
            dict(zip(names, counts, strict=True)) for counts in tally.counts.tolist()
        )
        return cls(
            scope,
            tally.rows_in,
            dict(out or zip(shared.names, tally.out.tolist(), strict=True)),
            evaluated,
            extra,
            alone,
            dict(zip(names, tally.seconds.tolist(), strict=True)),
            tuple(names[i] for i in tally.order),
            tally.switches,
            dict(served),
        )

    @property
    def saved(self) -> int:
        """Evaluations that sharing saved; what was profiled for the order counts against it."""
        return sum(self.alone.values()) - sum(self.evaluations.values())

    def to_dict(self) -> dict[str, Any]:
        """As plain data, ready for JSON."""
        return {**asdict(self), "order": list(self.order), "saved": self.saved}

    def headline(self) -> str:
        alone = sum(self.alone.values())
        share = f" ({self.saved / alone:.0%} of {alone:,})" if alone else ""
        return (
            f"{len(self.rows_out)} queries over {self.rows_in:,} rows, {self.scope}; sharing saved "
            f"{self.saved:,} evaluations{share}"
        )

    def __rich__(self) -> Any:
        table = Table(title=self.headline(), title_justify="left", box=None)
        for name in ("operator", "evaluated", "one by one", "profiling", "seconds"):
            table.add_column(name, justify="left" if name == "operator" else "right")
        for name in self.order or self.evaluations:
            table.add_row(
                name,
                f"{self.evaluations[name]:,}",
                f"{self.alone[name]:,}",
                f"{self.profiling[name]:,}",
                f"{self.seconds[name]:.2f}",
            )
        return table

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=100, file=None, record=False)
        with console.capture() as told:
            console.print(self.__rich__())
        kept = ", ".join(f"{name} {rows:,}" for name, rows in self.rows_out.items())
        return f"{told.get()}rows kept: {kept}"
