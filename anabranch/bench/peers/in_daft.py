"""The costly predicates on log records, as Daft says them."""

from collections.abc import Callable, Mapping
from typing import Any


def _json() -> Any:
    from daft import col
    from daft.functions import jq

    return jq(col("doc"), ".user.plan") == '"free"'


def _agent() -> Any:
    from daft import col
    from daft.functions import lower, regexp_extract

    return lower(regexp_extract(col("agent"), "([A-Za-z]+)/[0-9.]+$", 1)) == "safari"


def _fields() -> Any:
    from daft import col
    from daft.functions import get, regexp_extract_all

    return get(regexp_extract_all(col("line"), "=([a-z0-9]+)", 1), 7) == "gold"


def _regex() -> Any:
    from daft import col
    from daft.functions import regexp_extract

    code: Any = regexp_extract(col("line"), "status=([0-9]+) ", 1)
    return code < "400"


def _day() -> Any:
    from daft import col
    from daft.functions import day_of_week

    return day_of_week(col("seen")) == 0


def _path() -> Any:
    from daft import col
    from daft.functions import get, split

    return get(split(col("path"), "/"), 5) == "shop"


def _near() -> Any:
    from daft import col, lit
    from daft.functions import levenshtein_distance

    edits: Any = levenshtein_distance(col("token"), lit("abcdefghijklmnopqrstuvwx"))
    return edits <= 12


def _level() -> Any:
    from daft import col
    from daft.functions import lower, regexp_extract

    code: Any = regexp_extract(lower(col("line")), "(code|level)=([0-9]+) ", 2)
    return code < "400"


def _masked() -> Any:
    from daft import col
    from daft.functions import contains, regexp_replace

    return contains(regexp_replace(col("line"), "[0-9]+", "#"), "zone=# ")


IN_DAFT: Mapping[str, Callable[[], Any]] = {
    "regex": _regex,
    "json": _json,
    "day": _day,
    "agent": _agent,
    "fields": _fields,
    "near": _near,
    "level": _level,
    "masked": _masked,
    "path": _path,
}
