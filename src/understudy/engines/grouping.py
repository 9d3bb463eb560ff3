"""Grouping: how many rows share a text, byte for byte, for the question of value lists and for nothing else.

What is held in memory does not grow with the number of distinct texts: counts beyond a public number of texts are
written to sorted runs in a scratch folder and merged. A database groups by itself and returns what many rows share.
"""

from __future__ import annotations

import heapq
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, BinaryIO

import numpy as np

from understudy.engines.arrow_parsing import as_texts
from understudy.engines.engine import MAX_TEXT, Grouping, Groups, listable
from understudy.engines.scratch import Scratch, write_all
from understudy.engines.sources import RowSource
from understudy.engines.sql import Warehouse
from understudy.engines.sql_coding import Column
from understudy.engines.trust import WAYS_OUT
from understudy.errors import DataError

HELD_TEXTS = 1 << 20  # of all columns together, before a run is written
_RECORD = struct.Struct("<IQ")  # the bytes of a text, and its rows
_BUFFER = 1 << 16


def inferred_refusal(column: str) -> DataError:
    """Return why texts of a column whose type was inferred are not grouped, whatever it holds."""
    return DataError(
        f"column {column!r}: its values are to be discovered, and a library that infers types from rows may have "
        f"changed how they are written. {WAYS_OUT}",
        attribute=column,
    )


def groups_of(found: list[tuple[str, int]], rows: int, missing: int, apart: bool) -> Groups:
    """Return texts with the numbers of their rows as an engine gives them."""
    return Groups([text for text, _ in found], np.asarray([n for _, n in found], np.int64), rows, missing, apart)


# -- rows of a file or frame -------------------------------------------------------------------------------------


@dataclass
class SourceGroups:
    """Counts the texts of a source that is opened when they are asked for."""

    open: Callable[[], RowSource]

    def groups(self, groupings: Sequence[Grouping], above: int) -> Iterator[Groups]:
        source = self.open()
        if source.trust == "inferred":
            raise inferred_refusal(groupings[0].column)
        with closing(Scratch()) as scratch:
            tallies = {g.column: _Tally(g) for g in groupings}
            held = 0
            for column, piece in source.pieces(list(tallies)):
                held += tallies[column].add(piece)
                if held > HELD_TEXTS:
                    for i, tally in enumerate(tallies.values()):
                        tally.write_run(scratch.create(f"run-{i}-{len(tally.runs)}"))
                    held = 0
            for tally in tallies.values():
                yield tally.groups(above)


@dataclass
class _Tally:
    """The texts of one column that were seen since the last run, and the runs on disk."""

    grouping: Grouping
    counts: dict[bytes, int] = field(default_factory=dict)
    runs: list[BinaryIO] = field(default_factory=list)
    rows: int = 0
    missing: int = 0

    def add(self, piece: Any) -> int:
        """Count the cells of a piece; return how many texts are held more than before."""
        texts, indices = as_texts(piece, self.grouping.column)
        places = indices.cast("int64").fill_null(len(texts)).to_numpy(zero_copy_only=False)
        found = np.bincount(places, minlength=len(texts) + 1)
        self.rows += len(piece)
        before = len(self.counts)
        for text, count in zip([*texts.to_pylist(), None], found.tolist()):
            if not count:
                continue
            text = self._meant(text)
            if text is None:
                self.missing += count
            elif text not in self.grouping.unlisted and listable(text):
                key = text.encode()
                self.counts[key] = self.counts.get(key, 0) + count
        return len(self.counts) - before

    def _meant(self, text: str | None) -> str | None:
        """Return the text of a cell, None for a missing one: a null is missing where the schema declares that."""
        if text is None:
            return None if self.grouping.missing else ""
        return None if text in self.grouping.missing else text

    def write_run(self, file: BinaryIO) -> None:
        """Write what is held, in the order of bytes, and forget it."""
        part = bytearray()
        for key, count in sorted(self.counts.items()):
            part += _RECORD.pack(len(key), count) + key
            if len(part) > _BUFFER:
                write_all(file, part)
                part = bytearray()
        write_all(file, part)
        self.runs.append(file)
        self.counts.clear()

    def groups(self, above: int) -> Groups:
        merged = heapq.merge(*(_read(run) for run in self.runs), sorted(self.counts.items()))
        totals = ((key, sum(count for _, count in same)) for key, same in groupby(merged, key=itemgetter(0)))
        found = [(key.decode(), total) for key, total in totals if total > above]
        apart = self.grouping.counts_missing
        return groups_of(found, self.rows, self.missing * apart, apart)


def _read(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Read a run from its beginning."""
    file.seek(0)
    part, at = b"", 0
    while True:
        if len(part) - at < _RECORD.size + 4 * MAX_TEXT:
            part, at = part[at:] + (file.read(_BUFFER) or b""), 0
        if at == len(part):
            return
        size, count = _RECORD.unpack_from(part, at)
        at += _RECORD.size
        yield part[at : at + size], count
        at += size


# -- rows of a database ------------------------------------------------------------------------------------------


@dataclass
class WarehouseGroups:
    """Groups the texts of a table where it is; the connection is made when they are asked for."""

    open: Callable[[], Warehouse]

    def groups(self, groupings: Sequence[Grouping], above: int) -> Iterator[Groups]:
        with closing(self.open()) as warehouse:
            if warehouse.trust == "inferred":
                raise inferred_refusal(groupings[0].column)
            columns = {column.name: column for column in warehouse.columns}
            for grouping in groupings:
                yield _grouped(warehouse, columns[grouping.column], grouping, above)


def _grouped(warehouse: Warehouse, column: Column, grouping: Grouping, above: int) -> Groups:
    syntax = warehouse.syntax
    cell = syntax.as_text(syntax.quoted(column.name))
    empty = "NULL" if grouping.missing else syntax.text("")
    words = ", ".join(map(syntax.text, grouping.missing))
    text = f"CASE WHEN {cell} IN ({words}) THEN NULL ELSE {cell} END" if words else f"coalesce({cell}, {empty})"
    texts = f"(SELECT {text} AS t FROM {warehouse.relation}) AS cells"
    rows, present = warehouse.row(f"SELECT count(*), count(t) FROM {texts}")
    assert rows is not None and present is not None
    apart = grouping.counts_missing
    t = syntax.as_text("t")
    many = f"GROUP BY {t} HAVING count(*) > {int(above)}"
    some = f"SELECT {t} AS k, count(*) AS n FROM {texts} WHERE t IS NOT NULL {many}"
    found = [(k, n) for k, n in warehouse.texts(some) if k not in grouping.unlisted and listable(k)]
    return groups_of(found, rows, (rows - present) * apart, apart)
