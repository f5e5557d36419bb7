"""The embedded default: Spark in local mode, bound to loopback."""

import os
import shutil
import sys

from pyspark.sql import Column, DataFrame, SparkSession

from anabranch.model import AnabranchError


class NoJavaError(AnabranchError, RuntimeError):
    """Spark needs Java and there is none."""


def is_connect(thing: DataFrame | Column | SparkSession) -> bool:
    """Whether it is of a Spark Connect session, which has no JVM at hand."""
    return type(thing).__module__.startswith("pyspark.sql.connect.")


def cores(session: SparkSession) -> int:
    """How many tasks run at once."""
    if is_connect(session):
        from anabranch.spark import connect

        return connect.cores(session)
    return int(session.sparkContext.defaultParallelism)


def local_session(name: str, cores: int = 2, **settings: str) -> SparkSession:
    """A local session whose workers run this interpreter."""
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java") and not (home and shutil.which("java", path=f"{home}/bin")):
        raise NoJavaError("Spark needs Java 17 or newer: install it, or set JAVA_HOME")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName(name)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(cores))
        .config("spark.log.level", "ERROR")
    )
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
