"""Writes the documents that are made from results, or says which are not as they would be."""

from pathlib import Path

from anabranch.bench.results.page import page
from anabranch.bench.results.readme import headlines, with_headlines


def documents(root: Path) -> dict[Path, str]:
    """What is made, by file."""
    readme = root / "README.md"
    told = readme.read_text(encoding="utf-8")
    return {
        root / "docs" / "results.md": page(root),
        readme: with_headlines(told, headlines(root)),
    }


def write(root: Path) -> list[Path]:
    """Write all, and tell which have changed."""
    changed = _stale(root)
    for path, text in changed.items():
        path.write_text(text, encoding="utf-8")
    return list(changed)


def stale(root: Path) -> list[Path]:
    """Those that are not as the data would make them."""
    return list(_stale(root))


def _stale(root: Path) -> dict[Path, str]:
    return {
        path: text
        for path, text in documents(root).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }
