"""A raw table as every driver sees it: a CSV file and public facts about its columns in, a CSV file out.

A driver runs in its peer's environment, so this needs numpy and pandas only, and any of them.

    python drivers/PEER.py TABLE.csv COLUMNS.json OUT.csv EPSILON DELTA
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ABSENT = "(missing)"  # the value of a list that stands for an empty cell


@dataclass(frozen=True)
class Column:
    """What the schema says of one column: a range, or a list of values, and the texts of missing cells."""

    name: str
    kind: str
    missing: tuple[str, ...]
    values: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0

    @property
    def ordered(self) -> bool:
        return not self.values

    @property
    def whole(self) -> bool:
        return self.kind != "number"

    @property
    def listed(self) -> list[str]:
        """Return the values of a list, an empty cell among them where there can be one."""
        return [*self.values, *([ABSENT] if self.missing else [])]

    def read(self, texts: pd.Series) -> pd.Series:
        """Return numbers, days since 1970 for dates, NaN where missing; or texts of the list."""
        absent = texts.isin(self.missing)
        if not self.ordered:
            return texts.mask(absent, ABSENT)
        known = texts.mask(absent)
        if self.kind == "date":
            return (pd.to_datetime(known) - pd.Timestamp("1970-01-01")).dt.days.astype(float)
        return known.astype(float)

    def written(self, column: pd.Series) -> pd.Series:
        """Return the texts of a synthetic column, clipped to its range."""
        empty = self.missing[0] if self.missing else ""
        if not self.ordered:
            return column.astype(str).replace({ABSENT: empty})
        numbers = pd.to_numeric(column, errors="coerce").astype(float).clip(self.low, self.high)
        numbers = numbers.round() if self.whole else numbers
        return numbers.map(lambda value: empty if np.isnan(value) else self._text(value))

    def _text(self, value: float) -> str:
        if self.kind == "date":
            return str((pd.Timestamp("1970-01-01") + pd.Timedelta(days=int(value))).date())
        return str(int(value)) if self.whole else repr(float(value))


@dataclass(frozen=True)
class RawTask:
    """One run: the private rows, the public columns, and the promise."""

    rows: pd.DataFrame
    columns: tuple[Column, ...]
    epsilon: float
    delta: float


def perform(synthesize: Callable[[RawTask], pd.DataFrame]) -> None:
    """Read the table, synthesize as many rows, and write them as the schema has them."""
    path, facts, out, epsilon, delta = sys.argv[1:]
    columns = tuple(_column(body) for body in json.loads(Path(facts).read_text()))
    texts = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = pd.DataFrame({column.name: column.read(texts[column.name]) for column in columns})
    made = synthesize(RawTask(rows, columns, float(epsilon), float(delta)))
    pd.DataFrame({column.name: column.written(made[column.name]) for column in columns}).to_csv(out, index=False)


def _column(body: dict[str, Any]) -> Column:
    return Column(**{key: tuple(value) if isinstance(value, list) else value for key, value in body.items()})
