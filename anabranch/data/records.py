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
        "levenshtein(token, 'abcdefghijklmnopqrstuvwx') <= 12",
        "levenshtein(token, 'abcdefghijklmnopqrstuvwx') <= 12",
        "concat(substr('abcdefghijklmnopqrstuvwx', 1, IF(holds, 18, 6)), "
        "substr(repeat(hex(pmod(id, 9999) + 4096), 5), 1, IF(holds, 6, 18)))",
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
    NativePredicate(
        "url",
        "parse_url(url, 'QUERY', 'section') = 'garden'",
        "regexp_extract(url, '[?&]section=([^&]*)', 1) = 'garden'",
        "IF(holds, 'garden', 'indoor')",
        "section",
    ),
    NativePredicate(
        "stamp",
        "hour(to_timestamp(stamp, 'dd/MMM/yyyy:HH:mm:ss')) < 12",
        "hour(strptime(stamp, '%d/%b/%Y:%H:%M:%S')) < 12",
        # Some day, in the morning or in the afternoon; by UTC, as a text that has no zone.
        "concat(lpad(1 + pmod(xxhash64(id, 'date'), 28), 2, '0'), '/Mar/2024:', "
        "lpad(pmod(xxhash64(id, 'hour'), 12) + IF(holds, 0, 12), 2, '0'), ':30:15')",
        "stamp",
    ),
    NativePredicate(
        "level",
        "regexp_extract(lower(line), '(code|level)=([0-9]+) ', 2) < '400'",
        "regexp_extract(lower(line), '(code|level)=([0-9]+) ', 2) < '400'",
        "IF(holds, '200', '500')",
        "code",
    ),
    NativePredicate(
        "fields",
        "regexp_extract_all(line, '=([a-z0-9]+)', 1)[7] = 'gold'",
        "regexp_extract_all(line, '=([a-z0-9]+)', 1)[8] = 'gold'",
        "IF(holds, 'gold', 'lead')",
        "tier",
    ),
)
BY_NAME = {predicate.name: predicate for predicate in PREDICATES}


def records(
    spark: SparkSession,
    rows: int,
    names: Sequence[str],
    rates: Sequence[Sequence[Sequence[float]]],
    common: float = 0.0,
    seed: int = 0,
) -> DataFrame:
    """Records by epoch, class and predicate: the share of rows that pass.

    `rates[e][k][j]` is for the j-th predicate named, on rows of class k in the part e of the rows;
    predicates that are not named hold for all rows. With the chance `common` a row has one draw for
    all predicates: these are then correlated.
    """
    epochs, kinds = len(rates), len(rates[0])
    df = spark.range(rows).withColumn("kind_", F.pmod(F.xxhash64("id", F.lit(seed)), F.lit(kinds)))
    df = df.withColumn("epoch_", (F.col("id") * epochs / rows).cast("int"))
    shared = _draw("shared", seed) < common * STEPS
    for predicate in PREDICATES:
        holds = F.lit(True)
        if predicate.name in names:
            j = names.index(predicate.name)
            rate = F.lit([round(kind[j] * STEPS) for epoch in rates for kind in epoch])
            limit = rate[(F.col("epoch_") * kinds + F.col("kind_")).cast("int")]
            draw = F.when(shared, _draw("all", seed)).otherwise(_draw(predicate.name, seed))
            holds = draw < limit
        df = df.withColumn("holds", holds)
        df = df.withColumn(predicate.column, F.expr(predicate.field)).drop("holds")
    noise = F.sha2(F.col("id").cast("string"), 256)
    trace = F.sha2(F.concat(F.col("id").cast("string"), F.lit("trace")), 256)
    words = F.lit(list(KINDS))
    return df.select(
        "id",
        words[F.col("kind_").cast("int")].alias("kind"),
        F.format_string(
            "host=%s user=%s trace=%s session=%s status=%s zone=%s code=%s tier=%s ok",
            noise,
            F.substring(noise, 1, 9),
            trace,
            F.reverse(noise),
            "status",
            "zone",
            "code",
            "tier",
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
        F.format_string(
            "https://shop.example/%s?session=%s&section=%s&page=3",
            F.substring(noise, 1, 14),
            F.substring(noise, 20, 12),
            "section",
        ).alias("url"),
        "stamp",
    )


def _draw(salt: str, seed: int) -> Column:
    return F.pmod(F.xxhash64("id", F.lit(salt), F.lit(seed)), F.lit(STEPS))
