"""Replacement: a file that takes another one's place once it is whole, and nothing that a crash left behind.

The new content is written to a hidden file beside the target, `.NAME.PID-TIME.part`. Its writer holds a lock on it that
ends with the process, so a file without a lock is one that a crash left behind: the next write to the same target
removes it. Windows refuses to remove a file that is open, which serves as well.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from understudy.errors import UnderstudyError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

_ATTEMPTS = 10  # another write may take our file for an abandoned one before it is locked


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that takes the place of `path` once it is complete and on disk.

    A failure leaves `path` as it was.
    """
    path = Path(os.path.realpath(path))
    try:
        remove_abandoned(path)
        part, file = _new_part(path)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
            _sync_folder(path.parent)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UnderstudyError(f"cannot write {path.name!r}: {error.strerror or 'the disk refused'}") from None


def remove_abandoned(path: Path) -> None:
    """Remove the hidden files of earlier writes to this target whose process is gone."""
    name = re.compile(rf"\.{re.escape(path.name)}\.[0-9]+-[0-9]+\.part")
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(part: Path) -> None:
    if not stat.S_ISREG(part.lstat().st_mode):
        return
    if fcntl is None:  # pragma: no cover - Windows
        part.unlink()
        return
    handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        part.unlink()
    finally:
        os.close(handle)


def _new_part(path: Path) -> tuple[Path, BinaryIO]:
    for _ in range(_ATTEMPTS):
        part = path.with_name(f".{path.name}.{os.getpid()}-{time.monotonic_ns()}.part")
        file = part.open("xb")
        if _held(file, part):
            return part, file
        file.close()
    raise OSError("the temporary file beside it is removed again and again")


def _held(file: BinaryIO, part: Path) -> bool:
    """Lock the new file; False if another write has taken it for an abandoned one."""
    if fcntl is None:  # pragma: no cover - Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks here, so nobody can find it without one
        return True
    try:
        return os.path.samestat(os.fstat(file.fileno()), part.stat())
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every system lets a folder be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
