"""The ledger: what was promised about whom, written before any row is read, and never taken back.

An append-only SQLite file. Every entry carries the hash of the one before it. Kinds of entry:

    open      an account comes into being, with its neighbour definition and cap
    cap       a person changed the cap, with a reason
    reserve   a run took its whole budget from the account
    charge    a part of a reservation, written and synced before anything is counted
    void      a reservation for which no noise was drawn was given back
    release   a run ended with a release

Beside the entries stands the journal: the outcome of each charge, kept until the release is safe, so that a run that
was killed can go on without paying or drawing twice.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.errors import BudgetError, LedgerError, UsageError
from understudy.lock import ProcessLock, on_network_file_system
from understudy.privacy.accountant import COMPOSITION_RULE
from understudy.privacy.budget import Amount, Budget, exact, show
from understudy.privacy.entries import GENESIS, Account, Entry, Head, add_up
from understudy.privacy.reservation import Reservation
from understudy.schema import Schema

_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
  seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, account TEXT NOT NULL,
  body TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS journal (
  reservation TEXT NOT NULL, step INTEGER NOT NULL, ask TEXT NOT NULL, state TEXT NOT NULL, outcome BLOB,
  PRIMARY KEY (reservation, step));
"""


class Ledger:
    """`Ledger(path)` opens the file or makes it (readable by its owner only)."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.connection = _connect(self.path)

    def close(self) -> None:
        self.connection.close()

    # -- reading ---------------------------------------------------------------------------------------------

    def entries(self, account: str | None = None) -> list[Entry]:
        query = "SELECT seq, at, kind, account, body, previous, hash FROM entries ORDER BY seq"
        try:
            rows = self.connection.execute(query).fetchall()
            every = [Entry(seq, at, kind, who, json.loads(body), prev, h) for seq, at, kind, who, body, prev, h in rows]
        except (sqlite3.Error, ValueError, TypeError):
            raise LedgerError(f"the ledger {self.path.name!r} is damaged: an entry cannot be read") from None
        return [e for e in every if account is None or e.account == account]

    def head(self) -> Head:
        row = self.connection.execute("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
        return Head(*row) if row else Head(0, GENESIS)

    def accounts(self) -> list[str]:
        return [e.account for e in self.entries() if e.kind == "open"]

    def account(self, name: str) -> Account | None:
        return add_up(name, self.entries(name))

    def verify(self, release_head: Head | None = None) -> Head:
        """Recompute every hash; with a release's head, check that the ledger still holds the line it was made at."""
        previous = GENESIS
        for number, entry in enumerate(self.entries(), start=1):
            if entry.seq != number or entry.previous != previous or entry.hash != entry.expected_hash:
                raise LedgerError(
                    f"entry {number} of the ledger does not fit its hash: the file was changed or damaged"
                )
            previous = entry.hash
        if release_head is not None and release_head.seq:
            row = self.connection.execute("SELECT hash FROM entries WHERE seq = ?", (release_head.seq,)).fetchone()
            if row is None or row[0] != release_head.hash:
                raise LedgerError(
                    "this ledger does not hold the entry the release was made at: it was rolled back, replaced, or is "
                    "another ledger. Spending since then may be missing: find the right file before publishing again"
                )
        return self.head()

    def show(self) -> dict[str, Any]:
        """The whole ledger as plain data."""
        return {
            "rule": COMPOSITION_RULE,
            "accounts": [_account_json(a) for name in self.accounts() if (a := self.account(name)) is not None],
            "entries": [
                {"seq": e.seq, "at": e.at, "kind": e.kind, "account": e.account, **e.body, "hash": e.hash}
                for e in self.entries()
            ],
        }

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(a['account'])}</td><td>{a['epsilon']:.6g}</td><td>{a['delta']:.3g}</td>"
            f"<td>{'none' if a['cap_epsilon'] is None else format(a['cap_epsilon'], '.6g')}</td></tr>"
            for a in self.show()["accounts"]
        )
        return f"<table><tr><th>account</th><th>epsilon spent</th><th>delta spent</th><th>cap</th></tr>{rows}</table>"

    # -- writing ---------------------------------------------------------------------------------------------

    def cap(self, account: str, epsilon: Amount | None, reason: str, delta: Amount | None = None) -> None:
        """Change an account's cap; None is unlimited. The change is an entry like any other."""
        if not reason.strip():
            raise UsageError("a change of cap needs a reason")
        with self.transaction():
            state = self.account(account)
            if state is None:
                raise LedgerError(f"the ledger has no account {account!r}")
            body = {
                "epsilon": None if epsilon is None else str(exact(epsilon, "the cap")),
                "delta": _keep_delta(state, delta) if epsilon is not None else None,
                "reason": reason,
            }
            self.append("cap", account, body)

    def reserve(
        self,
        schema: Schema,
        budget: Budget,
        request: dict[str, Any],
        *,
        cap: Amount | None = None,
        unlimited: bool = False,
        private: bool = True,
    ) -> Reservation:
        """Take the whole budget in one transaction, or refuse before anything is read.

        A run with the same request that was killed is taken up again instead of paid for again.
        """
        account = schema.account
        body = {
            "epsilon": str(budget.epsilon),
            "delta": str(budget.delta),
            "schema": schema.hash,
            "request": request,
            "rows_per_person": schema.rows_per_person,
        }
        if not private:
            body["stamp"] = "NOT PRIVATE: drawn from a seed, for tests"
        with self.transaction():
            state = self.account(account)
            if state is None:
                state = self._open(schema, budget, cap, unlimited)
            elif cap is not None and state.cap_epsilon != exact(cap, "the cap"):
                raise UsageError(
                    f"account {account!r} exists and has its own cap. Change it with: "
                    f"understudy ledger cap {self.path.name} {account} {show(exact(cap))} --reason TEXT"
                )
            if state.neighbours != schema.neighbours:
                raise BudgetError(
                    f"account {account!r} is kept under {state.neighbours} neighbours and this schema asks for "
                    f"{schema.neighbours}: one account has one definition"
                )
            if (resumed := self._interrupted(account, body, budget)) is not None:
                return resumed
            refuse_over_cap(state, budget)
            reservation = secrets.token_hex(16)
            lock = ProcessLock(self._lock_path(reservation))
            lock.acquire()
            self.append("reserve", account, {**body, "reservation": reservation})
        return Reservation(self, account, reservation, budget, lock)

    def _open(self, schema: Schema, budget: Budget, cap: Amount | None, unlimited: bool) -> Account:
        """A new account; without a cap of its own its cap is this first run's budget."""
        limit = None if unlimited else (exact(cap, "the cap") if cap is not None else budget.epsilon)
        delta = None if limit is None else budget.delta * limit / budget.epsilon
        body = {
            "neighbours": schema.neighbours,
            "epsilon": None if limit is None else str(limit),
            "delta": None if delta is None else str(delta),
        }
        self.append("open", schema.account, body)
        state = self.account(schema.account)
        assert state is not None
        return state

    def _interrupted(self, account: str, body: dict[str, Any], budget: Budget) -> Reservation | None:
        """A reservation for the same request whose process is gone and whose release never came."""
        entries = self.entries(account)
        ended = {e.body["reservation"] for e in entries if e.kind in ("void", "release")}
        for entry in entries:
            if entry.kind != "reserve" or entry.body["reservation"] in ended:
                continue
            if {k: v for k, v in entry.body.items() if k != "reservation"} != body:
                continue
            lock = ProcessLock(self._lock_path(entry.body["reservation"]))
            if lock.acquire():
                return Reservation(self, account, entry.body["reservation"], budget, lock, resumed=True)
        return None

    def _lock_path(self, reservation: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{reservation}.lock")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger {self.path.name!r} cannot be locked for writing: {error}") from None
        try:
            yield
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise LedgerError(f"the ledger {self.path.name!r} could not be written: {error}") from None
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def append(self, kind: str, account: str, body: dict[str, Any]) -> Entry:
        head = self.head()
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        entry = Entry(head.seq + 1, at, kind, account, body, head.hash, "")
        digest = entry.expected_hash
        text = json.dumps(body, sort_keys=True, ensure_ascii=True)
        self.connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
            (entry.seq, at, kind, account, text, head.hash, digest),
        )
        return Entry(entry.seq, at, kind, account, body, head.hash, digest)


