"""An operator: something that keeps or drops a row."""

from dataclasses import dataclass
from typing import Any

from anabranch.model.errors import InputError


@dataclass(frozen=True)
class Operator:
    """A named predicate over some columns, with the guards it must run behind.

    Parameters
    ----------
    name
        Unique within a query.
    columns
        The columns that it reads, as printed.
    after
        Names of operators that must have passed a row before this one may see it.
    cost
        Prior for the seconds per row; only used until the cost is measured.

    Examples
    --------
    >>> print(Operator("sig_a", ("payload",), after=("size",)))
    sig_a(payload) after size
    """

    name: str
    columns: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    cost: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"an operator needs a name that is not empty, got {self.name!r}")
        if self.cost is not None and not 0 < self.cost < float("inf"):
            raise InputError(
                f'cost of "{self.name}" is the seconds per row, above 0; got {self.cost!r}'
            )

    def __str__(self) -> str:
        guards = f" after {', '.join(self.after)}" if self.after else ""
        return f"{self.name}({', '.join(self.columns)}){guards}"

    def identity(self) -> dict[str, Any]:
        """What a saved plan is checked against: name, columns and guards, never code."""
        return {"name": self.name, "columns": list(self.columns), "after": sorted(self.after)}
