"""The examples, on bounded inputs, where joins mean the same."""

import importlib
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import functions as F

from anabranch.data.flights import flight_tables
from anabranch.data.market import ROWS, Market
from anabranch.data.routers import ROUTERS, Routers

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module


def table(spark, minutes):
    return spark.createDataFrame(pd.concat(minutes))


def test_stocks(spark, example):
    frames = {name: table(spark, Market(0.3).minutes(name, 4)) for name in ROWS}
    found = example("stocks").declared(frames).run().df
    rows = found.collect()
    assert found.columns == ["company", "price", "title", "study", "event_time"]
    assert rows
    assert all(row.price > 100 and row.study.startswith("research") for row in rows)


def test_routers(spark, example):
    frames = {name: table(spark, Routers(300).minutes(name, 2)) for name in ROUTERS}
    traffic, _ = example("routers").common_traffic(frames)
    joined = frames["r1"].drop("ts").join(frames["r2"], "packet", "leftsemi")
    joined = joined.join(frames["r3"], "packet", "leftsemi")
    joined = joined.join(frames["r4"].select("packet", "ts"), "packet")
    window = F.window("ts", "10 minutes", "1 minute")
    plain = joined.groupBy(window).agg(F.sum("size").alias("bytes"))
    assert sorted(map(tuple, traffic.collect())) == sorted(map(tuple, plain.collect()))
    assert traffic.count() > 9


def test_flights(spark, example):
    flights = example("flights")
    data = flight_tables()
    streams = {n: table(spark, flights.by_day(data[n], 2)) for n in ("flights", "weather")}
    bounded = {n: spark.createDataFrame(data[n]) for n in ("planes", "airports", "airlines")}
    found = flights.joined(streams, bounded)[0].toPandas()
    rough = data["weather"].query("wind_speed > 15 or precip > 0")
    late = pd.concat(flights.by_day(data["flights"], 2)).query("dep_delay > 30")
    plain = late.merge(rough, on=["origin", "time_hour"]).merge(data["planes"], on="tailnum")
    plain = plain.merge(data["airports"], left_on="dest", right_on="faa")
    plain = plain.merge(data["airlines"], on="carrier")
    assert sorted(found["dep_delay"]) == sorted(plain["dep_delay"])
    assert len(plain) > 5
