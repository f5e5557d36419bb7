"""What benchmarks need beyond the library."""

from importlib.util import find_spec

from anabranch.model import AnabranchError

EXTRAS = ("matplotlib", "psutil")  # pictures, processor time


def check_extras() -> None:
    """Say so before anything runs."""
    missing = [name for name in EXTRAS if find_spec(name) is None]
    if missing:
        told = " and ".join(missing)
        raise AnabranchError(f"benchmarks need {told}: pip install 'anabranch[bench]'")
