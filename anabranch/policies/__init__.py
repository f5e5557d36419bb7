"""One file per algorithm, one registry."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anabranch.policies.base import Call, Event, Feedback, Opinion, Policy, Sampling, Visit

if TYPE_CHECKING:
    from anabranch.policies.agreedy import AGreedy
    from anabranch.policies.content import ContentLearns
    from anabranch.policies.content_knows import ContentKnows
    from anabranch.policies.eddy import Eddy
    from anabranch.policies.fixed import Fixed
    from anabranch.policies.greedy import Greedy
    from anabranch.policies.independent import Independent
    from anabranch.policies.local_swaps import LocalSwaps
    from anabranch.policies.om import OM
    from anabranch.policies.optimal import Optimal
    from anabranch.policies.query_mesh import QueryMesh
    from anabranch.policies.rate_based import RateBased
    from anabranch.policies.registry import JOIN_POLICIES, POLICIES, resolve
    from anabranch.policies.sweep import Sweep

# Where each is. A worker loads the policy that it runs, not all of them.
_LATER = {
    "AGreedy": "agreedy",
    "ContentKnows": "content_knows",
    "ContentLearns": "content",
    "Eddy": "eddy",
    "Fixed": "fixed",
    "Greedy": "greedy",
    "Independent": "independent",
    "JOIN_POLICIES": "registry",
    "LocalSwaps": "local_swaps",
    "OM": "om",
    "Optimal": "optimal",
    "POLICIES": "registry",
    "QueryMesh": "query_mesh",
    "RateBased": "rate_based",
    "Sweep": "sweep",
    "resolve": "registry",
}

__all__ = [
    "JOIN_POLICIES",
    "OM",
    "POLICIES",
    "AGreedy",
    "Call",
    "ContentKnows",
    "ContentLearns",
    "Eddy",
    "Event",
    "Feedback",
    "Fixed",
    "Greedy",
    "Independent",
    "LocalSwaps",
    "Opinion",
    "Optimal",
    "Policy",
    "QueryMesh",
    "RateBased",
    "Sampling",
    "Sweep",
    "Visit",
    "resolve",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'anabranch.policies' has no attribute {name!r}")
    return getattr(import_module(f"anabranch.policies.{_LATER[name]}"), name)
