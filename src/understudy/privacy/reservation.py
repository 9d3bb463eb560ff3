"""A reservation: a run's whole budget, and the charges and outcomes that draw on it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from understudy.errors import BudgetError, LedgerError
from understudy.lock import ProcessLock
from understudy.privacy.accountant import Accounting, accounting_of, purse
from understudy.privacy.budget import Budget, show
from understudy.privacy.entries import Account, Entry, Head


class Book(Protocol):
    """What a reservation needs of the ledger it was made in."""

    connection: Any

    def transaction(self) -> AbstractContextManager[None]: ...
    def append(self, kind: str, account: str, body: dict[str, Any]) -> Entry: ...
    def entries(self, account: str | None = None) -> list[Entry]: ...
    def head(self) -> Head: ...
    def account(self, name: str) -> Account | None: ...


class Reservation:
    """A run's budget, already taken from the account; charges draw on it, outcomes are journalled."""

    def __init__(
        self, ledger: Book, account: str, id: str, budget: Budget, lock: ProcessLock, resumed: bool = False
    ) -> None:
        self.budget = budget
        self.accounting: Accounting = accounting_of(budget)
        self.purse: Fraction = purse(budget)
        self.resumed = resumed
        self.replayed = 0
        self.account = account
        self._ledger = ledger
        self._id = id
        self._lock = lock
        self._step = 0
        self._left = self.purse

    @property
    def left(self) -> Fraction:
        return self._left

    @property
    def drawn(self) -> bool:
        """Whether any noise was drawn on this reservation."""
        row = self._ledger.connection.execute(
            "SELECT COUNT(*) FROM journal WHERE reservation = ? AND state IN ('drawing', 'drawn')", (self._id,)
        ).fetchone()
        return bool(row[0])

    def charges(self) -> list[dict[str, Any]]:
        """This reservation's charges, in order."""
        return [
            {k: e.body[k] for k in ("purpose", "cost", "unit")}
            for e in self._ledger.entries(self.account)
            if e.kind == "charge" and e.body["reservation"] == self._id
        ]

    def charge(self, purpose: str, cost: Fraction, ask: str, formerly: Callable[[], str] | None = None) -> Charge:
        """Write the charge to disk; only then may anything be counted. `ask` identifies what is asked, for replay, and
        `formerly` is how earlier versions identified it."""
        step, self._step = self._step, self._step + 1
        if cost < 0 or cost > self._left:
            left = f"only {show(self._left)} of {show(self.purse)} is left in the reservation"
            raise BudgetError(f"{purpose} asks for {show(cost)}; {left}")
        self._left -= cost
        unit = "epsilon" if self.accounting == "pure" else "rho"
        with self._ledger.transaction():
            row = self._ledger.connection.execute(
                "SELECT ask, state, outcome FROM journal WHERE reservation = ? AND step = ?", (self._id, step)
            ).fetchone()
            if row is not None:
                known = row[0] == ask or (formerly is not None and row[0] == formerly())
                return self._resume(step, known, *row[1:])
            if cost:
                body = {"reservation": self._id, "purpose": purpose, "cost": str(cost), "unit": unit}
                self._ledger.append("charge", self.account, body)
            self._ledger.connection.execute(
                "INSERT INTO journal VALUES (?, ?, ?, 'charged', NULL)", (self._id, step, ask)
            )
        return Charge(self, step, None)

    def _resume(self, step: int, known: bool, state: str, outcome: bytes | None) -> Charge:
        if not known:
            raise LedgerError(
                "the interrupted run cannot be continued: it asked something else at this point (another version of "
                "understudy?). Its budget stays spent; raise the cap to publish again"
            )
        if state == "drawing":
            raise BudgetError(
                "the interrupted run stopped between drawing noise and writing it down: that charge is spent, its "
                "outcome lost. The reservation cannot be completed; raise the cap to publish again"
            )
        if outcome is not None:
            self.replayed += 1
        return Charge(self, step, outcome)

    def finish(self, release_hash: str) -> Head:
        """The release is safe: write its hash, forget the outcomes."""
        with self._ledger.transaction():
            body = {"reservation": self._id, "release": release_hash}
            self._ledger.append("release", self.account, body)
            self._ledger.connection.execute("DELETE FROM journal WHERE reservation = ?", (self._id,))
        self._lock.release()
        return self._ledger.head()

    def abandon(self, reason: str) -> None:
        """The run failed. Without a draw the reservation is given back; with one it stays spent, open to a resume."""
        if not self.drawn:
            with self._ledger.transaction():
                self._ledger.append("void", self.account, {"reservation": self._id, "reason": reason})
                self._ledger.connection.execute("DELETE FROM journal WHERE reservation = ?", (self._id,))
        self._lock.release()

    def _mark(self, step: int, state: str, outcome: bytes | None) -> None:
        with self._ledger.transaction():
            self._ledger.connection.execute(
                "UPDATE journal SET state = ?, outcome = ? WHERE reservation = ? AND step = ?",
                (state, outcome, self._id, step),
            )

    def head(self) -> Head:
        return self._ledger.head()

    def account_state(self) -> Account:
        state = self._ledger.account(self.account)
        assert state is not None
        return state


@dataclass(frozen=True)
class Charge:
    """A paid charge. `outcome` is there already when the run is being continued after a crash."""

    reservation: Reservation
    step: int
    outcome: bytes | None

    def drawing(self) -> None:
        """Say on disk that noise is about to be drawn: from here on the charge is spent, come what may."""
        self.reservation._mark(self.step, "drawing", None)

    def journal(self, outcome: bytes) -> None:
        """Keep the outcome before anyone uses it."""
        self.reservation._mark(self.step, "drawn", outcome)

    def note(self, outcome: bytes) -> None:
        """Keep a public choice that cost nothing and read nothing."""
        self.reservation._mark(self.step, "noted", outcome)
