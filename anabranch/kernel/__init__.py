"""The self-routing fabric: Arrow in, a verdict per row out, no Spark."""

from anabranch.kernel.fabric import Fabric
from anabranch.kernel.ledger import Ledger
from anabranch.kernel.predicate import ArrowPredicate, Predicate, RowPredicate
from anabranch.kernel.probe import KeyIndex, Probe

__all__ = [
    "ArrowPredicate",
    "Fabric",
    "KeyIndex",
    "Ledger",
    "Predicate",
    "Probe",
    "RowPredicate",
]
