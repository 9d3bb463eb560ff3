"""One trial: a method on a public data set with seeded noise, no ledger, and rows or tables to be judged. NOT PRIVATE.

Engines, and with them the real tables that were counted, are shared by all trials of a process; a charge is checked
against the budget as the product does, but not written down.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import datasets
from rivals.private_rivals import RIVALS, rival_named
from understudy.engines.coding import encode_table
from understudy.engines.sources import open_source
from understudy.evaluate.classification import split_rows
from understudy.methods import Fit, method_named
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.custodian import ExactTable
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema
from understudy.testing import SeededSource

Wrap = Callable[[PrivateTable, ExactTable], Any]


@dataclass(frozen=True, eq=False)
class Data:
    """A data set under its public schema (replace-one, row count public), coded once."""

    name: str
    whole: ExactTable

    @staticmethod
    @cache
    def named(name: str) -> Data:
        schema = datasets.schema(name)
        coded = encode_table(open_source(datasets.path(name), schema.csv), schema)
        return Data(name, ExactTable(coded.columns, coded.rows, schema))

    @property
    def schema(self) -> Schema:
        return self.whole.schema

    @cached_property
    def _splits(self) -> dict[int, tuple[ExactTable, ExactTable]]:
        return {}

    def split(self, repetition: int) -> tuple[ExactTable, ExactTable]:
        """80 % of the rows and the other 20 %, another split in every repetition and the same one for every method."""
        if repetition not in self._splits:
            for earlier, _ in self._splits.values():
                forget_scores(earlier)
            self._splits.clear()
            parts = split_rows(self.whole.rows(), seed=repetition)
            first, second = (self._part(rows) for rows in parts)
            self._splits[repetition] = (first, second)
        return self._splits[repetition]

    def _part(self, rows: Any) -> ExactTable:
        columns = {name: self.whole.codes(name)[rows] for name in self.schema.names}
        return ExactTable(columns, len(rows), replace(self.schema, rows=len(rows)))


class UnwrittenReservation:
    """A budget without a file."""

    def __init__(self, budget: Budget) -> None:
        self.accounting, self.total_cost = accounting_of(budget), total_cost(budget)
        self.left = self.total_cost

    def charge(self, purpose: str, cost: Fraction, ask: str, formerly: Any = None) -> Any:
        if not 0 <= cost <= self.left:
            raise ValueError(f"{purpose} would overspend")
        self.left -= cost
        return SimpleNamespace(outcome=None, drawing=lambda: None, journal=lambda _: None, note=lambda _: None)


def seed_of(*parts: Any) -> int:
    """The seed of a trial: from its name, so that a figure is the same whichever trials ran before."""
    return zlib.crc32("|".join(map(str, parts)).encode())


def fitted(
    table: ExactTable, method: str, options: Mapping[str, Any], epsilon: str, seed: int, wrap: Wrap | None = None
) -> Fit:
    """The method's fit under pure epsilon; `wrap` may put a fixture that is not private in the table's place."""
    made = rival_named(method, options) if method in RIVALS else method_named(method, options, table.schema)
    private = LocalPrivateTable(table.schema, table, UnwrittenReservation(Budget(epsilon)), SeededSource(seed))  # type: ignore[arg-type]
    private._LocalPrivateTable__scorer._known = scores_of(table)  # type: ignore[attr-defined]
    return made.fit(private if wrap is None else wrap(private, table))


def drawn(fit: Fit, rows: int, seed: int) -> ExactTable:
    """Synthetic rows, as many as the original has."""
    schema = replace(fit.model.schema, rows=rows)
    return ExactTable(fit.model.sample(rows, np.random.default_rng(seed)), rows, schema)


class Known(dict[Any, int]):
    """Scores by pair, whatever the order of its parents: every trial places attributes in another order."""

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(_ordered(key))

    def __getitem__(self, key: Any) -> int:
        return super().__getitem__(_ordered(key))

    def __setitem__(self, key: Any, value: int) -> None:
        super().__setitem__(_ordered(key), value)


def _ordered(key: Any) -> Any:
    score, pair = key
    return key if len(pair.parents) < 2 else (score, pair.child, frozenset(pair.parents))


_known: dict[int, tuple[ExactTable, Known]] = {}  # by table: the last split of each data set, and the whole


def scores_of(table: ExactTable) -> Known:
    """Scores of real tables, which are the same in every trial: computed once for each table that is in use."""
    if id(table) not in _known:
        _known[id(table)] = (table, Known())
    return _known[id(table)][1]


def forget_scores(table: ExactTable) -> None:
    _known.pop(id(table), None)
