"""One Spark session for all tests that need one."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from anabranch.spark.session import local_session

# What takes how long is measured by the benchmark; a busy machine is no failure.
settings.register_profile("anabranch", deadline=None)
settings.load_profile("anabranch")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    session = local_session(
        "anabranch tests",
        cores=2,
        **{
            # Small batches, so that a few thousand rows are several of them.
            "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.sql.session.timeZone": "Europe/Zurich",
            # A failing predicate is expected to fail; its stack need not fill the output.
            "spark.log.level": "OFF",
        },
    )
    yield session
    session.stop()
