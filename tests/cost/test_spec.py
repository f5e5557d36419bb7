"""Files that say what to plan, and what is wrong with them."""

import copy
from itertools import pairwise

import pytest
import yaml

from anabranch.cost.ranking import ranked
from anabranch.cost.spec import load_spec, read_spec
from anabranch.model import InputError

GOOD = {
    "streams": {
        "a": {"rate": 50, "rows": 5000},
        "b": {"rate": 500, "window": 60},
        "c": {"rate": 100, "where": [{"name": "x", "selectivity": 0.5, "cost": 0.001}]},
    },
    "predicates": [
        {"between": ["a", "b"], "selectivity": 0.002},
        {"between": ["a", "c"], "selectivity": 0.005, "cost": 0.005},
    ],
    "handling": {"move": 0.004},
    "objective": {"soonest": {"results": 1000}},
}


def changed(path, value):
    data = copy.deepcopy(GOOD)
    *parents, last = path
    here = data
    for key in parents:
        here = here[key]
    if value is None:
        del here[last]
    else:
        here[last] = value
    return data


def test_selections_come_before_the_join():
    spec = read_spec(GOOD)
    assert spec.join.by_name["c"].rate == 50
    assert [one.name for one in spec.pipelines["c"]] == ["x"]
    assert ranked(spec).to_dict()["where"] == {"c": ["x"]}


@pytest.mark.parametrize("objective", [{"most_results": {"by": 10}}, "steady_rate"])
def test_every_objective_ranks(objective):
    data = copy.deepcopy({**GOOD, "objective": objective})
    for stream in data["streams"].values():
        stream.setdefault("window", 30)
    told = ranked(read_spec(data))
    assert told.seen == len(told.plans) == 2
    losses = [plan["loss"] for plan in told.to_dict()["plans"]]
    assert losses == sorted(losses)


def test_plans_to_compare_and_shapes():
    spec = read_spec({**GOOD, "plans": ["((a, c), b)"], "shape": "left-deep"})
    assert [str(plan) for plan in ranked(spec).plans] == ["((a, c), b)"]


def test_every_predicate_between_two_streams_counts():
    data = copy.deepcopy(GOOD)
    data["predicates"] += [{"between": ["b", "a"], "selectivity": 0.5, "cost": 0.001}]
    tree = read_spec(data).join.tree("((a, b), c)")
    assert tree.left.selectivity == pytest.approx(0.001)
    assert tree.left.handling.extra == pytest.approx(0.001)


def test_many_streams_are_searched():
    names = [f"s{i}" for i in range(9)]
    data = {
        "streams": {name: {"rate": 10 + i} for i, name in enumerate(names)},
        "predicates": [{"between": list(pair), "selectivity": 0.01} for pair in pairwise(names)],
        "objective": {"most_results": {"by": 30}},
    }
    told = ranked(read_spec(data))
    assert set(told.best.names) == set(names)
    losses = [plan["loss"] for plan in told.to_dict()["plans"]]
    assert losses[0] < 0
    assert losses == pytest.approx(sorted(losses))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("streams", "a", "rate"), -5, "streams.a: rate of a is a number above 0, got -5"),
        (("streams", "a", "rate"), None, "streams.a: rate missing"),
        (("streams", "a", "rate"), "fast", "streams.a: rate of a is a number above 0, got 'fast'"),
        (("streams", "a", "rat"), 5, 'streams.a: unknown field "rat"; did you mean "rate"'),
        (("streams", "a"), 7, "streams.a: a mapping of rate"),
        (("streams",), {}, "streams missing|streams: streams by name"),
        (("streams", "c", "where"), [{"name": "x", "selectivity": 3}], r"streams.c: where\[0\]: "),
        (("streams", "c", "where"), [{"name": "x", "selectivity": 0}], "where: no row passes"),
        (
            ("predicates", 0, "selectivity"),
            1.5,
            r"predicates\[0\]: selectivity of a = b is a share",
        ),
        (("predicates", 0, "between"), ["a"], r"predicates\[0\]: between: two streams"),
        (("predicates", 0, "between"), ["a", "z"], 'predicates: a = z: there is no stream "z"'),
        (("predicates",), [], "predicates: nothing links b, c with a"),
        (("predicates",), "a = b", "predicates: a list"),
        (("handling", "move"), -1, "handling: move is a number of at least 0"),
        (("handling", "jump"), 1, 'handling: unknown field "jump"'),
        (("objective",), {"steady_rate": {"by": 4}}, "objective: steady_rate: takes nothing"),
        (("handling", "move"), float("inf"), "handling: move is a number of at least 0, got inf"),
        (("objective",), "quick", 'objective: "quick"'),
        (("objective",), {"soonest": {}}, "objective: soonest: results missing"),
        (("objective",), {"soonest": {"results": 0}}, "objective: soonest: results is a number"),
        (("objective",), "steady_rate", "a steady rate needs a window"),
        (("objective",), None, "objective missing"),
        (("shape",), "flat", 'shape: "flat"'),
        (("plans",), ["(a, b)"], r"plans\[0\]: \(a, b\): a tree spans all streams, c missing"),
        (("colour",), 1, 'unknown field "colour"'),
    ],
)
def test_errors_point_at_the_field(path, value, message):
    with pytest.raises(InputError, match=message):
        ranked(read_spec(changed(path, value)))


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "spec.yaml"
    with pytest.raises(InputError, match="cannot be read"):
        load_spec(path)
    path.write_text("streams: [")
    with pytest.raises(InputError, match="is no YAML"):
        load_spec(path)
    path.write_text("- 1")
    with pytest.raises(InputError, match=r"spec.yaml: a mapping of streams"):
        load_spec(path)
    path.write_text(yaml.safe_dump(GOOD))
    assert load_spec(path).join.names == ("a", "b", "c")
