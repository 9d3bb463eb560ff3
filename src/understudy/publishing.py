"""Publishing: from a private table to a release. The only place that builds an engine."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.engines.addresses import SCHEMES, address_of, scheme_of
from understudy.engines.opening import ENGINES as ENGINES
from understudy.engines.opening import Opened, find_misfits, open_engine
from understudy.errors import BudgetError, ReleaseError, UsageError
from understudy.methods import Fit, Method, Plan, method_named
from understudy.methods.forecast import forecast, known_rows, promise
from understudy.privacy.budget import Amount, Budget, show
from understudy.privacy.entries import Head
from understudy.privacy.kept_releases import MAX_KEPT_BYTES
from understudy.privacy.known_ledgers import other_ledgers, remember, source_name
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.random_source import RandomSource, SystemSource
from understudy.privacy.refusals import refuse_early
from understudy.privacy.reservation import LOST_DRAW, Reservation
from understudy.privacy.table import PrivateTable, Progress
from understudy.release.card import Card
from understudy.release.frames import library_of
from understudy.release.release import Release
from understudy.schema import Schema
from understudy.schema.confirmation import check_confirmed as check_confirmed

MAX_EPSILON = 10  # above it a promise is so weak that a person must ask for it by word
_log = logging.getLogger("understudy")


@dataclass(frozen=True, eq=False)
class Publication:
    """A release and what only the custodian sees: timings, and whether an interrupted run was continued."""

    release: Release
    seconds: dict[str, float]
    resumed: bool
    charges: list[dict[str, Any]]
    notes: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()  # what was forecast before anything was spent


def plan(
    schema: Schema | str | Path,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    method: str = "auto",
    rows: int | None = None,
    **options: Any,
) -> Plan:
    """What would be spent and what error to expect. Reads no row."""
    public, budget = as_schema(schema), Budget(epsilon, delta)
    made = method_named(method, options, public).plan(public, budget, rows)
    said = promise(public, budget, made.rows)
    return replace(made, notes=(*made.notes, *forecast(public, made), *([said] if said else [])))


def publish(
    data: Any,
    schema: Schema | str | Path,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    method: str = "auto",
    ledger: Ledger | str | Path | None = None,
    cap: Amount | None = None,
    engine: str | None = None,
    master: str | None = None,
    types: str | None = None,
    save: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    accept_large_epsilon: bool = False,
    **options: Any,
) -> Release:
    """Publish a frame, file or database table under (epsilon, delta) and return the release.

    `types="declared"` says that the types of a frame's or a Parquet file's columns were chosen and not inferred from
    the rows, so that texts are texts.

    With `save`, the release is in that file before the ledger closes the run, and a run that was killed goes on where
    it was; a file that is there already is replaced only with `force`. Without it the ledger keeps the release
    (`understudy ledger recover`), and every call draws fresh noise. `resume` goes on with an interrupted run of an
    earlier version, which does not say what table it read. An epsilon above 10 must be accepted by word.
    """
    budget = Budget(epsilon, delta)
    refuse_large_epsilon(budget, accept_large_epsilon, "accept_large_epsilon=True")
    target = None if save is None else Target(Path(save), lambda release: release.save(save), force)
    return run(
        data, as_schema(schema), budget, method, options, ledger=ledger, cap=cap, engine=engine, master=master,
        types=types, target=target, resume=resume,
    ).release  # fmt: skip


@dataclass(frozen=True)
class Target:
    """Where a release goes, how it is written there, and whether it may take the place of a file."""

    path: Path
    write: Callable[[Release], None]
    force: bool = False

    def owner(self, book: Ledger) -> str | None:
        """Return the unfinished reservation that wrote the file that is there; refuse any other file, unless forced."""
        if self.force or not self.path.exists():
            return None
        with suppress(ReleaseError):
            if (owner := book.unfinished_with(Release.open(self.path).hash)) is not None:
                return owner
        raise UsageError(
            f"{self.path.name!r} is there already, and a release is paid for: choose another name, or replace it with "
            "--force (force=True)"
        )


def refuse_large_epsilon(budget: Budget, accepted: bool, word: str) -> None:
    """Refuse an epsilon that promises next to nothing unless a person said so."""
    if budget.epsilon > MAX_EPSILON and not accepted:
        raise UsageError(
            f"epsilon {show(budget.epsilon)} promises next to nothing: a 50 % suspicion may become certainty. Choose "
            f"one of at most {MAX_EPSILON}, or say that it is meant: {word}"
        )


def run(
    data: Any,
    schema: Schema,
    budget: Budget,
    method: str,
    options: Mapping[str, Any],
    *,
    ledger: Ledger | str | Path | None = None,
    cap: Amount | None = None,
    source: RandomSource | None = None,
    progress: Progress | None = None,
    target: Target | None = None,
    engine: str | None = None,
    master: str | None = None,
    types: str | None = None,
    resume: bool = False,
    register: bool = True,
    quiet: bool = False,
) -> Publication:
    """Everything that can fail without counting comes first; then the budget is reserved; then rows are counted.

    What is forecast is logged before that, unless `quiet`.
    """
    source = source or SystemSource()
    clock = Clock(progress)
    chosen = method_named(method, options, schema)
    check_confirmed(schema)
    planned = chosen.plan(schema, budget, rows=known_rows(schema) or 1000)  # refuses impossible options and sizes
    warned = forecast(schema, planned) if known_rows(schema) else ()
    register = register and source.private
    notes = _other_ledgers(data, schema, ledger) if register else []
    with ledger_for(ledger, schema) as book:
        if refuse_early(book, schema, budget):
            _log.warning("a run that was interrupted is closed: %s. What it took stays spent", LOST_DRAW)
        only = None if target is None else target.owner(book)
        for line in () if quiet else warned:
            _log.warning("%s", line)
        if book.account(schema.account) is None and (said := promise(schema, budget)):
            notes.append(said)
        clock("read", 0, 1, Fraction(0))
        key = book.source_key()
        opened = open_engine(data, schema, engine, master, types, key)
        try:
            request = {"method": chosen.name, "options": {k: str(v) for k, v in sorted(options.items())}}
            reservation = book.reserve(
                schema, budget, request, cap=None if cap == "none" else cap, unlimited=cap == "none",
                private=source.private, fingerprint=opened.engine.fingerprint(key), resume=resume, only=only,
            )  # fmt: skip
            if register:
                remember(schema.account, book.path, schema.hash, source_name(data))
            if reservation.resumed:
                _log.warning("continuing the interrupted run on account %r: what it drew is used", schema.account)
            made = _publish(opened, chosen, schema, budget, reservation, source, clock, target, data, tuple(notes))
            after = _afterwards(chosen, schema, budget, made.release.rows)
            return replace(made, notes=(*made.notes, *after), warned=warned)
        finally:
            opened.engine.close()


def _afterwards(chosen: Method, schema: Schema, budget: Budget, rows: int) -> tuple[str, ...]:
    """The forecast that could not be made before, for want of a public row count: from the noisy one."""
    return () if known_rows(schema) else forecast(schema, chosen.plan(schema, budget, rows=rows))


def _publish(
    opened: Opened,
    chosen: Method,
    schema: Schema,
    budget: Budget,
    reservation: Reservation,
    source: RandomSource,
    clock: Clock,
    target: Target | None,
    data: Any,
    notes: tuple[str, ...],
) -> Publication:
    try:
        table = LocalPrivateTable(schema, opened.engine, reservation, source, clock)
        release = _fit(chosen, table, reservation, budget, opened.columns, data, source.private)
        if target is not None:
            clock("write", 0, 1, reservation.total_cost)
            reservation.saving(release.hash)
            target.write(release)
        charges = reservation.charges()
        keep = release.to_bytes() if target is None and source.private else None
        if keep is not None and len(keep) > MAX_KEPT_BYTES:
            _log.warning("this release is too large for the ledger to keep: save it before the process ends")
        reservation.finish(release.hash, keep)
    except BaseException as error:
        reservation.abandon(type(error).__name__)
        raise
    return Publication(release, clock.stop(), reservation.resumed, charges, notes)


@contextmanager
def ledger_for(ledger: Ledger | str | Path | None, schema: Schema) -> Iterator[Ledger]:
    """Open the ledger that was named, or the default one, and close it at the end; one that is open stays open."""
    if isinstance(ledger, Ledger):
        yield ledger
        return
    with Ledger(ledger or default_ledger(schema)) as book:
        yield book


def _other_ledgers(data: Any, schema: Schema, ledger: Ledger | str | Path | None) -> list[str]:
    """Refuse a default ledger where the account is kept in another one; note it where the ledger was named."""
    path = ledger.path if isinstance(ledger, Ledger) else Path(ledger or default_ledger(schema))
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


def _fit(
    method: Method,
    table: PrivateTable,
    reservation: Reservation,
    budget: Budget,
    columns: tuple[str, ...],
    data: Any,
    private: bool,
) -> Release:
    fit = method.fit(table)
    schema = table.schema
    card = Card.of(
        schema, budget, method.name, fit.facts.get("options", {}), reservation.charges(),
        reservation.account_state(), private, fit.notes,
    )  # fmt: skip
    # no row stays behind, and no type: one could tell of a cell
    return release_of(fit, card, columns, reservation.head(), library_of(data))


def release_of(fit: Fit, card: Card, columns: tuple[str, ...], head: Head, library: str | None = None) -> Release:
    """What leaves the building, from a fit and its card."""
    facts = {k: v for k, v in fit.facts.items() if k != "options"}
    covered = fit.model.schema  # of some methods, a part of the table's
    columns = tuple(name for name in columns if any(a.name == name for a in covered.attributes))
    return Release(
        covered, fit.model, fit.measurements, fit.rows, columns, facts, card.as_json(), head, library, fit.details,
        fit.trees,
    )  # fmt: skip


def check_fit(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> list[dict[str, Any]]:
    """Every reason why the data would be refused, with the SQL that finds the cells. For the custodian."""
    from understudy.engines.misfit_sql import finding_sql

    found = find_misfits(data, schema, engine, master, types)
    table: str | tuple[str, ...] | None = str(data) if isinstance(data, str | os.PathLike) else None
    if scheme_of(data) in SCHEMES:
        table = address_of(data).table  # an address may hold a password
    return [
        {
            "kind": m.reason,
            "attribute": m.attribute,
            "message": m.message,
            "sql": finding_sql(m.attribute, schema, table) if m.reason == "cells" and m.attribute else None,
        }
        for m in found
    ]


def as_schema(schema: Schema | str | Path) -> Schema:
    return schema if isinstance(schema, Schema) else Schema.open(schema)


def default_ledger(schema: Schema) -> Path:
    """$UNDERSTUDY_LEDGER, else beside the schema, else here."""
    named = os.environ.get("UNDERSTUDY_LEDGER")
    if named:
        return Path(named)
    return (schema.path.parent if schema.path else Path()) / "understudy-ledger.db"


class Clock:
    """Seconds by phase, passed on to a progress line."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._phase = ""
        self._since = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def __call__(self, phase: str, done: int, of: int, spent: Fraction) -> None:
        if phase != self._phase:
            self._close(phase)
        if self._progress is not None:
            self._progress(phase, done, of, spent)

    def _close(self, phase: str) -> None:
        now = time.perf_counter()
        if self._phase:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def stop(self) -> dict[str, float]:
        self._close("")
        return {phase: round(s, 4) for phase, s in self._seconds.items()}
