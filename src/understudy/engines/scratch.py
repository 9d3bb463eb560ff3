"""A scratch folder: private and temporary, gone when it is closed, when the process ends, or at the next start.

A lock that dies with its process tells a folder in use from one that a crash has left behind.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from understudy.errors import UsageError
from understudy.lock import ProcessLock

PREFIX = "understudy-scratch-"
_NAME = re.compile(PREFIX + r"[0-9]+-[a-z0-9_]{8}")
_LOCK = "process.lock"
_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # Windows would change line feeds
_YOUNG = 60.0  # seconds in which a folder without a lock may still be on its way


class Scratch:
    """A folder of mode 0700 whose files have mode 0600; room for `needed` bytes is asked for first."""

    def __init__(self, needed: int = 0) -> None:
        root = _root()
        remove_abandoned(root)
        _check_room(root, needed)
        self.path, lock = _new_folder(root)
        self._files: list[BinaryIO] = []
        self._close = weakref.finalize(self, _remove, self.path, lock, self._files, os.getpid())

    def create(self, name: str) -> BinaryIO:
        """Return a new file to write and read."""
        with self.told():
            handle = os.open(self.path / name, _NEW_FILE, 0o600)
            self._files.append(os.fdopen(handle, "w+b", buffering=0))
            return self._files[-1]

    @staticmethod
    @contextmanager
    def told() -> Iterator[None]:
        """Turn the error of a disk that refuses into one that says which folder, and how to choose another."""
        try:
            yield
        except OSError as error:
            raise UsageError(_full(error.strerror or "the disk refused")) from None

    def close(self) -> None:
        self._close()


def write_all(file: BinaryIO, data: bytearray | memoryview) -> None:
    """Write bytes to a file without a buffer, which may take them in several parts."""
    left = memoryview(data)
    while len(left):
        left = left[file.write(left) :]


def _root() -> Path:
    """Return the folder for temporary files; refuse a $TMPDIR that cannot be used, where Python takes another."""
    named = os.environ.get("TMPDIR")
    if named and not (Path(named).is_dir() and os.access(named, os.W_OK)):
        raise UsageError(
            f"TMPDIR names {named!r}, which is not a folder that can be written to: create it, or unset it"
        )
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        raise UsageError("there is no temporary folder that can be written to: name one with TMPDIR") from None


def remove_abandoned(root: Path) -> None:
    """Remove the scratch folders of this user whose process is gone, and nothing that a link points to.

    Only a folder with our name and our lock is removed with what it holds; one without a lock only if it is empty.
    """
    with suppress(OSError):
        for path in root.glob(f"{PREFIX}*"):
            with suppress(OSError):
                _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    found = path.lstat()
    if not _NAME.fullmatch(path.name) or not stat.S_ISDIR(found.st_mode):
        return
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        return
    if not (path / _LOCK).is_file():
        if time.time() - found.st_mtime > _YOUNG:
            path.rmdir()
        return
    lock = ProcessLock(path / _LOCK)
    if lock.acquire():
        _empty(path, lock)


def _empty(path: Path, lock: ProcessLock) -> None:
    """Remove a folder's files, its lock last: one that is half removed when its process dies is still known as ours."""
    with suppress(OSError):
        for entry in path.iterdir():
            if entry.name == _LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
    lock.release()
    with suppress(OSError):
        path.rmdir()


def _new_folder(root: Path) -> tuple[Path, ProcessLock]:
    for _ in range(10):
        with Scratch.told():
            path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=root))
        lock = ProcessLock(path / _LOCK)
        try:
            # another start may have taken the folder for an abandoned one before the lock was held
            if lock.acquire() and (path / _LOCK).exists():
                return path, lock
        except FileNotFoundError:
            continue
        except OSError as error:
            _empty(path, lock)
            raise UsageError(_full(error.strerror or "the disk refused")) from None
        (path / _LOCK).unlink(missing_ok=True)
        _empty(path, lock)
    raise UsageError(_full("files cannot be locked there"))


def _remove(path: Path, lock: ProcessLock, files: list[BinaryIO], owner: int) -> None:
    for file in files:
        file.close()
    if os.getpid() != owner:  # a forked child ends: the folder is its parent's
        return
    _empty(path, lock)


def _check_room(root: Path, needed: int) -> None:
    try:
        free = shutil.disk_usage(root).free
    except OSError as error:
        raise UsageError(_full(error.strerror or "it cannot be read")) from None
    if needed > free:
        raise UsageError(
            f"the coded copy of the table needs about {_shown(_one_digit(needed))} in the temporary folder "
            f"{str(root)!r}, which has {_shown(free)} free: make room, or name a folder on a larger disk with TMPDIR"
        )


def _one_digit(size: int) -> int:
    """Round up to one digit: the size of the table may be private."""
    unit = int(10 ** (len(str(size)) - 1))
    return -(-size // unit) * unit


def _shown(size: int) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 10**9 else f"{size / 1e6:.3g} MB"


def _full(reason: str) -> str:
    return (
        f"the coded copy of the table cannot be kept in the temporary folder {tempfile.gettempdir()!r} "
        f"({reason[:1].lower() + reason[1:]}): make room there, or name a folder on a larger disk with TMPDIR"
    )
