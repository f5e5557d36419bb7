"""A join of streams and what it is planned for, read from a file.

streams:
  trades: {rate: 500, window: 60}     # rows and seconds; also rows, width (bytes) if known
  news:
    rate: 20
    where:                            # selections before the join
      - {name: spam, selectivity: 0.4, cost: 0.002}
predicates:
  - {between: [trades, news], selectivity: 0.002, cost: 0.005}
handling: {move: 0.0001, hash: 0.0001, probe: 0.0001}       # seconds per row
objective: {soonest: {results: 1000}}     # or {most_results: {by: 60}}, or steady_rate
shape: bushy                              # or left-deep
plans: ["(trades, news)"]                 # those to compare, instead of the best ones
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml

from anabranch.cost.objectives import Objective, most_results, soonest, steady_rate
from anabranch.cost.pipeline import Selection, best_pipeline, output_rate
from anabranch.cost.rate import Handling, JoinTree, Source
from anabranch.cost.stream_join import Link, StreamJoin
from anabranch.cost.trees import Shape
from anabranch.model import InputError, closest

T = TypeVar("T")
KEYS = ("streams", "predicates", "handling", "objective", "shape", "plans")
STREAM_KEYS = ("rate", "rows", "width", "window", "where")
OBJECTIVES = {"most_results": (most_results, "by"), "soonest": (soonest, "results")}


@dataclass(frozen=True)
class Spec:
    """What is to be planned."""

    join: StreamJoin
    objective: Objective
    shape: Shape = "bushy"
    plans: tuple[JoinTree, ...] = ()
    pipelines: Mapping[str, tuple[Selection, ...]] | None = None


def load_spec(path: Path) -> Spec:
    """Read a file; an error says which field is meant."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no YAML: {error}") from error
    return _at(str(path), lambda: read_spec(data))


def read_spec(data: Any) -> Spec:
    """From plain data.

    >>> told = read_spec({
    ...     "streams": {"a": {"rate": 50}, "b": {"rate": 500}},
    ...     "predicates": [{"between": ["a", "b"], "selectivity": 0.01}],
    ...     "objective": {"most_results": {"by": 10}},
    ... })
    >>> told.objective.told(told.objective.search(told.join, "bushy"))
    '25,000 results by 10 seconds'
    """
    given = _mapping(data, KEYS, required=("streams", "predicates", "objective"))
    streams = _at("streams", lambda: _named(given["streams"]))
    rates = {name: _at(f"streams.{name}", lambda d=d: _stream(d)) for name, d in streams.items()}  # type: ignore[misc]
    pipelines = {name: pipeline for name, (_, pipeline) in rates.items() if pipeline}
    sources = [
        _at(f"streams.{name}", lambda n=name, o=own: Source(n, **o))  # type: ignore[misc]
        for name, (own, _) in rates.items()
    ]
    links = [
        _at(f"predicates[{i}]", lambda told=told: _link(told))  # type: ignore[misc]
        for i, told in enumerate(_list(given["predicates"], "predicates"))
    ]
    handling = _at("handling", lambda: _handling(given.get("handling") or {}))
    join = _at("predicates", lambda: StreamJoin(sources, links, handling))
    objective = _at("objective", lambda: _objective(given["objective"]))
    shape = _at("shape", lambda: _one_of(given.get("shape", "bushy"), get_args(Shape)))
    plans = tuple(
        _at(f"plans[{i}]", lambda text=text: join.tree(str(text)))  # type: ignore[misc]
        for i, text in enumerate(_list(given.get("plans") or [], "plans"))
    )
    return Spec(join, objective, shape, plans, pipelines)


def _stream(data: Any) -> tuple[dict[str, float], tuple[Selection, ...]]:
    """What a source is made of, behind the selections on it; and these in their best order."""
    given = _mapping(data, STREAM_KEYS, required=("rate",))
    own = {key: value for key, value in given.items() if key != "where"}
    selections = [
        _at(f"where[{i}]", lambda told=told: _selection(told))  # type: ignore[misc]
        for i, told in enumerate(_list(given.get("where") or [], "where"))
    ]
    if not selections:
        return own, ()
    source = Source("stream", **own)
    order = best_pipeline(source.rate, selections)
    passed = output_rate(source.rate, order)
    if not passed:
        raise InputError("where: no row passes")
    own["rate"] = passed
    if "rows" in own:
        own["rows"] = source.rows * passed / source.rate
    return own, order


def _selection(data: Any) -> Selection:
    given = _mapping(data, ("name", "selectivity", "cost"), required=("name", "selectivity"))
    return Selection(str(given["name"]), given["selectivity"], given.get("cost", 0.0))


def _link(data: Any) -> Link:
    keys = ("between", "selectivity", "cost")
    given = _mapping(data, keys, required=("between", "selectivity"))
    between = given["between"]
    if not isinstance(between, Sequence) or isinstance(between, str) or len(between) != 2:
        raise InputError(f"between: two streams, as in [trades, news], got {between!r}")
    return Link(str(between[0]), str(between[1]), given["selectivity"], given.get("cost", 0.0))


def _handling(data: Any) -> Handling:
    return Handling(**_mapping(data, [field.name for field in fields(Handling)]))


def _objective(data: Any) -> Objective:
    if data == "steady_rate":
        return steady_rate()
    names = [*OBJECTIVES, "steady_rate"]
    if isinstance(data, str):
        raise InputError(f'"{data}": {closest(data, names)}, as in {{soonest: {{results: 1000}}}}')
    given = _mapping(data, names)
    if len(given) != 1:
        raise InputError(f"one of {', '.join(names)}, got {', '.join(given) or 'none'}")
    (name, arguments), *_ = given.items()
    if name == "steady_rate":
        if arguments:
            raise InputError(f"steady_rate: takes nothing, got {arguments!r}")
        return steady_rate()
    make, key = OBJECTIVES[name]
    told = _at(name, lambda: _mapping(arguments, [key], required=[key]))
    return _at(name, lambda: make(told[key]))


def _named(data: Any) -> dict[str, Any]:
    if not isinstance(data, Mapping) or not data:
        raise InputError(f"streams by name, as in trades: {{rate: 500}}, got {data!r}")
    return {str(name): value for name, value in data.items()}


def _mapping(data: Any, keys: Sequence[str], required: Sequence[str] = ()) -> dict[str, Any]:
    if not isinstance(data, Mapping):
        raise InputError(f"a mapping of {', '.join(keys)}, got {data!r}")
    for key in data:
        if key not in keys:
            raise InputError(f'unknown field "{key}"; {closest(str(key), keys)}')
    if missing := [key for key in required if data.get(key) is None]:
        raise InputError(f"{', '.join(missing)} missing")
    return dict(data)


def _list(data: Any, name: str) -> list[Any]:
    if not isinstance(data, list):
        raise InputError(f"{name}: a list, got {data!r}")
    return data


def _one_of(value: Any, valid: Sequence[str]) -> Any:
    if value not in valid:
        raise InputError(f'"{value}"; {closest(str(value), valid)}')
    return value


def _at(field: str, make: Callable[[], T]) -> T:
    """What is made; an error of it is told with the field."""
    try:
        return make()
    except InputError as error:
        raise InputError(f"{field}: {error}") from error
