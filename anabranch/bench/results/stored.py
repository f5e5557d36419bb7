"""The results that are kept in the repository, as the benchmarks wrote them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anabranch.model import AnabranchError


@dataclass(frozen=True)
class Stored:
    """A figure as it was written, and by what."""

    name: str
    title: str
    paper: str
    ours: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    made: Mapping[str, str]

    def column(self, name: str) -> list[Any]:
        if name not in self.columns:
            raise AnabranchError(
                f'the stored figure "{self.name}" has no column "{name}": run its benchmark again'
            )
        place = list(self.columns).index(name)
        return [row[place] for row in self.rows]


@dataclass(frozen=True)
class Reproduced:
    """Experiments of the papers: what was counted, then what was measured."""

    outcomes: Sequence[Mapping[str, Any]]
    made: Mapping[str, str]


def figures(folder: Path) -> dict[str, Stored]:
    """The figures of a benchmark, by name."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        told = _read(path)
        found[told["name"]] = Stored(**told)
    return found


def reproduced(folder: Path) -> Reproduced:
    parts = [_read(folder / f"{name}.json") for name in ("counted", "measured")]
    return Reproduced([outcome for part in parts for outcome in part], _read(folder / "made.json"))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise AnabranchError(
            f"{path} is not there: results are made from a clone, by the commands that "
            "benchmarks/README.md tells"
        ) from error
