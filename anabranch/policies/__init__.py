"""One file per algorithm, one registry."""

from anabranch.policies.agreedy import AGreedy
from anabranch.policies.base import Call, Event, Feedback, Opinion, Policy, Sampling, Visit
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
