"""Undo: what is taken back where the work after it fails, however it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def undone_on_error(undo: Callable[[], object]) -> Iterator[None]:
    """Call `undo` if anything is raised inside, and raise it on.

    >>> with undone_on_error(lambda: print("closed")):
    ...     print("used")
    used
    """
    try:
        yield
    except BaseException:
        undo()
        raise
