"""Private rows and how they are read, as one value that shows neither."""

from __future__ import annotations

from understudy.engines.opening import PrivateData


def test_rows_and_addresses_are_not_shown() -> None:
    """A traceback with its variables would show them."""
    assert "secret" not in repr(PrivateData("postgresql://me:secret@host/db?table=t"))
