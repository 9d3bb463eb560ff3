"""Strict JSON: a text that somebody else wrote, bounded before it is read; no name twice, no NaN, no deep nesting."""

from __future__ import annotations

import json
from typing import Any, Final

from understudy.release.documents import refused_constant, unique_keys

MAX_MARKS: Final = 20_000_000  # brackets and commas: a list takes about twenty times its text in memory


def read_json(text: bytes) -> Any:
    """Return the document, or raise ValueError. How long the text may be is the caller's to check."""
    if sum(text.count(mark) for mark in (b"[", b"{", b",")) > MAX_MARKS:
        raise ValueError("too many parts")
    try:
        return json.loads(text.decode(), object_pairs_hook=unique_keys, parse_constant=refused_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
