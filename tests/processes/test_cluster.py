"""On real executor processes, with the package shipped the documented way."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from pyspark.find_spark_home import _find_spark_home

from tests.processes import cluster_job


@pytest.fixture
def bare_python(tmp_path):
    """A Python for the executors that has the dependencies but not this package.

    Packages on PYTHONPATH are found, but the path file of an editable install there is not read.
    """
    site = Path(numpy.__file__).parents[1]
    script = tmp_path / "python"
    script.write_text(
        f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{site}" exec {sys._base_executable} "$@"\n'
    )
    script.chmod(0o755)
    found = subprocess.run([script, "-c", "import anabranch"], cwd=tmp_path, capture_output=True)
    assert b"No module named 'anabranch'" in found.stderr
    return script


def test_shipping_the_package_makes_it_work(bare_python, tmp_path):
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": str(bare_python),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": _find_spark_home(),
    }
    command = [sys.executable, cluster_job.__file__]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "without it: True" in done.stdout
    assert "same rows" in done.stdout
