"""Query Mesh: several routes and a learned classifier, decided once per row.

R. V. Nehme, K. Works, C. Lei, E. A. Rundensteiner, E. Bertino: Multi-Route Query Processing and
Optimization, Journal of Computer and System Sciences, 2012.
"""

from anabranch.policies.query_mesh.auto import Auto
from anabranch.policies.query_mesh.pilot import Pilot
from anabranch.policies.query_mesh.policy import QueryMesh

__all__ = ["Auto", "Pilot", "QueryMesh"]
