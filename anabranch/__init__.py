"""One query, several routes: adaptive query processing on PySpark."""

from anabranch.api import Join, Query, join, query
from anabranch.model import AnabranchError, InputError, Mesh, PlanError, load
from anabranch.policies import (
    AGreedy,
    ContentKnows,
    ContentLearns,
    Eddy,
    Fixed,
    Greedy,
    Independent,
    LocalSwaps,
    Optimal,
    QueryMesh,
    Sweep,
)
from anabranch.report import Report
from anabranch.report.joins import JoinReport
from anabranch.spark.joins.joined import JoinRun
from anabranch.spark.rounds.handle import Rounds
from anabranch.spark.run import Run
from anabranch.spark.sampling import Sample
from anabranch.spark.ship import ship
from anabranch.version import VERSION

__version__ = VERSION

__all__ = [
    "AGreedy",
    "AnabranchError",
    "ContentKnows",
    "ContentLearns",
    "Eddy",
    "Fixed",
    "Greedy",
    "Independent",
    "InputError",
    "Join",
    "JoinReport",
    "JoinRun",
    "LocalSwaps",
    "Mesh",
    "Optimal",
    "PlanError",
    "Query",
    "QueryMesh",
    "Report",
    "Rounds",
    "Run",
    "Sample",
    "Sweep",
    "join",
    "load",
    "query",
    "ship",
]
