"""Network packets to monitor, after Example 1 of the A-Greedy paper, with a drift half-way.

In the first half most traffic is ordinary: few payloads carry a signature, many hosts have odd
names. In the second half an attack is on: most payloads carry the signature, few hosts are odd.
"""

import math
import re
from collections import Counter

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

# Shares of rows that pass each predicate, before and after the drift.
SIGNATURE = (0.05, 0.90)
ODD_HOST = (0.60, 0.06)
WATCHED = (0.50, 0.50)
SCORE = (0.70, 0.30)

WORDS = ("mail", "static", "images", "login", "shop", "video", "news", "docs")
PREFIXES = tuple(f"10.{i}." for i in range(0, 200, 2))


def packets(spark: SparkSession, rows: int, partitions: int, seed: int = 0) -> DataFrame:
    """pid, second, source, host, size, ttl, payload: made by Spark, the same for one seed."""
    late = F.col("pid") >= rows // 2
    name = F.substring(F.sha2(F.concat(F.lit(f"{seed}:"), F.col("pid").cast("string")), 256), 1, 14)
    words = F.array(*[F.lit(word) for word in WORDS])
    common = F.element_at(words, (_dice(seed, 1) * len(WORDS)).cast("int") + 1)
    attack = F.concat(
        F.lit("GET /shop/admin.php?id="), (_dice(seed, 2) * 9999).cast("int").cast("string")
    )
    quiet = F.concat(F.lit("GET /shop/item/"), (_dice(seed, 3) * 9999).cast("int").cast("string"))
    request = F.when(_dice(seed, 4) < _by(late, SIGNATURE), attack).otherwise(quiet)
    host = F.when(_dice(seed, 5) < _by(late, ODD_HOST), name).otherwise(common)
    net = (_dice(seed, 6) * 100).cast("int") * 2 + F.when(
        _dice(seed, 7) < _by(late, WATCHED), 0
    ).otherwise(1)
    hot = _dice(seed, 8) < _by(late, SCORE)
    return (
        spark.range(0, rows, 1, partitions)
        .withColumnRenamed("id", "pid")
        .select(
            "pid",
            (F.col("pid") / 1000).cast("int").alias("second"),
            F.format_string("10.%d.%d.7", net, (_dice(seed, 9) * 250).cast("int")).alias("source"),
            F.concat(host, F.lit(".example.com")).alias("host"),
            (_dice(seed, 10) * 1400 + 30).cast("int").alias("size"),
            F.when(hot, 3).otherwise(60).alias("ttl"),
            F.concat(request, F.lit(" HTTP/1.1 "), F.repeat(name, 6)).alias("payload"),
        )
    )


def _dice(seed: int, which: int) -> Column:
    """A number in [0, 1) that depends on the row, the seed and which die it is."""
    return F.pmod(F.xxhash64("pid", F.lit(seed), F.lit(which)), F.lit(1_000_003)) / 1_000_003


def _by(late: Column, shares: tuple[float, float]) -> Column:
    return F.when(late, shares[1]).otherwise(shares[0])


SIGNATURE_PATTERN = re.compile(r"(?:GET|POST|PUT) (?:/\w+)*/(?:admin|login|setup)\.php\?id=\d+\b")


def has_signature(payload: str) -> bool:
    """A request that asks for an administrator's page."""
    return SIGNATURE_PATTERN.search(payload) is not None


def odd_host(host: str) -> bool:
    """A name that no person chose: its letters are spread too evenly."""
    label = host.split(".", 1)[0]
    shares = [count / len(label) for count in Counter(label).values()]
    return -sum(share * math.log2(share) for share in shares) > 2.6


def watched_network(source: str) -> bool:
    """Longest-prefix match against the watched networks."""
    return max((len(p) for p in PREFIXES if source.startswith(p)), default=0) > 0


def risky(size: int, ttl: int) -> bool:
    """A small logistic model, a few terms of which are worth their time."""
    x, y = math.log1p(size) / 7, ttl / 64
    terms = [math.tanh(a * x - b * y) for a in (0.3, 0.7, 1.1) for b in (1.2, 2.4, 3.1, 4.0)]
    return 1 / (1 + math.exp(-sum(terms))) > 0.5
