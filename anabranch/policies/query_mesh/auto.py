"""`auto`: the policy that nobody has to think about."""

from dataclasses import dataclass
from typing import ClassVar

from anabranch.policies.query_mesh.policy import QueryMesh


@dataclass
class Auto(QueryMesh):
    """A-Greedy, and a mesh where that measurably pays.

    It is `QueryMesh` as it is, but takes few attributes where none are named: those that the
    predicates read, and some more. Without attributes that tell anything it stays with one route.
    Lookups that guard no native predicate and wait for no function are joins inside Spark, before
    rows move to Python; other policies order them among the functions.
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "A-Greedy, upgraded to a mesh where that measurably pays"
    most_attributes: ClassVar[int] = 6
    lookups_inside: ClassVar[bool] = True
