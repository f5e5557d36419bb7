"""Whose checkpoint it is, before a stream goes on with it."""

import json

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from anabranch.kernel.joins.book import Book
from anabranch.spark.joins.operator import PAGES


def book_in(session: SparkSession, path: str) -> Book | None:
    """A page of the join that a checkpoint belongs to; None if no micro-batch was committed."""
    operators = session.read.format("state-metadata").load(path).filter(F.col("maxBatchId") >= 0)
    for row in operators.select("operatorId", "operatorProperties").distinct().collect():
        known = json.loads(row[1] or "{}").get("stateVariables", ())
        if PAGES in [variable["stateName"] for variable in known]:
            source = session.read.format("statestore").option("operatorId", row[0])
            pages = source.option("stateVarName", PAGES).load(path).select(f"value.{PAGES}")
            for page in pages.limit(1).collect():
                return Book.from_json(page[0])
    return None
