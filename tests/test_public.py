"""What `import anabranch` gives, and what it leaves for later."""

import subprocess
import sys

import pytest

import anabranch as ab
from anabranch import policies, public

DEAR = ("anabranch.api", "anabranch.public", "anabranch.policies.registry", "matplotlib", "pandas")
DEAR += ("scipy", "sklearn", "sqlglot")
LOADED = "import anabranch.spark.worker, anabranch.spark.predicates, anabranch.policies.query_mesh"


def test_workers_load_no_more_than_they_need():
    code = f"{LOADED}, sys; print([m for m in {DEAR} if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_every_name_is_there():
    assert all(getattr(ab, name) is getattr(public, name) for name in public.__all__)
    assert set(public.__all__) < set(dir(ab))
    assert ab.cost.rate.projection_rate(500, 0.02) == 50.0
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        ab.nope  # noqa: B018


def test_all_names_at_once():
    names = {}
    exec("from anabranch import *", names)
    assert set(public.__all__) <= set(names)


def test_every_policy_is_a_public_name():
    for kind in (*policies.POLICIES, *policies.JOIN_POLICIES):
        assert getattr(policies, kind.__name__) is kind
        assert kind.__name__ in policies.__all__
        assert kind.__name__ in public.__all__
    assert set(policies._LATER) < set(policies.__all__)
