"""Which ledgers this machine's user has spent from: a copy of a schema must not open a second ledger unnoticed.

One small file in the user's state folder, for their eyes only. It holds paths of ledgers, names of accounts, hashes of
schemas, and keyed hashes of where the data came from; nothing about rows. Where there is no such folder, or it cannot
be written, nothing is remembered.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.lock import ProcessLock

MAX_KNOWN = 1000


@dataclass(frozen=True)
class KnownLedger:
    """An account, the ledger that it is kept in, and the schema and source of a run on it."""

    account: str
    ledger: str
    schema: str
    source: str | None


def other_ledgers(account: str, ledger: Path, schema: str, source: str | None) -> list[Path]:
    """Return the other ledgers, still there, on which the account was used with this schema or this source.

    Empty if this ledger has been used for the account before: then somebody decided so.
    """
    try:
        key, known = _read(_file())
    except OSError:
        return []
    keyed = None if source is None else _keyed(key, source)
    here = str(ledger.resolve())
    same = [k for k in known if k.account == account and (k.schema == schema or (keyed and k.source == keyed))]
    if any(k.ledger == here for k in known if k.account == account):
        return []
    return [Path(path) for path in dict.fromkeys(k.ledger for k in same) if Path(path).is_file()]


def remember(account: str, ledger: Path, schema: str, source: str | None) -> None:
    """Note the ledger of a run. Whatever prevents the note does not prevent the run."""
    with suppress(OSError), _locked(_file()) as file:
        key, known = _read(file)
        fresh = KnownLedger(account, str(ledger.resolve()), schema, None if source is None else _keyed(key, source))
        kept = [k for k in known if k != fresh and Path(k.ledger).is_file()]
        _write(file, key, [*kept, fresh][-MAX_KNOWN:])


def source_name(data: Any) -> str | None:
    """Return what names the source of a run: an address or the full path of a file; None for a frame in memory."""
    from understudy.engines.addresses import scheme_of

    if not isinstance(data, str | os.PathLike):
        return None
    return str(data) if scheme_of(data) is not None else str(Path(data).resolve())


def _file() -> Path:
    """Return the file's path; an OSError where the user has no state folder."""
    folder = os.environ.get("XDG_STATE_HOME") or (os.environ.get("LOCALAPPDATA") if os.name == "nt" else None)
    try:
        return (Path(folder) if folder else Path.home() / ".local" / "state") / "understudy" / "known-ledgers.json"
    except RuntimeError:
        raise OSError("no home folder") from None


def _read(file: Path) -> tuple[bytes, list[KnownLedger]]:
    """Return the key and what is known; begin anew where the file cannot be understood."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        return bytes.fromhex(document["key"]), [KnownLedger(**line) for line in document["ledgers"]]
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return secrets.token_bytes(32), []


def _write(file: Path, key: bytes, known: list[KnownLedger]) -> None:
    document = {"key": key.hex(), "ledgers": [vars(line) for line in known]}
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump(document, out, indent=1)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _locked(file: Path) -> Iterator[Path]:
    """Hold the file's lock; an OSError if another process does not let go of it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = ProcessLock(file.with_name(file.name + ".lock"))
    for _ in range(40):  # two seconds
        if lock.acquire():
            break
        time.sleep(0.05)
    else:
        raise OSError("in use")
    try:
        yield file
    finally:
        lock.release()


def _keyed(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
