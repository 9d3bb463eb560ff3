"""A reservation: a run's whole budget, and the charges and outcomes that draw on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from understudy.errors import BudgetError, LedgerError
from understudy.lock import ProcessLock
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget, show
from understudy.privacy.entries import ENDINGS, Account, ChargeEntry, Head

if TYPE_CHECKING:
    from understudy.privacy.ledger import Ledger

LOST_DRAW = "it stopped between drawing noise and writing it down: that outcome is lost"
OTHER_QUESTION = "continued by a program that asked something else at the same point"


class Reservation:
    """A run's budget, already taken from the account; charges draw on it, outcomes are journalled."""

    def __init__(
        self,
        ledger: Ledger,
        account: str,
        id: str,
        budget: Budget,
        lock: ProcessLock,
        resumed: bool = False,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        self.budget = budget
        self.accounting: Accounting = accounting_of(budget)
        self.total_cost: Fraction = total_cost(budget)
        self.resumed = resumed
        self.request = request or {}  # as the ledger has it: of an interrupted run, maybe an earlier version's
        self.replayed = 0
        self.account = account
        self._ledger = ledger
        self.id = id  # its name in the ledger
        self._lock = lock
        self._step = 0
        self._left = self.total_cost
        self._delta_left = budget.aside

    @property
    def left(self) -> Fraction:
        return self._left

    @property
    def delta_left(self) -> Fraction:
        """Return what of delta is left for value lists."""
        return self._delta_left

    @property
    def drawn(self) -> bool:
        """Return whether any noise was drawn on this reservation."""
        return self._ledger.drawn(self.id)

    def charges(self) -> list[ChargeEntry]:
        """Return this reservation's charges, in order."""
        return [
            ChargeEntry.of(e.body)
            for e in self._ledger.entries(self.account)
            if e.kind == "charge" and e.body["reservation"] == self.id
        ]

    def charge(
        self,
        purpose: str,
        cost: Fraction,
        ask: str,
        formerly: Callable[[], Collection[str]] = tuple,
        delta: Fraction = Fraction(0),
    ) -> Charge:
        """Write the charge to disk; only then may anything be counted. `ask` identifies what is asked, for replay, and
        `formerly` is how earlier versions identified it. `delta` is paid from what the budget set aside."""
        if not 0 <= delta <= self._delta_left:
            raise BudgetError(f"{purpose} asks for delta {show(delta)}; {show(self._delta_left)} is set aside for it")
        step, self._step = self._step, self._step + 1
        if cost < 0 or cost > self._left:
            left = f"only {show(self._left)} of {show(self.total_cost)} is left in the reservation"
            raise BudgetError(f"{purpose} asks for {show(cost)}; {left}")
        self._left -= cost
        self._delta_left -= delta
        unit = self.accounting.unit
        with self._ledger.transaction():
            self._check_open()
            row = self._ledger.connection.execute(
                "SELECT ask, state, outcome FROM journal WHERE reservation = ? AND step = ?", (self.id, step)
            ).fetchone()
            if row is None:
                if cost:
                    body = {"reservation": self.id, "purpose": purpose, "cost": str(cost), "unit": unit}
                    body |= {"delta": str(delta)} if delta else {}
                    self._ledger.append("charge", self.account, body)
                self._ledger.connection.execute(
                    "INSERT INTO journal VALUES (?, ?, ?, 'charged', NULL)", (self.id, step, ask)
                )
        if row is None:
            return Charge(self, step, None)
        known = row[0] == ask or row[0] in formerly()
        return self._replay(step, known, *row[1:])

    def _replay(self, step: int, known: bool, state: str, outcome: bytes | None) -> Charge:
        """Return a charge of the interrupted run with its outcome; close the run if it cannot be continued."""
        if not known:
            with self._ledger.transaction():
                self._ledger.end(self.account, self.id, OTHER_QUESTION)
            raise LedgerError(
                f"the interrupted run cannot be continued ({OTHER_QUESTION}) and is closed. What it drew stays spent; "
                "the same command starts a new run if the cap allows"
            )
        if state == "drawing":  # only in a federation: elsewhere such a run is closed before it is taken up
            raise BudgetError(f"this round cannot be answered ({LOST_DRAW}). Its charge stays spent")
        if outcome is not None:
            self.replayed += 1
        return Charge(self, step, outcome)

    def saving(self, release_hash: str) -> None:
        """Note which release is about to be written, so that a resumed run may write it over its own file."""
        with self._ledger.transaction():
            self._ledger.connection.execute(
                "INSERT INTO sources VALUES (?, NULL, ?) ON CONFLICT (reservation) DO UPDATE SET release = ?",
                (self.id, release_hash, release_hash),
            )

    def finish(self, release_hash: str, keep: bytes | None = None) -> Head:
        """Write the release's hash and forget the outcomes: the release is safe in a file, or in `keep`."""
        try:
            with self._ledger.transaction():
                self._check_open()
                body = {"reservation": self.id, "release": release_hash}
                entry = self._ledger.append("release", self.account, body)
                if keep is not None:
                    self._ledger.kept.add(entry.seq, keep)
                self._ledger.forget_journal(self.id)
        finally:
            self._lock.release()
        return self._ledger.head()

    def abandon(self, reason: str) -> None:
        """End a run that failed. Without a draw it is given back; with one it stays spent, open to a resume."""
        try:
            if not self.drawn and not self._ended:
                with self._ledger.transaction():
                    self._ledger.end(self.account, self.id, reason)
        finally:
            self._lock.release()

    @property
    def _ended(self) -> bool:
        return any(e.kind in ENDINGS and e.body["reservation"] == self.id for e in self._ledger.entries(self.account))

    def _check_open(self) -> None:
        """Refuse, in the present transaction, to go on with a reservation that somebody else has ended."""
        row = self._ledger.connection.execute("SELECT 1 FROM sources WHERE reservation = ?", (self.id,)).fetchone()
        if row is None:
            raise LedgerError("this run was ended by another process: nothing more is drawn or released on it")

    def _mark(self, step: int, state: str, outcome: bytes | None) -> None:
        with self._ledger.transaction():
            self._check_open()
            self._ledger.connection.execute(
                "UPDATE journal SET state = ?, outcome = ? WHERE reservation = ? AND step = ?",
                (state, outcome, self.id, step),
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
