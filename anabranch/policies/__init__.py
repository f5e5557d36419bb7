"""One file per algorithm, one registry."""

from anabranch.policies.agreedy import AGreedy
from anabranch.policies.base import Call, Event, Feedback, Policy, Sampling
from anabranch.policies.fixed import Fixed
from anabranch.policies.greedy import Greedy
from anabranch.policies.independent import Independent
from anabranch.policies.local_swaps import LocalSwaps
from anabranch.policies.optimal import Optimal
from anabranch.policies.registry import POLICIES, resolve
from anabranch.policies.sweep import Sweep

__all__ = [
    "POLICIES",
    "AGreedy",
    "Call",
    "Event",
    "Feedback",
    "Fixed",
    "Greedy",
    "Independent",
    "LocalSwaps",
    "Optimal",
    "Policy",
    "Sampling",
    "Sweep",
    "resolve",
]
