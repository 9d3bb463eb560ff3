"""Every error a user can meet, as one tree.

    UnderstudyError            exit 1   something failed
    ├── UsageError             exit 2   the request itself is wrong
    │   ├── SchemaError                 the schema file says something impossible
    │   └── TooLarge                    a table, model or domain over a stated limit, refused before allocation
    ├── BudgetError            exit 3   the ledger says no
    ├── DataError              exit 4   the data does not fit the schema
    ├── ReleaseError           exit 1   a release file is damaged, tampered with or too new
    ├── LedgerError            exit 1   a ledger file is damaged, locked or rolled back
    └── FederationError        exit 1   the owners and the curator could not finish together
        ├── FederationAborted           a round ended without a result; what it cost stays spent
        └── MessageRefused              a message that cannot be answered; a code says why, and travels

A message says what was asked, what is true and what to do next. It never holds a private value or an exact private
count.
"""

from __future__ import annotations

from os import PathLike
from typing import Any


class UnderstudyError(Exception):
    """Something failed; the base of every error of this package."""

    exit_code = 1
    kind = "failed"

    def __init__(self, message: str, *, attribute: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.attribute = attribute

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints on failure."""
        return {"error": {"kind": self.kind, "attribute": self.attribute, "message": self.message}}


class UsageError(UnderstudyError):
    """The request is wrong: an unknown option, method, attribute or value."""

    exit_code = 2
    kind = "usage"


class SchemaError(UsageError):
    """The schema file cannot be read or contradicts itself."""

    kind = "schema"


class TooLarge(UsageError):
    """A size limit would be passed; nothing was allocated."""

    kind = "too-large"


class BudgetError(UnderstudyError):
    """The ledger refused: the account's cap does not cover the request."""

    exit_code = 3
    kind = "budget"


class DataError(UnderstudyError):
    """The data does not fit the schema; the custodian must look."""

    exit_code = 4
    kind = "data"


class ReleaseError(UnderstudyError):
    """A release file cannot be trusted or read."""

    kind = "release"


class LedgerError(UnderstudyError):
    """A ledger file cannot be trusted or used."""

    kind = "ledger"


class FederationError(UnderstudyError):
    """A session was refused or aborted; what was charged until then stays spent."""

    kind = "federation"


class FederationAborted(FederationError):
    """A round ended without a result: too few owners were left, or one of them cheated. Nothing was released."""

    kind = "aborted"


class MessageRefused(FederationError):
    """A message of the federation cannot be answered. The other side hears `code` alone, one of `wire.REFUSALS`."""

    kind = "refused"

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


def did_you_mean(word: str, known: list[str]) -> str:
    """Return a closing sentence for an unknown name: the nearest known one, or all of them when they are few."""
    import difflib

    near = difflib.get_close_matches(str(word), known, n=1)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Known: {', '.join(known)}." if len(known) <= 12 else ""


def import_extra(module: str, extra: str, needed: str) -> Any:
    """Import a package that an extra brings; where it is missing, a UsageError says what `needed` it and the remedy.

    >>> import_extra("json", "none", "this example needs json").loads("[1]")
    [1]
    """
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise UsageError(f"{needed}: pip install 'understudy[{extra}]'") from None


def kind_of(value: object) -> str:
    """Return what a value is, for a message about a wrong one: "None", "a dict"."""
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def check_path(value: str | PathLike[str], what: str, done: str = "opened by") -> str | PathLike[str]:
    """Return the path; refuse, with a message of ours, what cannot be one."""
    if not isinstance(value, str | PathLike):
        raise UsageError(f"{what} is {done} its path, a text or a Path, and this is {kind_of(value)}")
    return value
