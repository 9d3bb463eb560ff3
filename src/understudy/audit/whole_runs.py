"""Whole runs of `publish` under observation: on a small table, with a ledger of its own, in a folder that goes away."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.audit.observation import Observed, Observer
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.publishing import Publication, run
from understudy.schema import Schema

Texts = Mapping[str, Any]  # of each column its cells; with [tables.NAME], of each table its columns


@dataclass(frozen=True, eq=False)
class Setting:
    """What is public about a run, and two neighbouring tables of cells as texts."""

    what: str
    method: str
    schema: Schema
    budget: Budget
    one: Texts
    two: Texts
    options: Mapping[str, Any] = field(default_factory=dict)
    types: str | None = None  # "declared" where texts are to be texts


class Ledgers:
    """A fresh ledger for each run: copies of one that was made once. Nobody's budget, so the disk is not waited for."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._template, self._made = folder, folder / "template.db", 0
        Ledger(self._template).close()

    @contextmanager
    def fresh(self) -> Iterator[Ledger]:
        self._made += 1
        path = self._folder / f"{self._made}.db"
        shutil.copyfile(self._template, path)
        path.chmod(0o600)
        with Ledger(path) as ledger:
            ledger.connection.execute("PRAGMA synchronous = OFF")
            yield ledger
        path.unlink()


@contextmanager
def fresh_ledgers() -> Iterator[Ledgers]:
    with tempfile.TemporaryDirectory() as folder:
        yield Ledgers(Path(folder))


def published(setting: Setting, rows: Texts, ledgers: Ledgers, source: Observer, seen: Observed) -> Publication:
    """Run the real `publish` on one table; the ledger's own writes are noted as they reach the disk."""
    with ledgers.fresh() as ledger:
        ledger.connection.set_trace_callback(seen.statement)
        data = {n: pa.table(dict(own)) for n, own in rows.items()} if setting.schema.tables else pa.table(dict(rows))
        return run(
            data, setting.schema, setting.budget, setting.method, setting.options, ledger=ledger,
            cap="none", source=source, register=False, quiet=True, types=setting.types,
        )  # fmt: skip
