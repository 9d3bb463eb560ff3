"""A lock that dies with its process: how a later run knows that an earlier one is really gone.

The one place with operating-system imports, guarded: fcntl on POSIX, msvcrt on Windows.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


class ProcessLock:
    """Held from `acquire` until `release` or the end of the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def acquire(self) -> bool:
        """Lock the file; one that its last holder removed before it was locked here is made again."""
        while (handle := self._locked()) is not None:
            if self._still_there(handle):
                self._handle = handle
                return True
            os.close(handle)
        return False

    def _locked(self) -> int | None:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:  # pragma: no cover - Windows
                import msvcrt

                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            os.close(handle)
            return None
        return handle

    def _still_there(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give the lock back and remove its file.

        The file goes first: nobody can take a lock whose name is about to go. Windows does not let an open file be
        removed, so there it goes last, and stays if somebody else has it open by then.
        """
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        if fcntl is not None:
            self._path.unlink(missing_ok=True)
            os.close(handle)
        else:  # pragma: no cover - Windows
            os.close(handle)
            with contextlib.suppress(PermissionError):
                self._path.unlink(missing_ok=True)


def remove_stale(folder: Path, pattern: str) -> None:
    """Remove the lock files of this name (a regular expression) that no process holds."""
    for path in folder.iterdir():
        if re.fullmatch(pattern, path.name):
            lock = ProcessLock(path)
            if lock.acquire():
                lock.release()


def on_network_file_system(path: Path) -> bool:
    """Return whether SQLite's locks cannot be trusted here (Linux tells; elsewhere we do not know and say no)."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return False
    remote = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs", "davfs"}
    best = ("", "")
    where = str(path.resolve())
    for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines():
        parts = line.split()
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ")
        if (where == point or where.startswith(point.rstrip("/") + "/")) and len(point) > len(best[0]):
            best = (point, parts[2])
    return best[1] in remote
