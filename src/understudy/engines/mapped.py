"""The mapped engine: a table larger than memory, coded once into compact column files that are mapped, not read.

A value takes one byte, two where its attribute has more than 256 values, and one bit where it has two.
"""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from understudy.engines.cached import CachedEngine
from understudy.engines.coding import encode_pieces
from understudy.engines.kernels import pack
from understudy.engines.scratch import Scratch, write_all
from understudy.engines.sources import RowSource
from understudy.engines.store import Words, code_type
from understudy.schema import Axis, Schema
from understudy.undo import undone_on_error

_PASS = 1 << 20  # rows of a view that are packed at a time


def open_mapped(source: RowSource, schema: Schema, needed: int = 0) -> CachedEngine:
    """Code the source into files, which `close` removes, or refuse it as the in-memory engine would.

    A refusal leaves nothing behind.
    """
    scratch = Scratch(needed)
    with undone_on_error(scratch.close):
        files = {a.name: ColumnFile(scratch, f"column-{i}", a.size) for i, a in enumerate(schema.modelled)}
        rows = encode_pieces(source, schema, lambda name, codes: files[name].append(codes))
        columns = {name: file.map() for name, file in files.items()}
    return CachedEngine(MappedStore(columns, rows, schema, scratch), schema, "mapped")


class ColumnFile:
    """Codes on their way to a file."""

    def __init__(self, scratch: Scratch, name: str, size: int) -> None:
        self._scratch = scratch
        self._file: BinaryIO = scratch.create(name)
        self._type = code_type(size)
        self._packed = binary(size)
        self._held = np.zeros(0, dtype=np.uint8)  # bits that do not fill a word yet

    def append(self, codes: NDArray[Any]) -> None:
        if not self._packed:
            self._write(np.ascontiguousarray(codes, dtype=self._type))
            return
        bits = np.concatenate([self._held, codes.astype(np.uint8)])
        whole = len(bits) - len(bits) % 64
        self._held = bits[whole:].copy()
        self._write(pack(bits[:whole]))

    def map(self) -> NDArray[Any]:
        """Return what was written, as an array that reads the file where it is touched."""
        if len(self._held):
            self._write(pack(self._held))
        size = self._file.tell()
        with self._scratch.told(), self._file as file:
            type = np.dtype(np.uint64 if self._packed else self._type)
            if not size:
                return np.zeros(0, dtype=type)
            return np.asarray(np.memmap(file, type, "r", shape=(size // type.itemsize,)))

    def _write(self, values: NDArray[Any]) -> None:
        with self._scratch.told():
            write_all(self._file, values.view(np.uint8).data)


def binary(size: int) -> bool:
    """Return whether the codes of an attribute of this size are packed, one bit each."""
    return size <= 2


class MappedStore:
    """Column files and the bits of views, all in one scratch folder."""

    def __init__(self, columns: dict[str, NDArray[Any]], rows: int, schema: Schema, scratch: Scratch) -> None:
        self.rows = rows
        self._schema = schema
        self._columns = columns
        self._scratch = scratch
        self._bits: dict[Axis, Words] = {}

    def codes(self, name: str, start: int, stop: int) -> NDArray[Any]:
        column = self._columns[name]
        if not binary(self._schema[name].size):
            return column[start:stop]
        words = column[start // 64 : -(-stop // 64)]
        return np.unpackbits(words.view(np.uint8), count=stop - start, bitorder="little")

    def bits(self, axis: Axis) -> Words:
        if axis.base and binary(self._schema[axis.attribute].size):
            return self._columns[axis.attribute]
        if axis not in self._bits:
            self._bits[axis] = self._packed_view(axis)
        return self._bits[axis]

    def close(self) -> None:
        self._columns.clear()
        self._bits.clear()
        self._scratch.close()

    def _packed_view(self, axis: Axis) -> Words:
        view = self._schema.view_map(axis).astype(np.uint8)
        file = ColumnFile(self._scratch, f"view-{len(self._bits)}", 2)
        for start in range(0, self.rows, _PASS):
            file.append(view[self.codes(axis.attribute, start, min(start + _PASS, self.rows))])
        return file.map()
