"""Log records whose native predicates hold, or not, as a table of rates says.

Every predicate reads a text of the same length whether it holds or not, so that its cost does not
depend on the outcome.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

# Steps of the rates.
STEPS = 10_000
KINDS = ("audit", "batch", "click", "debug")


@dataclass(frozen=True)
class NativePredicate:
    """One predicate in Spark's SQL and in DuckDB's, and the field that makes it hold or not."""

    name: str
    spark: str
    duckdb: str
    field: str  # as SQL, of the boolean `holds`
    column: str


PREDICATES = (
    NativePredicate(
        "regex",
        r"regexp_extract(line, 'status=([0-9]+) ', 1) < '400'",
        r"regexp_extract(line, 'status=([0-9]+) ', 1) < '400'",
        "IF(holds, '200', '500')",
        "status",
    ),
    NativePredicate(
        "json",
        "get_json_object(doc, '$.user.plan') = 'free'",
        "json_extract_string(doc, '$.user.plan') = 'free'",
        "IF(holds, 'free', 'paid')",
        "plan",
    ),
    NativePredicate(
        "day",
        "date_format(seen, 'EEEE') = 'Monday'",
        "dayname(seen) = 'Monday'",
        # Some week, some day of it; the first is a Monday.
        "date_add(date'2024-01-01', int(7 * pmod(xxhash64(id, 'week'), 500) + "
        "IF(holds, 0, 1 + pmod(xxhash64(id, 'day'), 6))))",
        "seen",
    ),
    NativePredicate(
        "near",
        "levenshtein(token, 'abcdefghijklmnop') <= 8",
        "levenshtein(token, 'abcdefghijklmnop') <= 8",
        "concat(substr('abcdefghijklmnop', 1, IF(holds, 12, 4)), "
        "substr(repeat(hex(pmod(id, 9999) + 4096), 3), 1, IF(holds, 4, 12)))",
        "token",
    ),
    NativePredicate(
        "masked",
        "contains(regexp_replace(line, '[0-9]+', '#'), 'zone=# ')",
        "contains(regexp_replace(line, '[0-9]+', '#', 'g'), 'zone=# ')",
        "IF(holds, '77', 'xx')",
        "zone",
    ),
    NativePredicate(
        "path",
        "split(path, '/')[5] = 'shop'",
        "string_split(path, '/')[6] = 'shop'",
        "IF(holds, 'shop', 'blog')",
        "leaf",
    ),
    NativePredicate(
        "words",
        "upper(split_part(title, ' ', 4)) = 'ROBERT'",
        "upper(split_part(title, ' ', 4)) = 'ROBERT'",
        "IF(holds, 'Robert', 'Anders')",
        "who",
    ),
    NativePredicate(
        "agent",
        "lower(regexp_extract(agent, '([A-Za-z]+)/[0-9.]+$', 1)) = 'safari'",
        "lower(regexp_extract(agent, '([A-Za-z]+)/[0-9.]+$', 1)) = 'safari'",
        "IF(holds, 'Safari', 'Chrome')",
        "browser",
    ),
)


def records(
    spark: SparkSession,
    rows: int,
    rates: Sequence[Sequence[Sequence[float]]],
    common: float = 0.0,
    seed: int = 0,
) -> DataFrame:
    """Records by epoch, class and predicate: the share of rows that pass.

    `rates[e][k][j]` is for predicate j on rows of class k in the part e of the rows. With the
    chance `common` a row has one draw for all predicates: these are then correlated.
    """
    epochs, kinds = len(rates), len(rates[0])
    df = spark.range(rows).withColumn("kind_", F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(kinds)))
    df = df.withColumn("epoch_", (F.col("id") * epochs / rows).cast("int"))
    shared = _draw("shared", seed) < common * STEPS
    for j, predicate in enumerate(PREDICATES[: len(rates[0][0])]):
        table = [[round(kind[j] * STEPS) for kind in epoch] for epoch in rates]
        rate = F.lit([step for epoch in table for step in epoch])
        limit = rate[(F.col("epoch_") * kinds + F.col("kind_")).cast("int")]
        draw = F.when(shared, _draw("all", seed)).otherwise(_draw(predicate.name, seed))
        df = df.withColumn("holds", draw < limit)
        df = df.withColumn(predicate.column, F.expr(predicate.field)).drop("holds")
    for predicate in PREDICATES[len(rates[0][0]) :]:
        value = F.expr(predicate.field.replace("holds", "true"))
        df = df.withColumn(predicate.column, value)
    noise = F.sha2(F.col("id").cast("string"), 256)
    trace = F.sha2(F.concat(F.col("id").cast("string"), F.lit("trace")), 256)
    names = F.lit(list(KINDS))
    return df.select(
        "id",
        names[F.col("kind_").cast("int")].alias("kind"),
        F.format_string(
            "host=%s user=%s trace=%s session=%s status=%s zone=%s ok",
            noise,
            F.substring(noise, 1, 9),
            trace,
            F.reverse(noise),
            "status",
            "zone",
        ).alias("line"),
        F.format_string(
            '{"id":"%s","trace":"%s","user":{"name":"%s","plan":"%s"},"tags":["a","b"]}',
            noise,
            trace,
            F.substring(noise, 5, 12),
            "plan",
        ).alias("doc"),
        "seen",
        "token",
        F.format_string("/a/%s/b/%s/%s/x", F.substring(noise, 9, 6), F.lit("c"), "leaf").alias(
            "path"
        ),
        F.format_string("The great Mr %s again", "who").alias("title"),
        F.format_string("Mozilla/5.0 (%s) %s/17.4", F.substring(noise, 1, 20), "browser").alias(
            "agent"
        ),
    )


def _draw(salt: str, seed: int) -> Column:
    return F.pmod(F.xxhash64("id", F.lit(salt), F.lit(seed)), F.lit(STEPS))
