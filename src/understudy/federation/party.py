"""A party: one owner's process. It reads its own rows, pays from its own ledger, and only ever calls out."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.engines.opening import Opened, PrivateData, open_engine, open_groups
from understudy.errors import BudgetError, FederationError, LedgerError, MessageRefused, UsageError
from understudy.federation.certificates import Identity, certificate_facts
from understudy.federation.client import CuratorClient
from understudy.federation.completing import discovery_of
from understudy.federation.journal import OwnerJournal
from understudy.federation.owner import OwnerAnswers
from understudy.federation.roster import Roster
from understudy.federation.signatures import KeySigner
from understudy.federation.unfinished import close_unfinished, session_file
from understudy.federation.wire import Message, shown
from understudy.methods.discovery import Discovery
from understudy.methods.discovery_probes import LISTS
from understudy.privacy.budget import Amount, exact, show
from understudy.privacy.entries import ChargeEntry
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.random_source import RandomSource, SystemSource
from understudy.privacy.refusals import refuse_early
from understudy.privacy.reservation import Reservation
from understudy.schema import Schema
from understudy.schema.open_points import check_confirmed
from understudy.version import VERSION

_PAUSE_S = 0.05  # before the curator is asked again: one that says wait at once does not keep a processor busy
_NO_BUDGET = "its ledger refused the budget"


@dataclass(frozen=True)
class AgreementTerms:
    """What an owner is asked to agree to, in words for its operator. Nothing was sent or charged yet."""

    name: str
    roster: Roster
    curator: str
    account: str
    spent: Fraction
    cap: Fraction | None
    lists: int | None = None  # from how many of its rows on a text may be listed, where lists are bought

    def text(self) -> str:
        roster, budget = self.roster, self.roster.budget
        cap = "no cap" if self.cap is None else f"cap {show(self.cap)}"
        options = "".join(f" {key}={value}" for key, value in roster.options)
        colluding = "one owner" if roster.colluding == 1 else f"{roster.colluding} owners"
        rows = roster[self.name].rows
        lists = [] if self.lists is None else [
            f"            And texts of columns whose values nobody declared, which about {self.lists:,} of your rows",
            "            or more share, with noise on every count. The curator sees which texts are yours.",
        ]  # fmt: skip
        lines = [
            f"Federation {roster.name} asks {self.name} to take part.",
            f"  Curator   {roster.curator.name} at {self.curator}",
            f"  Owners    {', '.join(roster.names)}",
            f"  Method    {roster.method}{options}",
            f"  Your data fits the schema{'' if rows is None else f'; that it has {rows:,} rows is known to all'}.",
            f"  Cost      {budget} for each person's row, of account {self.account!r} "
            f"(epsilon {show(self.spent)} spent so far, {cap})",
            "  Leaves    what was chosen when it is your turn to choose, and counts with noise: summed over all owners",
            "            under masks, or of yours alone with the whole noise. No row, no exact count.",
            *lists,
            f"  Holds     against anyone outside, the curator, any owner, and the curator with up to {colluding}",
            f"            (K = {len(roster.owners)}, t = {roster.colluding}, u = {roster.dropping}, "
            f"h = {roster.honest}). A person held by p owners has p times the loss.",
            f"  Roster    {roster.hash}",
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Participation:
    """How it ended for this owner."""

    owner: str
    session: str
    release: str  # its hash
    account: str
    charges: list[ChargeEntry]
    resumed: bool
    rounds: int
    bytes: dict[str, int]


@dataclass
class Party:
    """One owner's side of a session; `take_part` is the whole of it."""

    data: Any
    schema: Schema
    roster: Roster
    identity: Identity
    url: str
    ledger: Path
    cap: Amount | None = None
    engine: str | None = None
    master: str | None = None
    patience: float = 600.0
    approve: Callable[[AgreementTerms], bool] = lambda terms: False
    told: Callable[[str], None] = lambda text: None
    source: RandomSource | None = None
    resume: bool = False  # go on with an interrupted session of an earlier version, which does not say what it read
    types: str | None = None

    @property
    def rows(self) -> PrivateData:
        """Return the owner's rows, and how they are read."""
        return PrivateData(self.data, self.engine, self.master, self.types)

    def take_part(self) -> Participation:
        """Take part: check what can fail without a word to anyone, ask for consent, then call the curator."""
        name = owner_of(self.roster, self.identity)
        signer = KeySigner(self.identity.private_key())
        own = self.roster.own_schema(self.schema, name)
        check_confirmed(own)
        bought = discovery_of(own, self.roster)
        coded, budget = (own, self.roster.budget) if bought is None else (bought.probes(), bought.budget)
        client = CuratorClient(
            self.url, self.identity, self.roster.curator.fingerprint, self.patience,
            lambda why: self.told(f"waiting for the curator ({why})"),
        )  # fmt: skip
        book = Ledger(self.ledger)
        try:
            try:
                refuse_early(book, own, budget)
            except BudgetError:
                with suppress(FederationError):  # a curator that is not there now need not hear of it
                    client.send(self._joining(_NO_BUDGET), patience=0)
                raise
            self.told("reading the data")
            opened = open_engine(self.rows, coded, book.source_key())
            try:
                return self._with_consent(_Ready(name, own, bought, opened, book, client, signer))
            finally:
                opened.engine.close()
        finally:
            client.close()
            book.close()

    def _with_consent(self, ready: _Ready) -> Participation:
        name, own, book, client = ready.name, ready.own, ready.book, ready.client
        book.refuse_other_source(own.account, {"roster": self.roster.hash}, ready.fingerprint(), self.resume)
        account = book.account(own.account)
        spent, cap = (account.spent_epsilon, account.cap_epsilon) if account else (Fraction(0), self._new_cap())
        lists = None if ready.bought is None else ready.bought.groups.get(LISTS)
        agreed = self.approve(AgreementTerms(name, self.roster, self.url, own.account, spent, cap, lists))
        self.told("calling the curator")
        welcome = client.send(self._joining("" if agreed else "its operator did not agree"))
        if welcome.kind != "welcome" or welcome.facts.get("roster") != self.roster.hash:
            raise FederationError(_refusal(welcome, "the curator has another roster"))
        if not agreed:
            raise FederationError("not approved: the curator was told. Nothing was charged, no row was counted")
        for sentence in close_unfinished(book, own.account, self.roster, welcome.session):
            self.told(sentence)
        journal = OwnerJournal(session_file(self.ledger, welcome.session))
        sitting = _Sitting(self, ready, journal, welcome.session)
        try:
            return sitting.run()
        except BaseException:
            sitting.give_up()
            raise
        finally:
            sitting.close_rows()

    def _joining(self, declined: str = "") -> Message:
        """Return the message that this owner joins, or that it does not: then nobody waits for it."""
        return Message.note("join", roster=self.roster.as_json(), understudy=VERSION, declined=declined)

    def _new_cap(self) -> Fraction | None:
        if self.cap == "none":
            return None
        return self.roster.budget.epsilon if self.cap is None else exact(self.cap, "the cap")


