"""One query, several routes: adaptive query processing on PySpark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anabranch.version import VERSION

if TYPE_CHECKING:
    from anabranch.public import *  # noqa: F403

__version__ = VERSION


def __getattr__(name: str) -> Any:
    """Names of `anabranch.public`: Spark's workers need a part of the package only, and soon.

    >>> import anabranch as ab
    >>> ab.AGreedy(window=100).window
    100
    """
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'anabranch' has no attribute {name!r}")
    public = import_module("anabranch.public")
    if name == "__all__" or name in public.__all__:
        return getattr(public, name)
    if name in globals():  # a subpackage, which is there by now
        return globals()[name]
    raise AttributeError(f"module 'anabranch' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("anabranch.public").__all__})
