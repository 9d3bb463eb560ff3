"""Names of delimited text files: which files are read as tables of text, and which of them have tabs."""

from __future__ import annotations

_TABS = (".tsv", ".tab")
_TABLES = (".csv", *_TABS)
_TEXTS = (".txt", ".dat", ".data", ".asc")  # a table of text, if somebody says so
_PACKED = ".gz"


def _plain(name: str) -> str:
    return name.lower().removesuffix(_PACKED)


def is_delimited(name: str) -> bool:
    """Return whether a file of this name is a table of text, packed or not.

    >>> is_delimited("account.asc.gz"), is_delimited("people.json")
    (True, False)
    """
    return _plain(name).endswith((*_TABLES, *_TEXTS))


def is_any_text(name: str) -> bool:
    """Return whether the name leaves open that the file is a table: its first line could be anything."""
    return _plain(name).endswith(_TEXTS)


def has_tabs(name: str) -> bool:
    """Return whether the name says that tabs are between the cells."""
    return _plain(name).endswith(_TABS)
