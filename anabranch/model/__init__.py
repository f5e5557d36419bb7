"""Plain values: operators, queries, attributes, routes, meshes, and the errors about them."""

from anabranch.model.attribute import (
    NULL,
    Attribute,
    HashPartition,
    PairPartition,
    Partition,
    RangePartition,
    SinglePartition,
    ValuePartition,
    pair_of,
)
from anabranch.model.classifier import (
    Celled,
    Cells,
    Classified,
    Classifier,
    Lottery,
    Pairing,
    combine,
)
from anabranch.model.errors import AnabranchError, InputError, PlanError, closest
from anabranch.model.mesh import Mesh, Reason, load
from anabranch.model.operator import Operator
from anabranch.model.query import Query
from anabranch.model.route import Route
from anabranch.model.telling import microseconds
from anabranch.model.tree import AtMost, Leaf, OneOf, Tree
from anabranch.model.windowed import Windowed

__all__ = [
    "NULL",
    "AnabranchError",
    "AtMost",
    "Attribute",
    "Celled",
    "Cells",
    "Classified",
    "Classifier",
    "HashPartition",
    "InputError",
    "Leaf",
    "Lottery",
    "Mesh",
    "OneOf",
    "Operator",
    "PairPartition",
    "Pairing",
    "Partition",
    "PlanError",
    "Query",
    "RangePartition",
    "Reason",
    "Route",
    "SinglePartition",
    "Tree",
    "ValuePartition",
    "Windowed",
    "closest",
    "combine",
    "load",
    "microseconds",
    "pair_of",
]
