"""How many bytes the newest snapshot of a stream's state has."""

import json
import zipfile
from pathlib import Path


def snapshot_bytes(checkpoint: Path) -> int:
    """Of all stateful operators, partitions and stores: RocksDB's files, by the newest metadata."""
    newest: dict[Path, Path] = {}
    for path in (checkpoint / "state").rglob("*.zip"):
        known = newest.get(path.parent)
        if known is None or _version(path) > _version(known):
            newest[path.parent] = path
    return sum(map(_bytes, newest.values()))


def _version(path: Path) -> int:
    return int(path.stem.split("_")[0])


def _bytes(path: Path) -> int:
    """The archive has RocksDB's small files, and names the tables that it shares with others."""
    with zipfile.ZipFile(path) as archive:
        metadata = archive.read("metadata").decode()
    told = json.loads(metadata.split("\n", 1)[1])
    return path.stat().st_size + sum(int(table["sizeBytes"]) for table in told["sstFiles"])