@dataclass(frozen=True, eq=False)
class _Ready:
    """What an owner has opened and checked before it calls the curator."""

    name: str
    own: Schema
    bought: Discovery | None
    opened: Opened
    book: Ledger
    client: CuratorClient
    signer: KeySigner

    def fingerprint(self) -> str:
        """Return the keyed fingerprint of the rows, by which a resumed run knows its table."""
        return self.opened.engine.fingerprint(self.book.source_key())


class _Sitting:
    """The session from joining to its end."""

    def __init__(self, party: Party, ready: _Ready, journal: OwnerJournal, session: str) -> None:
        self._party = party
        self._ready = ready
        self._journal = journal
        self._session = session
        self._reopened: Opened | None = None  # by the completed schema
        self._source = party.source or SystemSource()
        self._reservation: Reservation | None = None
        self._answers: OwnerAnswers | None = None
        self._rounds: set[int] = set()
        self._over = False
        self._declined = ""

    def run(self) -> Participation:
        self._party.told("waiting for the other owners")
        while True:
            message = self._ready.client.send(Message("next", self._session))
            if message.kind != "refused" and message.session != self._session:
                raise FederationError("the curator speaks of another session than the one it began with this owner")
            if message.kind == "task":
                self._ready.client.send(self._reply_to(message))
            elif message.kind == "end":
                return self._end(message)
            elif message.kind != "wait":
                raise FederationError(_refusal(message, "the curator does not answer as it should"))
            else:
                time.sleep(_PAUSE_S)

    def _reply_to(self, task: Message) -> Message:
        """Return the answer, or a message that there will be none, so that nobody waits for it."""
        try:
            answers = self._sit_down()
        except (BudgetError, LedgerError):
            with suppress(FederationError):  # the reason is the ledger's, whether or not the curator hears it
                self._ready.client.send(Message.note("leave", self._session, reason=_NO_BUDGET))
            raise
        try:
            body = answers.answer(task.round, task.stage, task.body)
        except MessageRefused as error:
            self._declined = error.message
            self._party.told(f"round {task.round}, {task.stage}: declined. {error.message}")
            return Message.decline(self._session, task.round, task.stage, error.code)
        self._rounds.add(task.round)
        assert self._reservation is not None
        spent = self._reservation.total_cost - self._reservation.left
        self._party.told(f"round {task.round}, {task.stage}: answered, spent {float(spent):.4g}")
        return Message("answer", self._session, task.round, task.stage, body)

    def _sit_down(self) -> OwnerAnswers:
        """Reserve the whole budget at the first task: every owner is there, and questions can be answered."""
        if self._answers is None:
            ready, source, roster = self._ready, self._source, self._party.roster
            self._reservation = self._reserve()
            coded, texts, complete = ready.own, None, None
            if ready.bought is not None:
                coded, complete = ready.bought.probes(), self._completed
                texts = open_groups(self._party.rows, coded)
            table = LocalPrivateTable(coded, ready.opened.engine, self._reservation, source, groups=texts)
            self._answers = OwnerAnswers(
                ready.name, roster, self._session, table, ready.signer, source, self._journal, ready.own, complete
            )
        return self._answers

    def _completed(self, schema: Schema) -> LocalPrivateTable:
        """Return the rows by the schema that the owners completed: read once more."""
        self.close_rows()
        assert self._reservation is not None
        self._party.told("reading the data by the completed schema")
        self._reopened = open_engine(self._party.rows, schema)
        return LocalPrivateTable(schema, self._reopened.engine, self._reservation, self._source)

    def close_rows(self) -> None:
        """Let go of the rows that were read by a completed schema."""
        if self._reopened is not None:
            self._reopened.engine.close()
            self._reopened = None

    def _reserve(self) -> Reservation:
        roster, cap = self._party.roster, self._party.cap
        request = {
            "federation": roster.name, "session": self._session, "roster": roster.hash, "method": roster.method,
            "options": dict(roster.options),
        }  # fmt: skip
        budget = roster.budget if self._ready.bought is None else self._ready.bought.budget
        return self._ready.book.reserve(
            self._ready.own, budget, request, cap=None if cap == "none" else cap, unlimited=cap == "none",
            private=self._source.private, fingerprint=self._ready.fingerprint(),
            resume=self._party.resume,
        )  # fmt: skip

    def _end(self, message: Message) -> Participation:
        facts = message.facts
        if self._reservation is None and self._journal.requests():
            self._reservation = self._reserve()  # this process came back only to hear the end
        if facts.get("outcome") != "done":
            raise self._aborted(shown(facts.get("reason", "no reason given")))
        charges: list[ChargeEntry] = []
        release = shown(facts.get("release", ""), 64)
        if self._reservation is not None:
            charges = self._reservation.charges()
            self._reservation.finish(release)
        self._over = True
        self._journal.remove()
        return Participation(
            self._ready.name, self._session, release, self._ready.own.account, charges,
            self._reservation is not None and self._reservation.resumed, len(self._rounds),
            {"sent": self._ready.client.sent, "received": self._ready.client.received},
        )  # fmt: skip

    def _aborted(self, reason: str) -> FederationError:
        spent = "nothing was charged here"
        if self._reservation is not None:
            drawn, budget = self._reservation.drawn, self._reservation.budget
            self._reservation.abandon("the session was aborted")
            account = self._ready.own.account
            spent = f"{budget} of account {account!r} stays spent" if drawn else "the reservation was given back"
        self._over = True
        self._journal.remove()
        own = f" This owner declined: {self._declined}." if self._declined else ""
        return FederationError(f"the session was aborted, nothing was released: {reason}.{own} Here, {spent}.")

    def give_up(self) -> None:
        """Close what is open when the process ends before the session; what is needed to go on stays."""
        if self._over:
            return
        try:
            if self._reservation is not None:
                self._reservation.abandon("stopped")
        finally:
            self._journal.close_file()


def owner_of(roster: Roster, identity: Identity) -> str:
    """Return the owner whose certificate this is."""
    fingerprint, public_key = certificate_facts(identity.certificate)
    for owner in roster.owners:
        if owner.fingerprint == fingerprint and owner.public_key == public_key:
            return owner.name
    raise UsageError(
        f"the certificate {identity.certificate.name!r} (fingerprint {fingerprint[:16]}…) is of none of the roster's "
        f"owners: {', '.join(roster.names)}"
    )


def _refusal(message: Message, otherwise: str) -> str:
    if message.kind == "refused":
        return f"the curator refused: {shown(message.facts.get('message', 'no reason given'), 2000)}"
    return otherwise
