"""A store: the coded columns of one table, wherever they are, a range of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.engines.kernels import pack
from understudy.schema import Axis, Schema

Words = NDArray[np.uint64]


class Store(Protocol):
    """Columns of codes. A range starts at a multiple of 64 rows."""

    @property
    def rows(self) -> int: ...

    def codes(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Return the codes of these rows, one byte each, or two where the attribute has more than 256 values."""
        ...

    def bits(self, axis: Axis) -> Words:
        """Return a view of two values, 64 rows a word with zeros at the end; made when it is first asked for."""
        ...

    def close(self) -> None: ...


class MemoryStore:
    """Columns in memory, as they came."""

    def __init__(self, columns: dict[str, NDArray[Any]], rows: int, schema: Schema) -> None:
        self.rows = rows
        self._schema = schema
        own = {a.name: (columns[a.name], code_type(a.size)) for a in schema.modelled}
        self._columns = {name: np.ascontiguousarray(codes, dtype=type) for name, (codes, type) in own.items()}
        self._bits: dict[Axis, Words] = {}

    def codes(self, name: str, start: int, stop: int) -> NDArray[Any]:
        return self._columns[name][start:stop]

    def bits(self, axis: Axis) -> Words:
        if axis not in self._bits:
            view = self._schema.view_map(axis).astype(np.uint8)
            self._bits[axis] = pack(view[self._columns[axis.attribute]])
        return self._bits[axis]

    def close(self) -> None:
        """Do nothing: nothing is held but memory."""


class RegroupedStore:
    """Another store's columns with some attributes on coarser codes; closing it closes nothing."""

    def __init__(self, store: Store, schema: Schema, homes: Mapping[str, NDArray[np.int64]]) -> None:
        self.rows = store.rows
        self._store = store
        self._schema = schema
        self._homes = {name: home.astype(code_type(schema[name].size)) for name, home in homes.items()}
        self._bits: dict[Axis, Words] = {}

    def codes(self, name: str, start: int, stop: int) -> NDArray[Any]:
        codes = self._store.codes(name, start, stop)
        return self._homes[name][codes] if name in self._homes else codes

    def bits(self, axis: Axis) -> Words:
        if axis.attribute not in self._homes:
            return self._store.bits(axis)
        if axis not in self._bits:
            view = self._schema.view_map(axis).astype(np.uint8)
            self._bits[axis] = pack(view[self.codes(axis.attribute, 0, self.rows)])
        return self._bits[axis]

    def close(self) -> None:
        """Do nothing: the other store has the columns."""


def regrouped(store: Store, schema: Schema, homes: Mapping[str, NDArray[np.int64]]) -> Store:
    """Return a store with some attributes on coarser codes: in memory where the columns are, else as they are read."""
    coarser = RegroupedStore(store, schema, homes)
    if not isinstance(store, MemoryStore):
        return coarser
    return MemoryStore({a.name: coarser.codes(a.name, 0, store.rows) for a in schema.modelled}, store.rows, schema)


def code_type(size: int) -> type[np.uint8] | type[np.uint16]:
    return np.uint8 if size <= 256 else np.uint16
