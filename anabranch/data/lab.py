"""Readings of 54 sensors, as in the Intel Berkeley Research Lab's file of 2004.

`read_lab` reads that file, which is not part of this package. `made_up_lab` makes readings of the
same schema: they are not the Lab's, but have what makes it hard: day and night, sensors at windows
and inside, batteries that run low.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SENSORS = 54
SECONDS_PER_DAY = 86_400
COLUMNS = ("sensorID", "temperature", "humidity", "light", "voltage")
TIME = ("year", "month", "day", "hour", "minute", "second")
# Values that cannot be; sensors send them when their batteries run low.
POSSIBLE = {
    "sensorID": (1, SENSORS),
    "temperature": (-20.0, 60.0),
    "humidity": (0.0, 100.0),
    "light": (0.0, 100_000.0),
    "voltage": (1.8, 3.5),
}
FIELDS = ("date", "time", "epoch", "sensorID", "temperature", "humidity", "light", "voltage")


def read_lab(spark: SparkSession, path: str) -> DataFrame:
    """The Lab's file (date, time, epoch, mote, temperature, humidity, light, voltage), cleansed.

    Rows with missing or impossible values go, as in the paper on content-based routing.
    """
    parts = F.split(F.trim("value"), r"\s+")
    df = spark.read.text(path).select(
        *[F.try_element_at(parts, F.lit(i + 1)).alias(name) for i, name in enumerate(FIELDS)]
    )
    when = F.try_to_timestamp(F.concat_ws(" ", "date", "time"))
    numbers = [F.expr(f"try_cast({name} AS double)").alias(name) for name in COLUMNS]
    df = df.select(when.alias("at"), *numbers).dropna()
    for name, (low, high) in POSSIBLE.items():
        df = df.filter(F.col(name).between(low, high))
    clock = [F.expr(f"{part}(at)").cast("int").alias(part) for part in TIME]
    return df.select(F.col("sensorID").cast("int"), *COLUMNS[1:], *clock)


def made_up_lab(days: float = 3.0, every: float = 120.0, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Made-up readings in the order of their time: every sensor once `every` seconds.

    >>> lab = made_up_lab(days=1, every=1800)
    >>> len(lab["light"]), sorted(lab)[:3]
    (2592, ['day', 'hour', 'humidity'])
    >>> noon, night = (lab["light"][lab["hour"] == hour].mean() for hour in (12, 2))
    >>> bool(noon > 20 * night)
    True
    """
    random = np.random.default_rng(seed)
    ticks = np.arange(int(days * SECONDS_PER_DAY / every))
    # Each sensor reports at a moment of its own, another one every time.
    seconds = np.repeat(ticks * every, SENSORS) + np.tile(
        np.linspace(0, every, SENSORS), len(ticks)
    )
    seconds = np.floor((seconds + random.uniform(0, 31, len(seconds))) % (days * SECONDS_PER_DAY))
    sensor = np.tile(np.arange(1, SENSORS + 1), len(ticks))
    hour = seconds % SECONDS_PER_DAY / 3600
    # A third stands at windows, a third in offices that are lit by day, a third in dark corners.
    place = sensor % 3
    sun = np.clip(np.sin((hour - 6) / 12 * np.pi), 0, None)
    lamps = ((hour > 8) & (hour < 19)).astype(float)
    bright = random.uniform(0.6, 1.6, SENSORS)[sensor - 1]
    noise = random.lognormal(0.0, 0.35, len(sensor))
    light = np.choose(place, [60 * lamps, 1400 * sun + 40 * lamps, 550 * lamps]) * bright * noise
    light = light + random.exponential(1.5, len(sensor))
    warm = np.choose(place, [0.0, 5.0 * sun, 2.0 * lamps])
    temperature = 19 + 3 * sun + warm + random.normal(0, 0.8, len(sensor))
    dry = random.uniform(-4, 4, SENSORS)[sensor - 1]
    humidity = 44 - 0.9 * (temperature - 19) + dry + random.normal(0, 1.5, len(sensor))
    drained = random.uniform(0.0, 0.08, SENSORS)[sensor - 1] * seconds / SECONDS_PER_DAY
    voltage = 2.75 - drained + random.normal(0, 0.02, len(sensor))
    return {
        "sensorID": sensor,
        "temperature": temperature.round(3),
        "humidity": humidity.clip(0, 100).round(3),
        "light": light.round(2),
        "voltage": voltage.round(4),
        "year": np.full(len(sensor), 2004),
        "month": np.full(len(sensor), 3),
        "day": 1 + (seconds // SECONDS_PER_DAY).astype(int),
        "hour": hour.astype(int),
        "minute": (seconds % 3600 // 60).astype(int),
        "second": (seconds % 60).astype(int),
    }
