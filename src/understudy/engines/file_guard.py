"""A file that must not change while it is read: half of one table and half of another is no table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.errors import DataError


@contextmanager
def unchanged(path: Path) -> Iterator[None]:
    """Raise if the file was replaced, cut or written to in the meantime, whatever else went wrong because of it."""
    before = _stamp(path)
    try:
        yield
    except DataError:
        if _stamp(path) == before:
            raise
    if _stamp(path) != before:
        raise DataError(
            f"{path.name!r} changed while it was being read: nothing was charged. Wait until it is complete, "
            "or publish a copy of it"
        ) from None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
