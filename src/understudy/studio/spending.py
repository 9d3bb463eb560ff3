"""A spend: what a person agrees to before anything is paid, and the single-use word that says so.

The word (a nonce) stands for one request: schema, source, account, epsilon, delta and method as they were shown, and
what was spent on the account by then. If one of these has changed when it is used, nothing starts.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from understudy.errors import BudgetError, UsageError
from understudy.privacy.budget import Budget, exact
from understudy.privacy.entries import Account
from understudy.privacy.ledger import Ledger
from understudy.privacy.run_ledger import default_ledger
from understudy.schema import Schema
from understudy.studio.source import TableSource

NONCE_SECONDS = 1800.0
MAX_WAITING = 64


@dataclass(frozen=True)
class PlannedRun:
    """Everything that a run will be started with. What was spent before is part of it."""

    schema_file: str
    schema_text: str = field(repr=False)
    schema_hash: str
    source: TableSource
    fingerprint: str = field(repr=False)
    account: str
    budget: Budget
    method: str
    output: str
    spent_before: str

    def meant_now(self, schema: Schema, ledger: Path) -> PlannedRun:
        """Return the same spend as the files are now: equal if nothing has changed."""
        return replace(
            self, schema_hash=schema.hash, fingerprint=self.source.fingerprint(), account=schema.account,
            spent_before=spent_on(ledger, schema.account),
        )  # fmt: skip


def ledger_of(schema: Schema, named: Path | None) -> Path:
    """Return the ledger that pays: the one that the studio was started with, else the schema's default."""
    return (named or default_ledger(schema)).absolute()


def account_in(ledger: Path, account: str) -> Account | None:
    """Return the state of an account; None where there is no ledger, or no such account in it."""
    if not ledger.exists():
        return None
    with Ledger(ledger, create=False) as book:
        return book.account(account)


def spent_on(ledger: Path, account: str) -> str:
    """Return the account's state in words that are equal exactly if it is: spent and cap, or "new"."""
    state = account_in(ledger, account)
    return "new" if state is None else f"{state.spent_epsilon} {state.spent_delta} {state.cap_epsilon}"


class Confirmations:
    """Spends that wait for a person's word, each for one session and once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: dict[str, tuple[str, PlannedRun, float]] = {}
        self._lock = threading.Lock()

    def offer(self, session: str, spend: PlannedRun) -> str:
        """Return the word for this spend."""
        nonce = secrets.token_urlsafe(24)
        with self._lock:
            self._waiting[nonce] = (session, spend, self._clock() + NONCE_SECONDS)
            while len(self._waiting) > MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]
        return nonce

    def take(self, session: str, nonce: str, epsilon_again: str) -> PlannedRun | None:
        """Return the spend of this word, which is used up by that; None where there is none.

        An epsilon that was typed wrong uses nothing up.
        """
        with self._lock:
            owner, spend, ends = self._waiting.get(nonce, ("", None, 0.0))
            if spend is None or owner != session:
                return None
            if self._clock() > ends:
                del self._waiting[nonce]
                return None
            if not _same(epsilon_again, spend.budget):
                raise UsageError(
                    f"type the epsilon again, as it is shown: {spend.budget}. What was typed is not that, and nothing "
                    "was started"
                )
            del self._waiting[nonce]
            return spend


def _same(typed: str, budget: Budget) -> bool:
    try:
        return exact(typed.strip(), "epsilon") == budget.epsilon
    except UsageError:
        return False


def run_name(nonce: str) -> str:
    """Return the name of the run that a word starts: the same word can never start two."""
    return hashlib.sha256(nonce.encode()).hexdigest()[:20]


def refuse_change(agreed: PlannedRun, now: PlannedRun) -> None:
    """Refuse to start what is no longer what a person agreed to."""
    if agreed.spent_before != now.spent_before:
        raise BudgetError("something was spent on this account since you looked, or its cap was changed: look again")
    if agreed.schema_hash != now.schema_hash or agreed.account != now.account:
        raise UsageError("the schema was changed since you looked: look again")
    if agreed.fingerprint != now.fingerprint:
        raise UsageError("the table was changed since you looked: look again")
