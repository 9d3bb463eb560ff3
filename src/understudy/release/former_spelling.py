"""The former spelling of a card and of facts, `card["epsilon"]`: for one version, with a warning."""

from __future__ import annotations

import warnings
from typing import Any, Protocol


class _Document(Protocol):
    def as_json(self) -> dict[str, Any]: ...


class ReadByWords:
    """Reads what has attributes by the words of its JSON document too."""

    def __getitem__(self: _Document, name: str) -> Any:
        return _warned(self)[name]

    def get(self: _Document, name: str, default: Any = None) -> Any:
        """Return what a word of the document says, or `default`."""
        return _warned(self).get(name, default)

    def __contains__(self: _Document, name: str) -> bool:
        return name in _warned(self)


def _warned(document: _Document) -> dict[str, Any]:
    what = type(document).__name__
    remedy = f"a {what} has attributes, and as_json() is its document: `[]`, `get` and `in` leave with the next version"
    warnings.warn(remedy, DeprecationWarning, stacklevel=3)
    return document.as_json()