def _connect(path: Path) -> sqlite3.Connection:
    if not path.parent.is_dir():
        raise LedgerError(f"there is no folder {path.parent.name!r} for the ledger")
    if on_network_file_system(path.parent):
        raise LedgerError(
            "the ledger would lie on a network file system, where its locks cannot be trusted: "
            "choose a local path with --ledger or UNDERSTUDY_LEDGER"
        )
    try:
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(path, timeout=60, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(_TABLES)
    except (OSError, sqlite3.Error) as error:
        raise LedgerError(f"{path.name!r} cannot be opened as a ledger: {error}") from None
    return connection


def refuse_early(book: Ledger, schema: Schema, budget: Budget) -> None:
    """What the cap cannot cover is refused before the data is opened.

    An unfinished run on the account might be this one, to be continued: then `reserve` decides.
    """
    entries = book.entries(schema.account)
    ended = {e.body["reservation"] for e in entries if e.kind in ("void", "release")}
    unfinished = any(e.kind == "reserve" and e.body["reservation"] not in ended for e in entries)
    state = book.account(schema.account)
    if state is not None and not unfinished:
        refuse_over_cap(state, budget)


def refuse_over_cap(state: Account, budget: Budget) -> None:
    for what, asked, spent, cap in (
        ("epsilon", budget.epsilon, state.spent_epsilon, state.cap_epsilon),
        ("delta", budget.delta, state.spent_delta, state.cap_delta),
    ):
        if cap is not None and spent + asked > cap:
            left = max(Fraction(0), cap - spent)
            raise BudgetError(
                f"account {state.name!r}: requested {what} {show(asked)}, left {show(left)}, "
                f"short by {show(asked - left)}. Nothing was read. A larger cap is a person's decision: "
                f"understudy ledger cap FILE {state.name} E --reason TEXT"
            )


def _keep_delta(state: Account, delta: Amount | None) -> str | None:
    if delta is not None:
        return str(exact(delta, "delta"))
    return None if state.cap_delta is None else str(state.cap_delta)


def _account_json(account: Account) -> dict[str, Any]:
    return {
        "account": account.name,
        "neighbours": account.neighbours,
        "epsilon": float(account.spent_epsilon),
        "delta": float(account.spent_delta),
        "cap_epsilon": None if account.cap_epsilon is None else float(account.cap_epsilon),
        "cap_delta": None if account.cap_delta is None else float(account.cap_delta),
        "private": account.private,
    }
