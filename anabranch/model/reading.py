"""Classifiers, read back from plain data."""

from collections.abc import Mapping
from math import prod
from typing import Any

from anabranch.model.attribute import partition_from
from anabranch.model.classifier import Celled, Cells, Classifier, Lottery, Pairing
from anabranch.model.tree import Tree, tree_from
from anabranch.model.windowed import Windowed


def classifier_from(data: Mapping[str, Any]) -> Classifier:
    """Read back what `to_dict` made."""
    match data["kind"]:
        case Lottery.kind:
            return Lottery(int(data["routes"]))
        case Cells.kind:
            return _cells_from(data)
        case Tree.kind:
            return tree_from(data)
        case Windowed.kind:
            return _windowed_from(data)
        case kind:
            raise ValueError(f"no classifier of the kind {kind!r}")


def _windowed_from(data: Mapping[str, Any]) -> Windowed:
    inner = classifier_from(data["inner"])
    if not isinstance(inner, Celled):
        raise ValueError(f"rows of a window cannot be alike by a {inner.kind}")
    return Windowed(inner, int(data["rows"]))


def _cells_from(data: Mapping[str, Any]) -> Cells:
    partitions = tuple(partition_from(p) for p in data["partitions"])
    table = tuple((int(cell), int(route)) for cell, route in data["table"])
    size = prod(partition.size for partition in partitions)
    if any(cell >= size for cell, _ in table):
        raise ValueError(f"a cell beyond the {size} that there are")
    return Cells(
        partitions,
        table,
        tuple(
            Pairing(str(p["operator"]), int(p["partition"]), tuple(map(float, p["passed"])))
            for p in data["pairings"]
        ),
    )
