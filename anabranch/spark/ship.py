"""The package's way to the executors of a cluster."""

import tempfile
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

from anabranch.spark.session import is_connect


def ship(spark: SparkSession) -> None:
    """Send this package to the executors, for clusters where it is not installed.

    Call it once per session, before the first run. The executors still need numpy, pandas and
    pyarrow, as PySpark's own Arrow UDFs do.
    """
    root = Path(__file__).parents[1]
    target = Path(tempfile.mkdtemp(prefix="anabranch-")) / "anabranch.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(root.rglob("*.py")):
            archive.write(source, source.relative_to(root.parent))
    if is_connect(spark):
        spark.addArtifacts(str(target), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(target))
