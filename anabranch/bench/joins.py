"""`anabranch bench joins`: windowed joins of streams, counted on the kernel, measured on Spark."""

import random
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from anabranch.bench import joins_job, joins_replay, joins_spark
from anabranch.bench.figure import Figure
from anabranch.bench.killing import Victim
from anabranch.bench.runner import Bench
from anabranch.bench.size import Size
from anabranch.data.ticking import Ticking

FILES, KILLS = 40, 10


def _kill(spark: SparkSession, size: Size, _: int) -> Figure:
    """Ten deaths at random points."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in"
        Ticking(400, 40, disorder=2.0).write(source, joins_job.NAMES, FILES)
        victim, deaths = Victim(joins_job.__file__, source, Path(folder)), []
        for at in sorted(random.Random(0).sample(range(2, FILES - 2, 3), KILLS)):
            victim.kill(max(at, victim.committed() + 1))
            deaths.append(victim.committed())
            size.tick()
        victim.ended()
        frames = {name: spark.read.parquet(str(source / name)) for name in joins_job.NAMES}
        expected = joins_job.declared(frames).run().df
        whole, results = victim.is_whole(expected), expected.count()
    return Figure(
        "kill",
        f"SIGKILL {KILLS} times in {FILES} micro-batches of three streams, {results:,} results",
        "no paper; wanted: the rows of one batch join, none twice",
        f"rows {'as of one batch join' if whole else 'LOST OR DOUBLED'} after {KILLS} restarts",
        ("death", "micro-batches committed"),
        list(enumerate(deaths, 1)),
    )


JOINS = Bench("joins", joins_replay.FIGURES, {**joins_spark.FIGURES, "kill": _kill})
