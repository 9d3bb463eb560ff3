"""Reading: private rows of people become two counted tables. The rows are coded in this process, in memory."""

from __future__ import annotations

import hashlib
import re
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines.arrow_parsing import as_texts
from understudy.engines.coding import CodedTable, encode_table
from understudy.engines.file_guard import unchanged
from understudy.engines.memory import MemoryEngine
from understudy.engines.opening import Opened, engine_for
from understudy.engines.sources import Source, open_source
from understudy.engines.trust import types_of
from understudy.errors import DataError, UsageError
from understudy.privacy.custodian import CustodianFigures
from understudy.relations.derivation import Histories, derived_tables
from understudy.relations.panel import Panel
from understudy.schema import Schema

_WHOLE = re.compile(r"([+-]?)0*(0|[1-9][0-9]*)(\.0*)?")
_HEXADECIMAL = re.compile(r"[+-]?0[xX][0-9a-fA-F]{1,16}")  # what Arrow reads as a whole number, if all others are some


@dataclass(frozen=True, eq=False)
class PanelEngine:
    """The engines over PEOPLE and STEPS; their counts never leave the kernel."""

    people: MemoryEngine
    steps: MemoryEngine
    name: str = "memory"

    def fingerprint(self, key: bytes) -> str:
        """Return what tells these rows from any others to whoever has the key."""
        both = self.people.fingerprint(key) + self.steps.fingerprint(key)
        return hashlib.sha256(both.encode()).hexdigest()

    def close(self) -> None:
        self.people.close()
        self.steps.close()


@dataclass(frozen=True)
class PeopleFit(CustodianFigures):
    """How many rows of how many persons there are, and how many of them the declared `at_most` uses. Exact.

    What another `at_most` would use is not told: it is chosen from public knowledge, and epsilon does not cover a
    choice that was made by looking at the rows.
    """

    persons: int
    rows: int
    most: int
    at_most: int
    used: int

    def as_json(self) -> dict[str, Any]:
        """Return the figures with the custodian's stamp."""
        return super().as_json() | {k: int(getattr(self, k)) for k in ("persons", "rows", "most", "at_most", "used")}


def open_people(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> tuple[PanelEngine, tuple[str, ...]]:
    """Return the engines over the tables derived from these rows, and the order of the source's columns."""
    panel = Panel.of(schema)
    coded, person = _coded(data, panel, engine, master, types)
    derived = derived_tables(panel, coded.columns, person)
    people = MemoryEngine(derived.people, derived.persons, panel.people)
    return PanelEngine(people, MemoryEngine(derived.steps, derived.pairs, panel.steps)), coded.order


def opened_people(*given: Any) -> Opened:
    """Return `open_people` as what a publication opens."""
    return Opened(*open_people(*given))  # type: ignore[arg-type]


def people_fit(
    data: Any, schema: Schema, engine: str | None = None, master: str | None = None, types: str | None = None
) -> PeopleFit:
    """Return the exact figures of a panel, for the custodian alone; refuse rows that are no panel."""
    panel = Panel.of(schema)
    coded, person = _coded(data, panel, engine, master, types)
    rows = Histories.of(panel, coded.columns, person)
    rows.check_constants(panel)
    counts = rows.count[rows.place == 0]
    most = panel.person.at_most
    return PeopleFit(len(counts), len(person), int(counts.max()), most, int(np.minimum(counts, most).sum()))


def _coded(
    data: Any, panel: Panel, engine: str | None, master: str | None, types: str | None
) -> tuple[CodedTable, NDArray[np.int64]]:
    if engine_for(data, engine, master) not in (None, "memory"):
        raise UsageError(
            "a table of people with many rows ([person]) is put in order in memory: name a file or a frame, or export "
            "the table; other engines do not derive these tables yet"
        )
    source = open_source(data, panel.schema.csv, types_of(types), names=panel.schema.columns)
    path = getattr(source, "path", None)
    with nullcontext() if path is None else unchanged(path):  # each pass has a guard, and these are two
        coded = encode_table(source, panel.schema)
        return coded, person_numbers(source, panel.schema[panel.person.id].column, coded.rows)


def person_numbers(source: Source, column: str, rows: int) -> NDArray[np.int64]:
    """Number the persons of an id column: equal ids are one person, whole numbers compared as numbers."""
    known: dict[str, int] = {}
    parts = []
    for name, piece in source.pieces([column]):
        _check_type(piece.type, column)
        texts, indices = as_texts(piece, name)
        own = np.asarray([_number(text, known, column) for text in texts.to_pylist()], dtype=np.int64)
        if indices.null_count:
            raise _no_id(column)
        parts.append(own[indices.to_numpy(zero_copy_only=False).astype(np.int64)])
    found = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    if len(found) != rows:
        raise DataError("the data was changed while it was read: try again")
    return found


def _check_type(type: Any, column: str) -> None:
    """Refuse ids of which a reader may have made one value of several texts, which it would not have done in a column
    with another text in it: floats (`1e3`, `1000`), booleans (`true`, `TRUE`) and times."""
    import pyarrow as pa

    held = type.value_type if pa.types.is_dictionary(type) else type
    if pa.types.is_floating(held):
        found = "floating-point numbers: some are missing, or a reader made them so"
    elif pa.types.is_boolean(held) or pa.types.is_temporal(held):
        found = "booleans or times: a reader may have made one value of two ids"
    else:
        return
    raise DataError(f"the ids in {column!r} are {found}. Give them as texts or whole numbers", attribute=column)


def _number(text: str | None, known: dict[str, int], column: str) -> int:
    plain = (text or "").strip()
    if not plain:
        raise _no_id(column)
    if whole := _WHOLE.fullmatch(plain):
        sign, digits, _ = whole.groups()
        plain = f"-{digits}" if sign == "-" and digits != "0" else digits
    elif _HEXADECIMAL.fullmatch(plain):
        plain = str(int(plain, 16))
    return known.setdefault(plain, len(known))


def _no_id(column: str) -> DataError:
    return DataError(
        f"some rows have no {column!r}, so nobody knows whose they are: give every row the id of its person",
        attribute=column,
    )
