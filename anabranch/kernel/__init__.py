"""The self-routing fabric: Arrow in, a verdict per row out, no Spark."""

from anabranch.kernel.fabric import Fabric
from anabranch.kernel.ledger import Ledger
from anabranch.kernel.predicate import ArrowPredicate, Predicate, RowPredicate

__all__ = [
    "ArrowPredicate",
    "Fabric",
    "Ledger",
    "Predicate",
    "RowPredicate",
]
