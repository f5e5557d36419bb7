"""Tasks, readings and answers as plain data, one JSON object per line."""

import base64
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anabranch.model import Attribute, Mesh, Operator, Query
from anabranch.policies.query_mesh.optimise import Settings, Solution, Task
from anabranch.policies.query_mesh.search import Stop
from anabranch.stats import Reservoir


def task_to_dict(task: Task) -> dict[str, Any]:
    return {
        "operators": [operator.identity() for operator in task.query.operators],
        "attributes": [[a.name, a.kind] for a in task.query.attributes],
        "sample": sample_to_dict(task.sample),
        "costs": task.costs.tolist(),
        "settings": asdict(task.settings),
        "classifying": task.classifying,
        "overhead": task.overhead,
        "current": task.current.to_dict() if task.current else None,
    }


def task_from_dict(data: dict[str, Any]) -> Task:
    query = Query(
        tuple(
            Operator(o["name"], tuple(o["columns"]), tuple(o["after"])) for o in data["operators"]
        ),
        tuple(Attribute(name, kind) for name, kind in data["attributes"]),
    )
    settings = {**data["settings"], "stop": Stop(**data["settings"]["stop"])}
    current = data["current"]
    return Task(
        sample_from_dict(data["sample"]),
        query,
        np.array(data["costs"]),
        Settings(**settings),
        data["classifying"],
        data["overhead"],
        Mesh.from_dict(current).check(query) if current else None,
    )


def sample_to_dict(sample: Reservoir) -> dict[str, Any]:
    """A sample as text: numbers as the bytes that they are."""
    return {
        "seen": sample.seen,
        "size": sample.size,
        "shape": [len(sample), sample.attributes, sample.operators],
        "values": _text(sample.values.astype("<f8")),
        "bits": _text(np.packbits(sample.bits)),
        "times": _text(sample.times.astype("<f4")),
    }


def sample_from_dict(data: dict[str, Any]) -> Reservoir:
    rows, attributes, operators = data["shape"]
    sample = Reservoir(attributes, operators, data["size"])
    values = _numbers(data["values"], "<f8").reshape(rows, attributes)
    bits = np.unpackbits(_numbers(data["bits"], "u1"), count=rows * operators)
    times = _numbers(data["times"], "<f4").astype(float).reshape(rows, operators)
    sample.update(values, bits.reshape(rows, operators).astype(bool), times)
    sample.seen = data["seen"]
    return sample


def solution_to_dict(solution: Solution) -> dict[str, Any]:
    return {
        "mesh": solution.mesh.to_dict(),
        "cost": solution.cost,
        "single": solution.single,
        "trace": [list(entry) for entry in solution.trace],
    }


def solution_from_dict(data: dict[str, Any], query: Query) -> Solution:
    mesh = Mesh.from_dict(data["mesh"]).check(query)
    trace = tuple((int(move), float(cost)) for move, cost in data["trace"])
    return Solution(mesh, data["cost"], data["single"], trace)


def _text(numbers: NDArray[Any]) -> str:
    return base64.b64encode(numbers.tobytes()).decode()


def _numbers(text: str, kind: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text), kind)
