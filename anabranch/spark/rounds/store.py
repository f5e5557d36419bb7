"""What a stream in rounds knows, kept under its checkpoint as JSON, written atomically."""

import json
import re
from typing import Any

from pyspark.sql import SparkSession

from anabranch.model import PlanError

FORMAT = "anabranch-rounds/2"
FOLDER = "anabranch"
# States that are kept, the newest.
KEPT = 5


class Store:
    """One file per round, in a folder of any file system that Spark can reach."""

    def __init__(self, session: SparkSession, checkpoint: str) -> None:
        context: Any = session.sparkContext
        self._fs = context._jvm.org.apache.hadoop.fs
        configuration = context._jsc.hadoopConfiguration()
        folder = self._fs.Path(checkpoint, FOLDER)
        files = folder.getFileSystem(configuration)
        summing = context._jvm.java.lang.Class.forName("org.apache.hadoop.fs.ChecksumFileSystem")
        if summing.isInstance(files):
            files = files.getRawFileSystem()  # a checksum is a second file, and renamed apart
        self._files = files
        self._folder = self._files.makeQualified(folder)
        self._io = context._jvm.org.apache.commons.io.IOUtils

    def save(self, number: int, data: dict[str, Any]) -> None:
        """What is known after a round. Whoever reads finds all of it, or the state before."""
        target = self._path(number)
        partial = self._fs.Path(self._folder, f".{target.getName()}.partial")
        stream = self._files.create(partial, True)
        try:
            text = json.dumps({"format": FORMAT, "round": number, **data})
            stream.write(text.encode())
        finally:
            stream.close()
        # Some file systems do not rename to what exists, as after a round that is run again. With
        # that gone the state before the round is the newest: the one to run it with.
        if not self._files.rename(partial, target):
            self._files.delete(target, False)
            if not self._files.rename(partial, target):
                raise OSError(f"cannot write the state {target.toString()}")
        self._files.delete(self._path(number - KEPT), False)

    def load(self, before: int | None = None) -> dict[str, Any] | None:
        """The newest state, of the rounds before that one; None if there is none."""
        rounds = [number for number in self._rounds() if before is None or number < before]
        if not rounds:
            return None
        path = self._path(rounds[-1])
        stream = self._files.open(path)
        try:
            text = self._io.toString(stream, "UTF-8")
        finally:
            stream.close()
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise PlanError(f"damaged state {path.toString()}: {error}") from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise PlanError(f'{path.toString()} is no state: the "format" must be "{FORMAT}"')
        return data

    def _path(self, number: int) -> Any:
        return self._fs.Path(self._folder, f"round-{number:012d}.json")

    def _rounds(self) -> list[int]:
        if not self._files.exists(self._folder):
            return []
        names = [status.getPath().getName() for status in self._files.listStatus(self._folder)]
        found = (re.fullmatch(r"round-(\d+)\.json", name) for name in names)
        return sorted(int(match[1]) for match in found if match)
