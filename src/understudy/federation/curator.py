"""The curator: it has no rows and no ledger. It runs a method over the owners' tables and makes the release."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from understudy.errors import FederationError, UnderstudyError, UsageError
from understudy.federation.certificates import Identity, certificate_facts
from understudy.federation.completing import completed_by, discovery_of
from understudy.federation.federated_table import FederatedTable
from understudy.federation.journal import CuratorJournal
from understudy.federation.roster import Roster
from understudy.federation.server import MailServer
from understudy.methods import Method, method_named
from understudy.methods.discovery import Discovered, Discovery
from understudy.privacy.entries import GENESIS, ChargeEntry, Head
from understudy.privacy.table import Progress
from understudy.progress import Clock
from understudy.publishing import release_of
from understudy.release.card import Card, Together
from understudy.release.release import Release
from understudy.schema import Schema
from understudy.schema.open_points import check_confirmed
from understudy.undo import undone_on_error
from understudy.version import VERSION


@dataclass(frozen=True, eq=False)
class Curation:
    """The release, and what it took."""

    release: Release
    seconds: dict[str, float]
    charges: list[dict[str, str]]  # to whom, what for
    resumed: bool
    owners: tuple[str, ...]
    dropped: dict[str, str]
    rounds: int
    bytes: dict[str, dict[str, int]]


@dataclass(frozen=True)
class Desk:
    """Where the curator works: its address, its identity, its journal, and how long it waits for answers and joins."""

    host: str
    port: int
    identity: Identity
    journal: Path
    timeout: float = 300.0
    wait: float = 3600.0


def check_curator(schema: Schema, roster: Roster, identity: Identity) -> tuple[Schema, Method]:
    """Check all that can be wrong before anyone is spoken to."""
    common = roster.common_schema(schema)
    check_confirmed(common)
    method = agreed_plan(common, roster)
    fingerprint, public_key = certificate_facts(identity.certificate)
    if (fingerprint, public_key) != (roster.curator.fingerprint, roster.curator.public_key):
        raise UsageError(
            f"this certificate (fingerprint {fingerprint[:16]}…) is not the one of {roster.curator.name!r} in the "
            f"roster ({roster.curator.fingerprint[:16]}…)"
        )
    return common, method


def agreed_plan(common: Schema, roster: Roster) -> Method:
    """Return the method, where a part of the schema is to be bought that for a guess; refuse what cannot be done."""
    bought = discovery_of(common, roster)
    guessed, budget = (common, roster.budget) if bought is None else (bought.stand_in(), bought.budget)
    method = method_named(roster.method, dict(roster.options), guessed, owners=len(roster.owners))
    if bought is None:
        method.plan(common, budget, rows=common.rows or 1000)
        return method
    bought.check(common.rows)
    method.plan(guessed, budget.shared(1 - bought.cost / bought.whole), rows=common.rows or 1000)
    return method


def curate(
    schema: Schema,
    roster: Roster,
    desk: Desk,
    *,
    save: Callable[[Release], None],
    progress: Progress | None = None,
    opened: Callable[[int, bool], None] | None = None,
    awaited: Callable[[Sequence[str]], None] | None = None,
) -> Curation:
    """Gather the owners, fit, save, and tell every owner how it ended."""
    common, method = check_curator(schema, roster, desk.identity)
    request = hashlib.sha256(json.dumps([roster.hash, common.hash, VERSION]).encode()).hexdigest()
    journal = CuratorJournal(desk.journal, request)
    with undone_on_error(journal.close_file if journal.resumed else journal.remove):  # nobody heard of the session
        mail = MailServer(roster, desk.identity, journal, desk.host, desk.port, desk.timeout)
    with undone_on_error(journal.close_file):
        with mail as server:
            if opened is not None:
                opened(server.port, journal.resumed)
            try:
                curation = _session(common, roster, method, server, journal, desk, save, Clock(progress), awaited)
            except UnderstudyError as error:  # the session is over: everyone is told, nothing is left to continue
                server.finish(outcome="aborted", reason=error.message)
                journal.remove()
                raise
            server.finish(outcome="done", release=curation.release.hash)
        journal.remove()
    return curation


def _session(
    schema: Schema,
    roster: Roster,
    method: Method,
    server: MailServer,
    journal: CuratorJournal,
    desk: Desk,
    save: Callable[[Release], None],
    clock: Clock,
    awaited: Callable[[Sequence[str]], None] | None,
) -> Curation:
    if journal.noted("gathered") is None:
        clock("gather", 0, 1, Fraction(0))
        server.gather(desk.wait, awaited)
        journal.note("gathered", "yes")
    table = FederatedTable(schema, roster, server, journal.session, clock)
    try:
        found, bought = _bought(table, roster)
        if bought is not None:
            method = method_named(roster.method, dict(roster.options), found.schema, owners=len(roster.owners))
            table = table.coded_by(found.schema, found.bodies)
        fit = method.fit(table.knowing(found.known).with_total_cost(table.left) if bought else table)
    except FederationError as error:
        gone = "; ".join(f"{name}: {why}" for name, why in server.dropped.items())
        raise type(error)(error.message + (f". Not there: {gone}" if gone else "")) from None
    together = Together(roster.name, roster.names, roster.colluding, roster.dropping, roster.honest, roster.hash)
    card = Card.of(
        found.schema, roster.budget if bought is None else bought.budget, method.name, fit.facts.get("options", {}),
        largest_charges(table, roster), None, True, (*found.notes, *fit.notes), together, declared=schema,
    )  # fmt: skip
    release = release_of(fit, card, tuple(a.name for a in schema.attributes), Head(0, GENESIS))
    clock("write", 0, 1, table.total_cost)
    save(release)
    return Curation(
        release, clock.stop(), table.charges, journal.resumed, roster.names, server.dropped, len(server.rounds),
        server.traffic,
    )  # fmt: skip


def _bought(table: FederatedTable, roster: Roster) -> tuple[Discovered, Discovery | None]:
    """Buy what the schema leaves open, of all owners: sums on the probes, and each owner's lists."""
    wanted = discovery_of(table.schema, roster)
    if wanted is None:
        return Discovered(table.schema), None
    found = wanted.buy(table.coded_by(wanted.probes()))
    bodies = json.loads(json.dumps(found.bodies))  # as the owners read it
    notes, schema = (*found.notes, *wanted.losses()), completed_by(table.schema, bodies)
    return replace(found, schema=schema, bodies=bodies, notes=notes), wanted


def largest_charges(table: FederatedTable, roster: Roster) -> list[ChargeEntry]:
    """Return what the owner that was charged most paid, line by line: no owner paid more."""
    most = max(roster.names, key=lambda name: table.paid[name])
    unit = table.accounting.unit
    return [ChargeEntry(c["purpose"], Fraction(c["cost"]), unit) for c in table.charges if c["owner"] in (most, "all")]
