"""Small mergeable statistics: update, get, merge."""

from anabranch.stats.cost_fit import CostFit
from anabranch.stats.matrix_view import MatrixView
from anabranch.stats.profile_window import ProfileWindow

__all__ = ["CostFit", "MatrixView", "ProfileWindow"]
