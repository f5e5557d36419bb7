"""Trades with news on their sector and research on their company: three windows, one operator.

python examples/stocks.py
"""

import tempfile
from pathlib import Path

from following import session, to_end
from pyspark.sql import DataFrame

import anabranch as ab
from anabranch.data.files import read_streams, write_stream
from anabranch.data.market import ROWS, Market


def declared(streams: dict[str, DataFrame]) -> ab.Join:
    return (
        ab.join(**streams)
        .on("trades.sector = news.sector", "trades.company = research.company")
        .within(
            trades="10 seconds",
            news="2 minutes",
            research="3 minutes",
            time="ts",
            delay="5 seconds",
        )
        .where("trades.price > 100")
        .select(
            "trades.company", "trades.price", "news.title", "research.title AS study", "event_time"
        )
    )


def main(minutes: int = 12) -> None:
    spark = session("stocks")
    with tempfile.TemporaryDirectory() as root:
        for name in ROWS:
            write_stream(Path(root) / name, Market().minutes(name, minutes))
        run = declared(read_streams(spark, Path(root), ROWS)).run(policy="auto")
        print(run.explain())
        found = to_end(run.df, "stocks")
        found.orderBy("event_time").show(5, truncate=False)
        print(run.report())
        for source, plan in run.plans().items():
            print(f"rows of {source} probe by {plan}")
    spark.stop()


if __name__ == "__main__":
    main()
