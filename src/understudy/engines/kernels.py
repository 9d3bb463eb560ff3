"""Counting loops over coded columns. Exact integers in, exact integers out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import compiled

if TYPE_CHECKING:
    from understudy.engines.tables import KernelLayout

Integers = NDArray[np.int64]
BLOCK = 4096


@compiled
def _count_tables(
    narrow: Any, wide: Any, columns: Any, strides: Any, maps: Any, lut: Any, first: Any, starts: Any, out: Any,
    index: Any, spare: Any,
) -> None:  # pragma: no cover - compiled  # fmt: skip
    """Add these rows to many tables, a block of rows at a time, so that the block stays in the nearest cache.

    Table t has the places first[t] … first[t+1]: lines of `narrow`, or of `wide` (−1 is its first).
    A code adds code × stride to the flat cell index, or lut[map + code] where there is a map. `index` and `spare` are
    room for BLOCK numbers each.
    """
    rows = narrow.shape[1]
    for begin in range(0, rows, BLOCK):
        length = rows - begin if rows - begin < BLOCK else BLOCK
        for t in range(first.shape[0] - 1):
            for r in range(length):
                index[r] = 0
            for j in range(first[t], first[t + 1]):
                stride, base, line = strides[j], maps[j], columns[j]
                if line < 0:
                    column = wide[-1 - line, begin : begin + length]
                    if base < 0:
                        for r in range(length):
                            index[r] += np.int32(column[r]) * stride
                    else:
                        for r in range(length):
                            index[r] += lut[base + column[r]]
                else:
                    small = narrow[line, begin : begin + length]
                    if base < 0:
                        for r in range(length):
                            index[r] += np.int32(small[r]) * stride
                    else:
                        for r in range(length):
                            index[r] += lut[base + small[r]]
            cells = out[starts[t] : starts[t + 1]]
            if len(cells) * 4 > BLOCK:
                for r in range(length):
                    cells[index[r]] += 1
                continue
            # two tables in turn: a cell that comes twice in a row does not wait for itself
            for c in range(len(cells)):
                spare[c] = 0
            even = length - length % 2
            for r in range(0, even, 2):
                cells[index[r]] += 1
                spare[index[r + 1]] += 1
            if even < length:
                cells[index[even]] += 1
            for c in range(len(cells)):
                cells[c] += spare[c]


@compiled
def _popcount(word: Any) -> Any:  # pragma: no cover - compiled
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def count_ones(packed: Any, columns: Any, out: Any) -> None:  # pragma: no cover - compiled
    """Count tables of binary columns, one for each line of `columns`: AND and popcount on 64 rows at a time.

    To `out[t]` is added, for each set S of the table's columns, the number of rows with ones on all of S; the first
    column is the most significant digit of S, and the empty set is left alone.
    """
    words = packed.shape[1]
    width = columns.shape[1]
    cells = 1 << width
    block = 512
    stack = np.empty((width + 1, block), dtype=np.uint64)
    for t in range(columns.shape[0]):
        ones = out[t]
        for begin in range(0, words, block):
            length = min(block, words - begin)
            for subset in range(1, cells):
                # subsets in counting order: the parent without the lowest set bit was visited before
                low = 0
                while not (subset >> low) & 1:
                    low += 1
                depth = 0
                rest = subset & (subset - 1)
                while rest:
                    depth += 1
                    rest &= rest - 1
                column = packed[columns[t, width - 1 - low]]
                total = np.uint64(0)
                if depth == 0:
                    for w in range(length):
                        word = column[begin + w]
                        stack[1, w] = word
                        total += _popcount(word)
                else:
                    for w in range(length):
                        word = stack[depth, w] & column[begin + w]
                        stack[depth + 1, w] = word
                        total += _popcount(word)
                ones[subset] += np.int64(total)


def count_tables(narrow: Any, wide: Any, tables: KernelLayout, out: NDArray[Any]) -> None:
    """Add rows, given as lines of codes, to the flat cells of all tables."""
    index, spare = np.empty((2, BLOCK), dtype=np.int32)
    _count_tables(
        narrow, wide, tables.columns, tables.strides, tables.maps, tables.lut, tables.first, tables.starts, out,
        index, spare,
    )  # fmt: skip


def cells_of_ones(ones: Integers, rows: int) -> Integers:
    """Turn counts of rows with ones on all of S into the cells S, in place, by Möbius inversion."""
    ones[:, 0] = rows
    for bit in range(ones.shape[1].bit_length() - 1):
        halves = ones.reshape(len(ones), -1, 2, 1 << bit)
        halves[:, :, 0] -= halves[:, :, 1]
    return ones


def pack(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Pack a binary column, sixty-four rows a word, zeros at the end."""
    packed = np.packbits(bits, bitorder="little")
    room = np.zeros(-(-len(bits) // 64) * 8, dtype=np.uint8)
    room[: len(packed)] = packed
    return room.view(np.uint64)
