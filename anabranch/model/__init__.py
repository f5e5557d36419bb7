"""Plain values: operators, queries, routes, meshes, and the errors about them."""

from anabranch.model.errors import AnabranchError, InputError, PlanError, closest
from anabranch.model.mesh import Mesh, load
from anabranch.model.operator import Operator
from anabranch.model.query import Query
from anabranch.model.route import Route

__all__ = [
    "AnabranchError",
    "InputError",
    "Mesh",
    "Operator",
    "PlanError",
    "Query",
    "Route",
    "closest",
    "load",
]
