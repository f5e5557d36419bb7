"""Every policy by name. A new algorithm is one file and one line here."""

from anabranch.model import InputError, closest
from anabranch.policies.agreedy import AGreedy
from anabranch.policies.base import Policy
from anabranch.policies.content import ContentLearns
from anabranch.policies.content_knows import ContentKnows
from anabranch.policies.eddy import Eddy
from anabranch.policies.fixed import Fixed
from anabranch.policies.greedy import Greedy
from anabranch.policies.independent import Independent
from anabranch.policies.local_swaps import LocalSwaps
from anabranch.policies.om import OM
from anabranch.policies.optimal import Optimal
from anabranch.policies.query_mesh import Auto, QueryMesh
from anabranch.policies.query_mesh.parameters import BUDGET
from anabranch.policies.rate_based import RateBased
from anabranch.policies.sweep import Sweep

POLICIES: tuple[type[Policy], ...] = (
    Fixed,
    Optimal,
    Greedy,
    Independent,
    AGreedy,
    Sweep,
    LocalSwaps,
    Eddy,
    ContentLearns,
    QueryMesh,
    OM,
)

# For joins of streams only.
JOIN_POLICIES: tuple[type[Policy], ...] = (RateBased,)

NAMES = {policy.name: policy for policy in (*POLICIES, *JOIN_POLICIES)}


def resolve(policy: str | Policy, budget: float = BUDGET) -> Policy:
    """The policy object for a name; an object is taken as it is.

    `auto` is one route by A-Greedy, and a mesh from the day on that it measurably pays; sampling
    adds the share `budget` to the work.

    >>> resolve("auto", budget=0.02).budget
    0.02
    """
    if isinstance(policy, Policy):
        return policy
    if policy == "auto":
        return Auto(budget=budget)
    if policy in NAMES:
        return NAMES[policy]()
    valid = ["auto", *NAMES]
    if policy == ContentKnows.name:
        raise InputError(
            "content_knows must be told classes and orders: "
            'policy=ContentKnows("attribute", {value: ["operator", ...]})'
        )
    if isinstance(policy, str):
        raise InputError(f'unknown policy "{policy}"; {closest(policy, valid)}')
    raise InputError(
        f"a policy is a name or an object such as AGreedy(), got {policy!r}; "
        f"valid names: {', '.join(valid)}"
    )
