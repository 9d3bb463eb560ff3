"""Publishing: from a private table to a release. The only place that builds an engine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.compiled import telling
from understudy.discovering import abandoned_on_error, buy_and_reopen, open_rows
from understudy.engines.engine import CountingEngine
from understudy.engines.opening import ENGINES as ENGINES
from understudy.engines.opening import Opened, PrivateData
from understudy.errors import ReleaseError, UsageError, check_path
from understudy.methods import Fit, method_named
from understudy.methods.allowed_rules import check_rules
from understudy.methods.discovery import Discovered, Discovery
from understudy.methods.forecast import forecast, known_rows, promise
from understudy.methods.model_error import PURPOSE as MODEL_ERROR
from understudy.models.ruled_model import with_rules
from understudy.planning import AnyMethod, method_for
from understudy.planning import as_schema as as_schema
from understudy.planning import least_epsilon as least_epsilon
from understudy.planning import plan as plan
from understudy.prior_source import PriorSource, open_prior, refuse_private
from understudy.privacy.accounting import total_cost
from understudy.privacy.budget import Amount, Budget, show
from understudy.privacy.entries import ChargeEntry, Head
from understudy.privacy.kept_releases import MAX_KEPT_BYTES
from understudy.privacy.known_ledgers import remember, source_name
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.random_source import RandomSource, SystemSource
from understudy.privacy.refusals import refuse_early
from understudy.privacy.reservation import LOST_DRAW, Reservation
from understudy.privacy.run_ledger import ledger_for, ledger_path, refuse_second_ledger
from understudy.privacy.table import PrivateTable, Progress
from understudy.progress import Clock, ProgressBar, Spend
from understudy.relations.method import DerivedTables, HistoryMethod
from understudy.relations.reading import DerivedEngine
from understudy.relations.table_method import TreeMethod
from understudy.release.card import Card
from understudy.release.facts import ReleaseFacts
from understudy.release.frames import library_of
from understudy.release.release import Release
from understudy.schema import Schema
from understudy.schema.frame_draft import without_schema
from understudy.schema.open_points import check_confirmed
from understudy.schema.rows_seen import with_sight

MAX_EPSILON = 10  # above it a promise is so weak that a person must ask for it by word
_log = logging.getLogger("understudy")


@dataclass(frozen=True, eq=False)
class Publication:
    """A release and what only the custodian sees: timings, and whether an interrupted run was continued."""

    release: Release
    seconds: dict[str, float]
    resumed: bool
    charges: list[ChargeEntry]
    notes: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()  # what was forecast before anything was spent


def publish(
    data: Any,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: Amount | None = None,
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
    prior: PriorSource | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Release:
    """Publish a private table under one epsilon, and return the release. Every call spends, and draws fresh noise.

    The whole budget is taken from the ledger before a row is counted; over the cap nothing is read.

    Args:
        data: pandas, polars or pyarrow; the path of a CSV, Parquet, SPSS, Stata, SAS or Excel file; or an address,
            postgresql://host/db?table=t. With [tables.NAME] in the schema: a folder of such files, or a mapping of
            frames by the tables' names.
        schema: a `Schema` or the path of a schema.toml: all that is public about the table. Without one, the error
            says what is missing and shows a draft to start from, `Schema.draft(frame)`.
        epsilon: the privacy loss of everything that this run does; it must be given. Above 10 it needs
            `accept_large_epsilon`.
        delta: the allowed failure probability; 0 is pure differential privacy.
        method: "auto", which looks at public facts only, or the name of a method.
        ledger: a `Ledger` or its path. The default is $UNDERSTUDY_LEDGER, else understudy-ledger.db beside the schema.
        cap: of a new account, in epsilon; the default is this epsilon. "none" is no cap.
        engine: what counts: "memory", "mapped", "duckdb", "postgresql" or "spark"; chosen by the data where None.
        master: Spark's.
        types: "declared" says that the types of a frame's or a Parquet file's columns were chosen and not inferred from
            the rows, so that texts are texts.
        save: writes the release to this file before the ledger closes the run; the same call after a crash then goes on
            without paying twice. Without it the ledger keeps the release (`understudy ledger recover`).
        force: replaces a file that is there already.
        resume: goes on with an interrupted run of version 0.1, which does not say what table it read.
        accept_large_epsilon: an epsilon above 10 is meant.
        prior: what is known before, so that epsilon buys what changed: an earlier `Release` or its file, whose own
            epsilon is spent apart from this one, or a CSV or Parquet file that is public (docs/guide/priors.md).
        progress: shows a bar; None means where somebody is looking.
        options: options of the method.

    >>> made = understudy.publish(frame, schema, epsilon=1, ledger="published.db")
    >>> made.rows, made.card.epsilon
    (2000, 1.0)
    """
    if schema is None:
        raise without_schema(data)
    if epsilon is None:
        raise UsageError(
            "say how much privacy loss this may cost: publish(table, schema, epsilon=1) moves a 50 % suspicion to 73 % "
            "at most. understudy.plan(schema, epsilon=1) says beforehand what that buys"
        )
    budget = Budget(epsilon, delta)
    refuse_large_epsilon(budget, accept_large_epsilon, "accept_large_epsilon=True")
    target = None if save is None else _target(save, force)
    with progress_bar(progress, budget) as bar, telling(bar.compiling):
        return run(
            data, as_schema(schema), budget, method, options, ledger=ledger, cap=cap, engine=engine, master=master,
            types=types, target=target, resume=resume, prior=prior, progress=bar,
        ).release  # fmt: skip


def _target(save: str | Path, force: bool) -> ReleaseTarget:
    path = Path(check_path(save, "a release", "saved to"))
    if not path.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {path.parent.name!r} for the release: make it, or choose another place")
    return ReleaseTarget(path, lambda release: release.save(path), force)


def progress_bar(wanted: bool | None, budget: Budget) -> ProgressBar:
    """Return a bar for a run with this budget; `wanted` None means: if somebody is looking."""
    return ProgressBar(wanted, Spend(total_cost(budget), str(budget), pure=not budget.delta))


@dataclass(frozen=True)
class ReleaseTarget:
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
    target: ReleaseTarget | None = None,
    engine: str | None = None,
    master: str | None = None,
    types: str | None = None,
    resume: bool = False,
    register: bool = True,
    quiet: bool = False,
    prior: PriorSource | None = None,
) -> Publication:
    """Publish a table: check all that can fail without counting, reserve the budget, then count rows.

    What is forecast is logged before that, unless `quiet`.
    """
    source = source or SystemSource()
    clock = Clock(progress)
    schema = with_sight(schema, ledger_path(ledger, schema).parent)
    check_confirmed(schema)
    if prior is not None:
        refuse_private(prior, data)
    known = None if prior is None else open_prior(prior, schema)
    wanted = Discovery.of(schema, budget) if schema.undiscovered else None
    free = schema.free if wanted is None else wanted.stand_in()  # what is modelled: other columns follow from it
    budget = budget if wanted is None else wanted.budget
    chosen = method_for(free, method, options, budget, known)
    if not isinstance(chosen, HistoryMethod | TreeMethod):
        check_rules(chosen, schema)
    planned = chosen.plan(free, budget, rows=known_rows(schema) or 1000)  # refuses impossible options and sizes
    warned = forecast(free, planned) if known_rows(schema) and not schema.relational else ()
    if wanted is not None:
        wanted.check(known_rows(schema))
    register = register and source.private
    notes = refuse_second_ledger(data, schema, ledger) if register else []
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
        rows = PrivateData(data, engine, master, types)
        opened = open_rows(rows, free if wanted is None else wanted.probes(), key)
        try:
            named = chosen.name if wanted is None else method  # which method it is may follow from what is bought
            earlier = {"method": named, "options": {k: str(v) for k, v in sorted(options.items())}}
            earlier |= {} if known is None else {"prior": known.hash}
            request = earlier | ({"model_error": True} if any(p.name == MODEL_ERROR for p in planned.phases) else {})
            reservation = book.reserve(
                schema, budget, request, cap=None if cap == "none" else cap, unlimited=cap == "none",
                private=source.private, fingerprint=opened.engine.fingerprint(key), resume=resume, only=only,
                formerly=[] if request == earlier or wanted is not None else [earlier],
            )  # fmt: skip
            if reservation.request == earlier and wanted is None and not schema.relational:
                chosen = method_named(
                    method, options, free, prior=known, budget=budget
                )  # begun before model error was bought
            if register:
                remember(schema.account, book.path, schema.hash, source_name(data))
            if reservation.resumed:
                _log.warning("continuing the interrupted run on account %r: what it drew is used", schema.account)
            found = Discovered(schema)
            if wanted is not None:
                wanted = replace(wanted, budget=reservation.budget)
                found, opened = buy_and_reopen(rows, opened, wanted, reservation, source, clock)
                chosen = method_named(method, options, found.schema, model_error=True, budget=budget)
            paid = _PaidRun(rows, schema, opened, chosen, found, reservation, source, clock)
            made = paid.publish(target, tuple(notes))
            after = _afterwards(chosen, found.schema.free, budget, made.release.rows)
            return replace(made, notes=(*made.notes, *after), warned=warned)
        finally:
            opened.engine.close()


def _afterwards(chosen: AnyMethod, schema: Schema, budget: Budget, rows: int) -> tuple[str, ...]:
    """Return the forecast that could not be made before, for want of a public row count: from the noisy one."""
    if known_rows(schema) or schema.relational:
        return ()
    return forecast(schema, chosen.plan(schema, budget, rows=rows))


@dataclass(frozen=True, eq=False)
class _PaidRun:
    """A run whose budget is reserved: the rows are open, and the method may ask."""

    rows: PrivateData
    declared: Schema
    opened: Opened
    method: AnyMethod
    found: Discovered
    reservation: Reservation
    source: RandomSource
    clock: Clock

    def publish(self, target: ReleaseTarget | None, notes: tuple[str, ...]) -> Publication:
        """Fit, write and close the run; the reservation is abandoned where anything fails."""
        reservation = self.reservation
        with abandoned_on_error(reservation):
            release = self._release(self._tables())
            if target is not None:
                self.clock("write", 0, 1, reservation.total_cost)
                reservation.saving(release.hash)
                target.write(release)
            charges = reservation.charges()
            keep = release.to_bytes() if target is None and self.source.private else None
            if keep is not None and len(keep) > MAX_KEPT_BYTES:
                _log.warning("this release is too large for the ledger to keep: save it before the process ends")
            reservation.finish(release.hash, keep)
        return Publication(release, self.clock.stop(), reservation.resumed, charges, notes)

    def _tables(self) -> PrivateTable | DerivedTables:
        """Return the tables that the method may ask; all draw on the one reservation."""
        method, engine = self.method, self.opened.engine
        if not isinstance(method, HistoryMethod | TreeMethod):
            table = self._private(self.found.schema.free, engine)
            return table if self.found.schema is self.declared else table.known_by(self.found.schema.hash)
        assert isinstance(engine, DerivedEngine)
        engines = engine.tables
        return DerivedTables(
            {name: self._private(own, engines[name]).known_by(name) for name, own in method.derived.items()}
        )

    def _private(self, schema: Schema, engine: CountingEngine) -> LocalPrivateTable:
        return LocalPrivateTable(schema, engine, self.reservation, self.source, self.clock)

    def _release(self, tables: PrivateTable | DerivedTables) -> Release:
        found, reservation, data = self.found, self.reservation, self.rows.data
        fit = self.method.fit(tables.knowing(found.known).with_total_cost(reservation.left))  # type: ignore[arg-type]
        if found.schema.rules:
            fit = replace(fit, model=with_rules(fit.model, fit.model.schema.completed(found.schema)))
        card = Card.of(
            found.schema, reservation.budget, self.method.name, fit.facts.get("options", {}), reservation.charges(),
            reservation.account_state(), self.source.private, (*found.notes, *fit.notes), declared=self.declared,
        )  # fmt: skip
        frame = next(iter(data.values())) if isinstance(data, Mapping) else data
        # no row stays behind, and no type: one could tell of a cell
        return release_of(fit, card, self.opened.columns, reservation.head(), library_of(frame))


def release_of(fit: Fit, card: Card, columns: tuple[str, ...], head: Head, library: str | None = None) -> Release:
    """Return the release of a fit and its card."""
    facts = ReleaseFacts.of({k: v for k, v in fit.facts.items() if k != "options"})
    covered = fit.model.schema  # of some methods, a part of the table's
    columns = tuple(name for name in columns if any(a.name == name for a in covered.attributes))
    return Release(
        covered, fit.model, fit.measurements, fit.rows, columns, facts, card, head, library, fit.details,
        fit.trees, fit.prior,
    )  # fmt: skip
