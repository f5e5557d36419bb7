"""A real model as a predicate: messages judged by a linear classifier over hashed words."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from anabranch.bench.peers.task import Predicate, Task
from anabranch.bench.peers.workload import Workload, register, task_of

COMMON = [
    "the",
    "a",
    "to",
    "of",
    "and",
    "in",
    "is",
    "it",
    "you",
    "that",
    "was",
    "for",
    "on",
    "are",
    "with",
    "as",
    "at",
    "be",
    "this",
    "have",
    "from",
]
OFFERS = [
    "free",
    "winner",
    "prize",
    "cash",
    "claim",
    "urgent",
    "offer",
    "click",
    "credit",
    "bonus",
    "cheap",
    "loan",
    "deal",
]
TALK = [
    "meeting",
    "lunch",
    "report",
    "family",
    "weekend",
    "project",
    "thanks",
    "tomorrow",
    "call",
    "train",
    "house",
    "music",
]
WORDS = 24
AREAS = ("mail", "chat", "forum")


def texts(rows: int, seed: int) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """Messages of which a third are offers, and which are."""
    random = np.random.default_rng(seed)
    offers = random.random(rows) < 1 / 3
    common = random.integers(0, len(COMMON), (rows, WORDS))
    own = random.random((rows, WORDS)) < 0.25
    picks = random.integers(0, 12, (rows, WORDS))
    told = []
    for offer, words, mine, pick in zip(offers, common, own, picks, strict=True):
        source = OFFERS if offer else TALK
        told.append(
            " ".join(
                source[p] if m else COMMON[w] for w, m, p in zip(words, mine, pick, strict=True)
            )
        )
    return told, offers.astype(np.int64)


@cache
def model() -> Any:
    """Trained once in each process, on the same messages."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    words, labels = texts(2_000, seed=1)
    pipeline = make_pipeline(HashingVectorizer(n_features=2**14), SGDClassifier(random_state=0))
    return pipeline.fit(words, labels)


def is_offer(text: pa.Array) -> pa.Array:
    return pa.array(model().predict(text.to_pylist()).astype(bool))


NUMBERS = re.compile(r"(\d+)-(\d+)-(\d+)")


def checked(code: str) -> bool:
    """The digits of a code add up."""
    found = NUMBERS.fullmatch(code)
    return found is not None and sum(map(int, found.groups())) % 3 == 0


def fresh(stamp: str) -> bool:
    hours, minutes, seconds = stamp.split(":")
    return 3600 * int(hours) + 60 * int(minutes) + int(seconds) < 43_200


def shouts(title: str) -> bool:
    return sum(c.isupper() for c in title) > len(title) // 2


def made(_: SparkSession, folder: Path, rows: int) -> Task:
    random = np.random.default_rng(3)
    messages, offers = texts(rows, seed=2)
    area = np.array(AREAS)[random.integers(0, len(AREAS), rows)]
    codes = random.integers(100, 999, (rows, 3))
    seconds = random.integers(0, 86_400, rows)
    loud = random.random(rows) < np.where(offers == 1, 0.8, 0.1)
    table = pa.table(
        {
            "id": np.arange(rows),
            "area": area,
            "message": messages,
            "code": ["-".join(map(str, each)) for each in codes.tolist()],
            "stamp": [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds.tolist()],
            "title": [("BUY NOW" if up else "Hello all") for up in loud.tolist()],
        }
    )
    predicates = [
        Predicate("is_offer", ("message",), batch=is_offer),
        Predicate("checked", ("code",), row=checked),
        Predicate("fresh", ("stamp",), row=fresh),
        Predicate("shouts", ("title",), row=shouts),
    ]
    return task_of(table, folder, predicates)


# In less time one sees how long a system takes to begin.
register(
    Workload("model", "a text classifier and three functions, written in that order", made, 2.0)
)
