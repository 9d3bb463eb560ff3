"""A source: the private table that is checked or published, as the page names it: a file of the folder, or an address.

An address may hold a password. It is kept in memory as long as it is needed and nowhere else; `shown` has no part of it
but the table's name.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from understudy.errors import UsageError
from understudy.studio.folder import TABLES, Folder

_SETTINGS = {"table", "sslmode", "connect_timeout", "application_name"}  # no setting that names a file
_SCHEMES = ("postgresql", "postgres")
KEY = secrets.token_bytes(32)  # of this process: a fingerprint tells nothing to whoever finds it


@dataclass(frozen=True)
class TableSource:
    """Where the rows are, for the library, and what may be shown of that."""

    place: str = field(repr=False)
    shown: str
    is_file: bool

    @staticmethod
    def of(folder: Folder, name: str, address: str = "") -> TableSource:
        """Return the source that a form names: an address if there is one, else a file of the folder."""
        if address.strip():
            return TableSource(_checked(address.strip()), f"table {_table(address.strip())}", False)
        if not name:
            raise UsageError("name the private table: choose a file of the folder, or give an address")
        return TableSource(str(folder.file(name, TABLES)), name, True)

    def fingerprint(self, key: bytes = KEY) -> str:
        """Return a keyed digest of the file's bytes, or of the address: it changes when another table is meant."""
        if not self.is_file:
            return hashlib.blake2b(self.place.encode(), key=key).hexdigest()
        try:
            with Path(self.place).open("rb") as file:
                return hashlib.file_digest(file, lambda: hashlib.blake2b(key=key)).hexdigest()
        except OSError:
            raise UsageError(f"{self.shown!r} cannot be read") from None


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address)
        settings = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise UsageError("this address cannot be read: is a character in it that needs a %?") from None
    if parts.scheme not in _SCHEMES:
        raise UsageError("an address begins with postgresql://; other engines are for the command line")
    if other := sorted({key for key, _ in settings} - _SETTINGS):
        raise UsageError(f"the setting {other[0]!r} of an address is for the command line")
    if [key for key, _ in settings].count("table") != 1:
        raise UsageError("an address names one table: postgresql://host/database?table=people")
    return address


def _table(address: str) -> str:
    return dict(parse_qsl(urlsplit(address).query))["table"]
