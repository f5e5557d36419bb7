"""Whose checkpoint it is, before a stream goes on with it."""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from anabranch.kernel.joins.book import Book
from anabranch.spark.joins.operator import PAGES


def check_checkpoint(session: SparkSession, path: str, identity: Mapping[str, Any]) -> None:
    """Refuse the checkpoint of another join, and say in what it differs; a new one is fine."""
    operators = session.read.format("state-metadata").load(path)
    for row in operators.select("operatorId", "operatorProperties").distinct().collect():
        known = json.loads(row[1] or "{}").get("stateVariables", ())
        if PAGES in [variable["stateName"] for variable in known]:
            source = session.read.format("statestore").option("operatorId", row[0])
            pages = source.option("stateVarName", PAGES).load(path).select(f"value.{PAGES}")
            for page in pages.limit(1).collect():
                Book.from_json(page[0]).check(identity)
