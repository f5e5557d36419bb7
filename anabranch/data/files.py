"""Tables as the files of a stream: one per micro-batch, taken in the order of their numbers."""

import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

# File i is as if written i seconds after this: streams take older files first.
WRITTEN = 1_700_000_000


def write_stream(folder: Path, tables: Iterable[pd.DataFrame]) -> None:
    """One file per table.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as root:
    ...     write_stream(Path(root) / "a", [pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [2]})])
    ...     files = sorted((Path(root) / "a").iterdir())
    ...     [path.name for path in files], files[0].stat().st_mtime < files[1].stat().st_mtime
    (['00000.parquet', '00001.parquet'], True)
    """
    folder.mkdir(parents=True)
    for number, table in enumerate(tables):
        path = folder / f"{number:05d}.parquet"
        table.to_parquet(path, index=False)
        os.utime(path, (WRITTEN + number, WRITTEN + number))
