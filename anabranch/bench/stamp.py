"""By what a result was made: the command, the commit, the machine."""

import os
import shlex
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from anabranch.version import VERSION

HERE = Path(__file__).parent
# What a result may differ by.
PACKAGES = ("pyspark", "pyarrow", "numpy")


@cache
def stamp() -> dict[str, str]:
    """Goes with every result; asked for first when a run begins, since commits may follow.

    >>> sorted(stamp())
    ['command', 'commit', 'cores', 'versions']
    """
    return {
        "command": shlex.join(["anabranch", *_public(sys.argv[1:])]),
        "commit": _commit(),
        "cores": str(os.cpu_count()),
        "versions": ", ".join(f"{package} {version(package)}" for package in PACKAGES),
    }


def _public(arguments: list[str]) -> list[str]:
    """Without the folder that results go to, which may be anywhere.

    >>> _public(["bench", "peers", "--output", "x", "--repeat", "5"])
    ['bench', 'peers', '--repeat', '5']
    """
    told, skip = [], False
    for argument in arguments:
        if skip or argument.startswith("--output"):
            skip = argument == "--output"
            continue
        told.append(argument)
    return told


def _commit() -> str:
    """Of the clone that runs; the version where there is none, and where it has changes, a +."""
    git = ["git", "-C", str(HERE)]
    try:
        found = subprocess.run(
            [*git, "describe", "--always", "--exclude=*", "--dirty=+"],
            capture_output=True,
            text=True,
            timeout=10,
        )
    except FileNotFoundError:  # no git on this machine
        return VERSION
    return found.stdout.strip() if found.returncode == 0 else VERSION
