"""The custodian's own eyes: exact figures about real rows. Outside every promise, and never part of a release.

An `ExactTable` reads a table without paying. Whatever is computed from it is a `CustodianFigures` whose numbers are
`Exact` or `ExactCount`: types that no Release and no public report accepts (`refuse_exact`), stamped in text and JSON.
The types stop accidents, not intent: a sum of two such figures is a plain number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataError, TooLarge, UsageError
from understudy.schema import Axes, Floats, Integers, Intervals, Schema
from understudy.schema.row_major import strides
from understudy.schema.spreadsheet import neutral

if TYPE_CHECKING:
    from understudy.engines.engine import CountingEngine, OpenEngine
    from understudy.engines.sources import RowSource
    from understudy.privacy.questions.statistics import LinearClassifier

STAMP = "CUSTODIAN ONLY — NOT FOR RELEASE"
_BLOCK = 1 << 16
_ONLY_COUNTED = "this figure is computed row by row, and a table in a database is only counted: name a file"


# -- types that stay in the building -----------------------------------------------------------------------------


class Exact(float):
    """A number computed from exact counts or rows."""

    __slots__ = ()


class ExactCount(int):
    """A whole number of rows: under add-remove neighbours even how many there are is private."""

    __slots__ = ()


@dataclass(frozen=True)
class CustodianFigures:
    """The base of every exact result; the numbers in its fields become `Exact` or `ExactCount`."""

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _marked(getattr(self, field.name)))

    def as_json(self) -> dict[str, Any]:
        return {"stamp": STAMP}


def _marked(value: Any) -> Any:
    if isinstance(value, float):
        return value if isinstance(value, Exact) else Exact(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value if isinstance(value, ExactCount) else ExactCount(value)
    if isinstance(value, tuple):
        return tuple(_marked(item) for item in value)
    return {key: _marked(item) for key, item in value.items()} if isinstance(value, dict) else value


def refuse_exact(*parts: Any) -> None:
    """Raise if an exact figure, or a document that carries the custodian's stamp, is anywhere inside."""
    for part in parts:
        if isinstance(part, Exact | ExactCount | CustodianFigures) or (isinstance(part, str) and STAMP in part):
            raise UsageError(
                "an exact figure is for the custodian only and cannot go into a release or a public report. "
                "Some figures can be bought: understudy evaluate … --epsilon E"
            )
        if isinstance(part, Mapping):
            refuse_exact(*part.keys(), *part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            refuse_exact(*part)
        elif is_dataclass(part) and not isinstance(part, type):
            refuse_exact(*(getattr(part, field.name) for field in fields(part)))


# -- a table read without paying ---------------------------------------------------------------------------------


class ExactTable:
    """Coded rows and their engine. It counts like any engine, so a `PrivateTable` over it counts nothing twice."""

    name = "custodian"

    def __init__(
        self, columns: dict[str, NDArray[Any]], rows: int, schema: Schema, source: RowSource | None = None
    ) -> None:
        from understudy.engines.memory import MemoryEngine

        self.schema = schema
        self._columns = columns
        self._rows = rows
        self._source = source
        self._engine: OpenEngine = MemoryEngine(columns, rows, schema)

    @staticmethod
    def original(data: Any, schema: Schema, types: str | None = None) -> ExactTable:
        """Read the private table; it must fit the schema, row count included. One in a database is counted there."""
        return _count(data, schema, types) if stays_in_place(data) else _read(data, schema, "original", types)

    @staticmethod
    def stand_in(data: Any, schema: Schema) -> ExactTable:
        """Read a synthetic table: any number of rows but none, without the columns that a publication leaves out."""
        free = replace(schema, rows=None, rows_max=None, neighbours="add-remove", text=None, person=None)
        return _read(data, free, "synthetic", "declared")  # its rows are public: whatever their types tell, they may

    def close(self) -> None:
        """Let go of what the engine holds; the rows of a file are in memory."""
        self._engine.close()

    def rows(self) -> int:
        return self._rows

    def fingerprint(self, key: bytes) -> str:
        """Return what tells this table from any other to whoever has the key."""
        return self._engine.fingerprint(key)

    def marginals(self, workload: Sequence[Axes]) -> Iterator[Integers]:
        return self._engine.marginals(workload)

    def regrouped(self, schema: Schema, homes: Mapping[str, Integers]) -> CountingEngine:
        return self._engine.regrouped(schema, homes)

    def viewed(self, schema: Schema) -> CountingEngine:
        return self._engine.viewed(schema)

    @property
    def raw(self) -> bool:
        """Return whether the rows can be read as they were written."""
        return self._source is not None

    def codes(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def cells(self, axes: Axes) -> Integers:
        """Return the cell of a table over these axes that each row falls in; for tables too large to lay out."""
        if (cells := self.schema.cells(axes)) >= 2**63:
            raise TooLarge(f"a table of {cells:,} cells cannot be numbered: take fewer attributes or coarser bins")
        index = np.zeros(self._rows, dtype=np.int64)
        for axis, stride in zip(axes, strides(self.schema.sizes(axes))):
            index += self.schema.view_map(axis)[self._columns[axis.attribute]].astype(np.int64) * stride
        return index

    def errors(self, classifier: LinearClassifier) -> int:
        """Return how many rows the classifier gets wrong."""
        wrong = 0
        for start in range(0, self._rows, _BLOCK):
            block = {n: column[start : start + _BLOCK] for n, column in self._columns.items()}
            wrong += int((classifier.predict(block) != classifier.label[block[classifier.target]]).sum())
        return wrong

    def numbers(self, names: Sequence[str]) -> dict[str, Floats]:
        """Return numeric columns as they were written, before binning and clamping; NaN where there is no number."""
        pieces: dict[str, list[Floats]] = {name: [] for name in names}
        for name, piece in self._source.pieces(names) if self._source is not None and names else ():
            pieces[name].append(_numbers(piece, self.schema[name].ordered, self.schema.csv.decimal, name))
        return {name: self._present(name, np.concatenate(parts)) for name, parts in pieces.items() if parts}

    def _present(self, name: str, values: Floats) -> Floats:
        attribute = self.schema[name]
        if attribute.has_missing:
            values[self._columns[name] == attribute.missing_code] = np.nan
        return values


class CountedTable(ExactTable):
    """A table in a database: counts leave it, rows do not."""

    def __init__(self, engine: OpenEngine, schema: Schema) -> None:
        self.schema = schema
        self._rows = engine.rows()
        self._source = None
        self._engine = engine

    def codes(self, name: str) -> NDArray[Any]:
        raise UsageError(_ONLY_COUNTED)

    def cells(self, axes: Axes) -> Integers:
        raise TooLarge(
            f"a table of {self.schema.cells(axes):,} cells is too large to be counted in a database: take fewer "
            "attributes (--alpha) or coarser bins"
        )

    def errors(self, classifier: LinearClassifier) -> int:
        raise UsageError(_ONLY_COUNTED)


def stays_in_place(data: Any) -> bool:
    """Return whether this is an address, of a table that can be counted and not read."""
    from understudy.engines.addresses import scheme_of

    return scheme_of(data) is not None


def _count(data: str, schema: Schema, types: str | None) -> ExactTable:
    from understudy.engines.opening import PrivateData, open_engine

    with _named("original", schema):
        return CountedTable(open_engine(PrivateData(data, types=types), schema).engine, schema)


def _read(data: Any, schema: Schema, role: str, types: str | None) -> ExactTable:
    from understudy.engines.coding import encode_table
    from understudy.engines.sources import open_source
    from understudy.engines.trust import types_of

    published = [name for name in schema.columns if role == "original" or schema[name].published]
    with _named(role, schema):
        source = open_source(data, schema.csv, types_of(types), names=published)
        if role == "synthetic":
            schema = _as_published(schema, source.columns)
        coded = encode_table(source, schema)
    return ExactTable(coded.columns, coded.rows, schema, source)


@contextmanager
def _named(role: str, schema: Schema) -> Iterator[None]:
    """Say in an error which of the two tables does not fit."""
    try:
        yield
    except DataError as error:
        if error.attribute is None and "no rows" in error.message:
            raise DataError(
                f"the {role} table has no rows: attribute {schema.names[0]!r} and all others are empty",
                attribute=schema.names[0],
            ) from None
        raise DataError(f"{role} table: {error.message}", attribute=error.attribute) from None


def _as_published(schema: Schema, columns: tuple[str, ...]) -> Schema:
    """Return the schema as a publication has it: neutralised names, no dropped columns, ids only if it has them."""
    attributes = [
        a if a.name in columns or neutral(a.name) not in columns else replace(a, read_from=neutral(a.name))
        for a in schema.attributes
    ]
    return replace(schema, attributes=tuple(a for a in attributes if a.modelled or a.column in columns))


def _numbers(piece: Any, domain: Intervals, decimal: str, name: str) -> Floats:
    from understudy.engines.arrow_parsing import as_texts

    typed = domain.scale.numbers(piece)
    if typed is not None:
        return np.where(typed[1], np.nan, typed[0])
    texts, indices = as_texts(piece, name)
    values = domain.scale.plain(texts, domain.format, decimal)
    for at in np.flatnonzero(np.isnan(values)):
        values[at] = domain.parse(texts[int(at)].as_py() or "", decimal)
    found: Floats = np.append(values, np.nan)[
        indices.cast("int64").fill_null(len(values)).to_numpy(zero_copy_only=False)
    ]
    return found
