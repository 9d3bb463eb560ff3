"""The ledger of a run: the one that was named, or the default one; and whether the account is kept in another."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.errors import BudgetError, check_path
from understudy.privacy.known_ledgers import other_ledgers, source_name
from understudy.privacy.ledger import Ledger
from understudy.schema import Schema


def default_ledger(schema: Schema) -> Path:
    """Return the default ledger: $UNDERSTUDY_LEDGER, else understudy-ledger.db beside the schema, else here."""
    named = os.environ.get("UNDERSTUDY_LEDGER")
    if named:
        return Path(named)
    return (schema.path.parent if schema.path else Path()) / "understudy-ledger.db"


@contextmanager
def ledger_for(ledger: Ledger | str | Path | None, schema: Schema) -> Iterator[Ledger]:
    """Open the ledger that was named, or the default one, and close it at the end; one that is open stays open."""
    if isinstance(ledger, Ledger):
        yield ledger
        return
    with Ledger(ledger or default_ledger(schema)) as book:
        yield book


def ledger_path(ledger: Ledger | str | Path | None, schema: Schema) -> Path:
    """Return the path of the ledger that was named, or of the default one."""
    if isinstance(ledger, Ledger):
        return ledger.path
    if ledger is not None:
        check_path(ledger, "a ledger")
    return Path(ledger or default_ledger(schema))


def refuse_second_ledger(data: Any, schema: Schema, ledger: Ledger | str | Path | None) -> list[str]:
    """Refuse a default ledger where the account is kept in another one; return a note where the ledger was named."""
    path = ledger_path(ledger, schema)
    others = other_ledgers(schema.account, path, schema.hash, source_name(data))
    if not others:
        return []
    if ledger is None and not os.environ.get("UNDERSTUDY_LEDGER"):
        raise BudgetError(
            f"account {schema.account!r} is kept in the ledger {str(others[0])!r}: a second ledger would not know what "
            f"was spent there. Go on with it by --ledger {others[0]}, or name this one with --ledger if "
            "these are other people"
        )
    return [f"account {schema.account!r} is kept in another ledger too, {str(others[0])!r}: what is spent there is not "
            "counted here"]  # fmt: skip
