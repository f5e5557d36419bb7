"""`anabranch bench mesh`: the paper's figures on Query Mesh, ours beside them."""

from anabranch.bench.mesh_auto import auto
from anabranch.bench.mesh_replay import COUNTED
from anabranch.bench.mesh_spark import MEASURED
from anabranch.bench.runner import Bench

MESH = Bench("Query Mesh", {**COUNTED, "auto": auto}, MEASURED)
