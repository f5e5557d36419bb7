"""OM: plans indexed by charts over rates and selectivities, two objectives, rounds."""

from anabranch.policies.om.planner import OmPlanner, OmRound
from anabranch.policies.om.policy import OM

__all__ = ["OM", "OmPlanner", "OmRound"]
