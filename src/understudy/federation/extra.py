"""The extra that a federation needs, asked for by name."""

from __future__ import annotations

from importlib.util import find_spec

from understudy.errors import UsageError


def needs_cryptography() -> None:
    if find_spec("cryptography") is None:
        raise UsageError("a federation needs the package `cryptography`: pip install 'understudy[federation]'")
