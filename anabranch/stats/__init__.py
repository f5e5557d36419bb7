"""Small mergeable statistics: update, get, merge."""

from anabranch.stats.cell_tally import CellTally
from anabranch.stats.cost_fit import CostFit
from anabranch.stats.in_out import InOut
from anabranch.stats.matrix_view import MatrixView
from anabranch.stats.operator_cost import OperatorCost
from anabranch.stats.partitioner import RunningRange, is_stale, partition_by, pruned
from anabranch.stats.profile_window import ProfileWindow
from anabranch.stats.reservoir import Reservoir
from anabranch.stats.routing_cost import RoutingCost
from anabranch.stats.selectivity import Selectivity
from anabranch.stats.thinned import thinned

__all__ = [
    "CellTally",
    "CostFit",
    "InOut",
    "MatrixView",
    "OperatorCost",
    "ProfileWindow",
    "Reservoir",
    "RoutingCost",
    "RunningRange",
    "Selectivity",
    "is_stale",
    "partition_by",
    "pruned",
    "thinned",
]
