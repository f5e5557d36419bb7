"""All that `import anabranch as ab` offers; loaded when the first of it is asked for."""

from anabranch.api import Join, Queries, Query, join, queries, query
from anabranch.cost.objectives import most_results, soonest, steady_rate
from anabranch.model import AnabranchError, InputError, Mesh, PlanError, load
from anabranch.policies import (
    OM,
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
    RateBased,
    Sweep,
)
from anabranch.report import Report
from anabranch.report.joins import JoinReport
from anabranch.spark.joins.joined import JoinRun
from anabranch.spark.rounds.handle import Rounds
from anabranch.spark.run import Run
from anabranch.spark.sampling import Sample
from anabranch.spark.ship import ship

__all__ = [
    "OM",
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
    "Queries",
    "Query",
    "QueryMesh",
    "RateBased",
    "Report",
    "Rounds",
    "Run",
    "Sample",
    "Sweep",
    "join",
    "load",
    "most_results",
    "queries",
    "query",
    "ship",
    "soonest",
    "steady_rate",
]
