"""The ledger: what was promised about whom, written before any row is read, and never taken back.

An append-only SQLite file. Every entry carries the hash of the one before it. Kinds of entry:

    open      an account comes into being, with its neighbour definition and cap
    cap       a person changed the cap, with a reason
    reserve   a run took its whole budget from the account
    charge    a part of a reservation, written and synced before anything is counted
    void      a reservation for which no noise was drawn was given back
    close     a reservation that can never be completed was ended; what it took stays spent
    release   a run ended with a release

Beside the entries stands the journal: the outcome of each charge, kept until the release is safe, so that a run that
was killed can go on without paying or drawing twice; and a keyed fingerprint of the table each unfinished run reads.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from understudy.errors import LedgerError, UsageError, check_path
from understudy.formats import LEDGER_FORMAT
from understudy.lock import ProcessLock, remove_stale
from understudy.privacy.accounting import COMPOSITION_RULE, ZCDP
from understudy.privacy.budget import Amount, Budget, exact, exact_cap, show
from understudy.privacy.entries import GENESIS, Account, Entry, Head, add_up, unfinished
from understudy.privacy.gaussian_accounts import gaussian_cap, opening, run_parts
from understudy.privacy.kept_releases import KeptReleases
from understudy.privacy.ledger_file import committing, connect, mark_gaussian, upgrade
from understudy.privacy.refusals import refuse_other_table, refuse_other_unit, refuse_over_cap
from understudy.privacy.reservation import LOST_DRAW, Reservation
from understudy.schema import Schema
from understudy.showing import html_of
from understudy.undo import undone_on_error


class Ledger:
    """What was spent on whom: an append-only file that refuses what goes over an account's cap.

    Use it as a context manager, or `close` it. The file `path` is made unless it is there or `create` is False.

    >>> with understudy.Ledger("people.db") as ledger:
    ...     float(ledger.account("clinic").spent_epsilon)
    1.0
    """

    def __init__(self, path: str | Path, *, create: bool = True) -> None:
        self.path = Path(os.path.realpath(check_path(path, "a ledger")))  # locks lie beside the file itself
        self.connection = connect(self.path, create=create)
        self.kept = KeptReleases(self)
        self.closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self.connection.close()

    # -- reading ---------------------------------------------------------------------------------------------

    def entries(self, account: str | None = None) -> list[Entry]:
        """Return every entry, or those of one `account`, in order."""
        if self.closed:
            raise LedgerError(f"the ledger {self.path.name!r} was closed: open it again, or give its path instead")
        query = "SELECT seq, at, kind, account, body, previous, hash FROM entries ORDER BY seq"
        try:
            rows = self.connection.execute(query).fetchall()
            every = [Entry(seq, at, kind, who, json.loads(body), prev, h) for seq, at, kind, who, body, prev, h in rows]
        except (sqlite3.Error, ValueError, TypeError):
            raise LedgerError(f"the ledger {self.path.name!r} is damaged: an entry cannot be read") from None
        return [e for e in every if account is None or e.account == account]

    def head(self) -> Head:
        """Return the last entry's number and hash."""
        row = self.connection.execute("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
        return Head(*row) if row else Head(0, GENESIS)

    def accounts(self) -> list[str]:
        """Return the names of all accounts, oldest first."""
        return [e.account for e in self.entries() if e.kind == "open"]

    def account(self, name: str) -> Account | None:
        """Return what the entries of the account of this `name` come to, None if there is none."""
        return add_up(name, self.entries(name))

    def verify(self, known_head: Head | None = None) -> Head:
        """Recompute every hash; with a `known_head` kept elsewhere, check that the line it names is still there."""
        previous = GENESIS
        hashes = [GENESIS]
        for number, entry in enumerate(self.entries(), start=1):
            if entry.seq != number or entry.previous != previous or entry.hash != entry.expected_hash:
                raise LedgerError(
                    f"entry {number} of the ledger {self.path.name!r} does not fit its hash: the file was changed or "
                    "damaged. Nothing is spent from it; find a whole copy"
                )
            previous = entry.hash
            hashes.append(previous)
        known = known_head or Head(0, GENESIS)
        if known.seq and hashes[known.seq : known.seq + 1] != [known.hash]:
            raise LedgerError(
                "this ledger does not hold the entry the release was made at: it was rolled back, replaced, or is "
                "another ledger. Spending since then may be missing: find the right file before publishing again"
            )
        return self.head()

    def show(self) -> dict[str, Any]:
        """Return the whole ledger as plain data."""
        return {
            "rule": COMPOSITION_RULE,
            "accounts": [a.as_json() for name in self.accounts() if (a := self.account(name)) is not None],
            "entries": [e.as_json() for e in self.entries()],
        }

    def __repr__(self) -> str:
        held = "closed" if self.closed else f"accounts {len(self.accounts())}, entries {self.head().seq}"
        return f"<Ledger {self.path.name!r}: {held}>"

    _repr_html_ = html_of

    def source_key(self) -> bytes:
        """Return the key of this ledger's fingerprints: random, and in no other file."""
        upgrade(self.connection)
        row = self.connection.execute("SELECT key FROM secret").fetchone()
        if row is None:
            raise LedgerError(f"the ledger {self.path.name!r} is damaged: its key is gone. Find a whole copy")
        return bytes(row[0])

    # -- writing ---------------------------------------------------------------------------------------------

    def cap(self, account: str, epsilon: Amount | None, reason: str, delta: Amount | None = None) -> None:
        """Change an `account`'s cap to `epsilon` (None: unlimited) and `delta`; an entry says so, with the `reason`."""
        if not reason.strip():
            raise UsageError("a change of cap needs a reason")
        with self.transaction():
            self.verify()
            state = self._known(account)
            if delta is not None and state.gaussian is not None:
                raise UsageError(f"account {account!r} is kept in Gaussian DP, whose delta stays as it was opened with")
            allowed = state.cap_delta if delta is None else exact(delta, "delta")
            rational = exact_cap if state.gaussian is None else gaussian_cap
            body = {
                "epsilon": None if epsilon is None else str(rational(epsilon)),
                "delta": None if epsilon is None or allowed is None else str(allowed),
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
        fingerprint: str | None = None,
        resume: bool = False,
        only: str | None = None,
        formerly: Sequence[dict[str, Any]] = (),
    ) -> Reservation:
        """Take the whole budget in one transaction, or refuse before anything is read.

        A killed run of the same request, or of one of `formerly` (what earlier versions wrote for it), is taken up
        again instead of paid for again, on the table whose `fingerprint` it was begun with and on no other; one
        without a fingerprint only if `resume`. With `only`, that reservation is taken up or nothing.
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
        self.verify()
        self.close_lost_draws(account)
        with self.transaction():
            self.verify()
            state = self.account(account)
            if state is None:
                state = self._open(schema, budget, cap, unlimited)
            elif cap is not None and state.cap_epsilon != exact(cap, "the cap"):
                raise UsageError(
                    f"account {account!r} exists and has its own cap. Change it with: "
                    f"understudy ledger cap {self.path.name} {account} {show(exact(cap))} --reason TEXT"
                )
            refuse_other_unit(state, schema)
            for asked in (request, *formerly):
                if found := self._interrupted(account, body | {"request": asked}, budget, fingerprint, resume, only):
                    return found
            if only is not None:
                raise UsageError(
                    "the release file belongs to an interrupted run of another request: run that command again to "
                    "finish it, choose another name, or replace the file with --force"
                )
            refuse_over_cap(state, budget)
            return self._new(account, body | (run_parts(budget) if state.gaussian else {}), budget, fingerprint)

    def _new(self, account: str, body: dict[str, Any], budget: Budget, fingerprint: str | None) -> Reservation:
        reservation = secrets.token_hex(16)
        lock = self._lock(reservation)
        if not lock.acquire():
            raise LedgerError("a new reservation could not be locked: run the same command again")
        with undone_on_error(lock.release):
            self.append("reserve", account, {**body, "reservation": reservation})
            self.connection.execute("INSERT INTO sources VALUES (?, ?, NULL)", (reservation, fingerprint))
        return Reservation(self, account, reservation, budget, lock, request=body["request"])

    def _open(self, schema: Schema, budget: Budget, cap: Amount | None, unlimited: bool) -> Account:
        """Open an account; without a cap of its own its cap is this first run's budget."""
        limit = None if unlimited else (exact_cap(cap) if cap is not None else budget.epsilon)
        delta = None if limit is None else budget.delta * limit / budget.epsilon
        body = {
            "neighbours": schema.neighbours,
            "epsilon": None if limit is None else str(limit),
            "delta": None if delta is None else str(delta),
        }
        self.append("open", schema.account, body)
        return self._known(schema.account)

    def open_account(self, schema: Schema, epsilon: Amount, delta: Amount, lists_delta: Amount = 0) -> Account:
        """Open the account of a `schema` in Gaussian DP: squares of mu of its runs add up, up to a cap of `epsilon`.

        They are converted at a `delta` that is fixed from now on. `lists_delta` is beside it, for lists to discover.
        """
        body = opening(schema.neighbours, epsilon, delta, lists_delta)
        with self.transaction():
            self.verify()
            if self.account(schema.account) is not None:
                raise UsageError(f"account {schema.account!r} is open: how it is kept was fixed at its beginning")
            self.append("open", schema.account, body)
            mark_gaussian(self.connection)
            return self._known(schema.account)

    def _known(self, account: str) -> Account:
        state = self.account(account)
        if state is None:
            raise LedgerError(f"the ledger has no account {account!r}")
        return state

    # -- interrupted runs ------------------------------------------------------------------------------------

    def _interrupted(
        self, account: str, body: dict[str, Any], budget: Budget, fingerprint: str | None, resume: bool,
        only: str | None,
    ) -> Reservation | None:  # fmt: skip
        """Take up a reservation for the same request whose process is gone and whose release never came."""
        for entry in unfinished(self.entries(account)):
            reservation = entry.body["reservation"]
            if entry.request_body != body or only not in (None, reservation):
                continue
            lock = self._lock(reservation)
            if not lock.acquire():
                continue
            with undone_on_error(lock.release):
                self._check_source(entry, fingerprint, resume)
                self.connection.execute("INSERT OR IGNORE INTO sources VALUES (?, ?, NULL)", (reservation, fingerprint))
            return Reservation(
                self, account, reservation, self._as_begun(reservation, budget), lock, True, body["request"]
            )
        return None

    def _as_begun(self, reservation: str, budget: Budget) -> Budget:
        """Return the budget in the unit that the reservation's charges have: rho, where an earlier version began it."""
        charges = (e.body for e in self.entries() if e.kind == "charge" and e.body["reservation"] == reservation)
        return budget.in_rho() if any(body["unit"] == ZCDP.unit for body in charges) else budget

    def refuse_other_source(
        self, account: str, request: dict[str, Any], fingerprint: str, resume: bool = False
    ) -> None:
        """Refuse a table that is not the one of an unfinished run whose request has these parts."""
        for entry in unfinished(self.entries(account)):
            if all(entry.body["request"].get(k) == v for k, v in request.items()):
                self._check_source(entry, fingerprint, resume)

    def _check_source(self, entry: Entry, fingerprint: str | None, resume: bool) -> None:
        """Refuse to go on with a run on a table that is not the one it was begun on."""
        row = self.connection.execute(
            "SELECT fingerprint FROM sources WHERE reservation = ?", (entry.body["reservation"],)
        ).fetchone()
        refuse_other_table(entry, None if row is None else row[0], fingerprint, resume, self.path.name)

    def unfinished_with(self, release_hash: str) -> str | None:
        """Return the unfinished reservation whose release has this hash: it was saved, and the run was killed."""
        if not self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'sources'").fetchone():
            return None
        row = self.connection.execute("SELECT reservation FROM sources WHERE release = ?", (release_hash,)).fetchone()
        return None if row is None else str(row[0])

    def close_lost_draws(self, account: str) -> int:
        """Close reservations whose noise was drawn and not written down: nobody can complete them. Return how many.

        In a federation such a draw is one lost round of an owner, who goes on with the next one.
        """
        if not self._lost_draws():
            return 0
        with self.transaction():
            lost = self._lost_draws()
            return len(self._end_all(account, lambda e: e.body["reservation"] in lost and not e.federated, LOST_DRAW))

    def _lost_draws(self) -> set[str]:
        found = self.connection.execute("SELECT DISTINCT reservation FROM journal WHERE state = 'drawing'").fetchall()
        return {reservation for (reservation,) in found}

    def close_unfinished(
        self, account: str, chosen: Callable[[Entry], bool] = lambda entry: True, reason: str = "given up"
    ) -> list[str]:
        """Give up the chosen runs of the account that are unfinished and that no process is at work on.

        Returns what became of each: "void" (no noise was drawn, it is given back) or "close" (it stays spent).
        """
        with self.transaction():
            self.verify()
            return self._end_all(account, chosen, reason)

    def _end_all(self, account: str, chosen: Callable[[Entry], bool], reason: str) -> list[str]:
        ended = []
        for entry in unfinished(self.entries(account)):
            lock = self._lock(entry.body["reservation"])
            if not chosen(entry) or not lock.acquire():
                continue
            try:
                ended.append(self.end(account, entry.body["reservation"], reason))
            finally:
                lock.release()
        return ended

    def drawn(self, reservation: str) -> bool:
        """Return whether any noise was drawn on a reservation."""
        row = self.connection.execute(
            "SELECT COUNT(*) FROM journal WHERE reservation = ? AND state IN ('drawing', 'drawn')", (reservation,)
        ).fetchone()
        return bool(row[0])

    def end(self, account: str, reservation: str, reason: str) -> str:
        """End a reservation without a release, in this transaction, as "void" if nothing was drawn, else as "close"."""
        kind = "close" if self.drawn(reservation) else "void"
        self.append(kind, account, {"reservation": reservation, "reason": reason})
        self.forget_journal(reservation)
        return kind

    def forget_journal(self, reservation: str) -> None:
        """Remove the outcomes and the fingerprint of a reservation that has ended."""
        for table in ("journal", "sources"):
            self.connection.execute(f"DELETE FROM {table} WHERE reservation = ?", (reservation,))

    def _lock(self, reservation: str) -> ProcessLock:
        return ProcessLock(self.path.with_name(f"{self.path.name}.{reservation}.lock"))

    def sweep_locks(self) -> None:
        """Remove lock files of processes that are gone; whoever resumes such a run makes the file again."""
        remove_stale(self.path.absolute().parent, re.escape(self.path.name) + r"\.[0-9a-f]{32}\.lock")

    # -- transactions ----------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all or nothing; a file of an earlier format is brought up to date first."""
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger {self.path.name!r} cannot be locked for writing: {error}") from None
        try:
            with committing(self.connection):
                upgrade(self.connection)
                yield
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger {self.path.name!r} could not be written: {error}") from None

    def append(self, kind: str, account: str, body: dict[str, Any]) -> Entry:
        """Write an entry, chained to the last one, in the present transaction."""
        head = self.head()
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        unsigned = Entry(head.seq + 1, at, kind, account, body, head.hash, "")
        entry = replace(unsigned, hash=unsigned.expected_hash)
        text = json.dumps(body, sort_keys=True, ensure_ascii=True)
        self.connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (entry.seq, at, kind, account, text, head.hash, entry.hash, LEDGER_FORMAT),
        )
        return entry
