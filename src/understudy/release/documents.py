"""Documents of a release file: JSON from a stranger, read so that nothing behind has to expect the worst of it.

A document is one object in UTF-8. How many values it has and how deeply they are nested is bounded before it is parsed
or walked; no key stands twice, no number is infinite, and every text can be encoded again.
"""

from __future__ import annotations

import json
import math
from typing import Any

from understudy.errors import ReleaseError

MAX_VALUES = 4_000_000
MAX_DEPTH = 100  # a taxonomy has a handful of levels


def read_document(data: bytes, name: str) -> dict[str, Any]:
    """Return the object that a member of the release holds; anything odd about it is a ReleaseError."""
    try:
        document = _parsed(data)
        if isinstance(document, dict):
            return document
    except (ValueError, RecursionError):
        pass
    raise ReleaseError(f"{name} of the release is damaged")


def listed(value: Any) -> list[Any]:
    """Return a list of a document; raise a ValueError where it is none."""
    if not isinstance(value, list):
        raise ValueError("this is not a list")
    return value


def write_document(document: Any) -> bytes:
    """Return the one text of a document: the same content is the same bytes."""
    return json.dumps(document, sort_keys=True, ensure_ascii=True, indent=1, allow_nan=False).encode()


def _parsed(data: bytes) -> Any:
    # every value but the first of its container follows a comma, and every container has a bracket
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) >= MAX_VALUES:
        raise ValueError("too many values")
    document = json.loads(
        data.decode("utf-8"), parse_float=_finite, parse_constant=refused_constant, object_pairs_hook=_once
    )
    _check_nesting(document)
    return document


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("a number is too large")
    return number


def refused_constant(text: str) -> float:
    """Refuse NaN and the infinities, which JSON has not."""
    raise ValueError(f"{text} is no number of JSON")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; refuse one in which a key stands twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key in (found := unique_keys(pairs)):
        _check_text(key)
    return found


def _check_nesting(document: Any) -> None:
    """Walk level by level, so that the walk itself does not nest."""
    level = [document]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += value.values()
            elif isinstance(value, list):
                below += value
            elif isinstance(value, str):
                _check_text(value)
        if not below:
            return
        level = below
    raise ValueError("nested too deeply")


def _check_text(text: str) -> None:
    if not text.isascii():
        text.encode()  # half of a surrogate pair cannot be written anywhere
