"""Counting loops over coded columns. Exact integers in, exact integers out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import HAVE_NUMBA, compiled

Integers = NDArray[np.int64]
BLOCK = 4096


@compiled
def _count(
    narrow: Any, wide: Any, columns: Any, is_wide: Any, offsets: Any, lut: Any, start: int, stop: int, out: Any
) -> None:  # pragma: no cover - compiled
    """Add rows start … stop to `out`; `lut[offsets[j] + code]` is what axis j adds to the flat cell index."""
    index = np.empty(BLOCK, dtype=np.int64)
    for begin in range(start, stop, BLOCK):
        length = min(BLOCK, stop - begin)
        index[:length] = 0
        for j in range(columns.shape[0]):
            base = offsets[j]
            if is_wide[j]:
                column = wide[columns[j]]
                for r in range(length):
                    index[r] += lut[base + column[begin + r]]
            else:
                small = narrow[columns[j]]
                for r in range(length):
                    index[r] += lut[base + small[begin + r]]
        for r in range(length):
            out[index[r]] += 1


@compiled
def _popcount(word: Any) -> Any:  # pragma: no cover - compiled
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def _count_packed(packed: Any, columns: Any, rows: int, out: Any) -> None:  # pragma: no cover - compiled
    """Tables of binary columns, one for each line of `columns`: AND and popcount on 64 rows at a time.

    For each set S of the table's columns the number of rows with ones on all of S is counted; subtracting supersets
    (Möbius inversion) turns those into cells. `out[t]` is flat with the first column most significant.
    """
    words = packed.shape[1]
    width = columns.shape[1]
    cells = 1 << width
    block = 512
    stack = np.empty((width + 1, block), dtype=np.uint64)
    for t in range(columns.shape[0]):
        ones = out[t]
        ones[:] = 0
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
        ones[0] = rows
        for bit in range(width):
            for cell in range(cells):
                if not (cell >> bit) & 1:
                    ones[cell] -= ones[cell | (1 << bit)]


def count(
    narrow: Any, wide: Any, columns: Integers, is_wide: Any, offsets: Integers, lut: Integers, rows: int, cells: int
) -> Integers:
    """One table over any axes."""
    out = np.zeros(cells, dtype=np.int64)
    if HAVE_NUMBA:
        _count(narrow, wide, columns, is_wide, offsets, lut, 0, rows, out)
        return out
    step = 1 << 20
    for begin in range(0, rows, step):
        index = np.zeros(min(step, rows - begin), dtype=np.int64)
        for j, column in enumerate(columns):
            codes = (wide if is_wide[j] else narrow)[column][begin : begin + step]
            index += lut[offsets[j] + codes.astype(np.int64)]
        out += np.bincount(index, minlength=cells)
    return out


def count_packed(packed: Any, columns: Integers, rows: int) -> Integers:
    """Many tables over the same number of binary columns."""
    out = np.zeros((columns.shape[0], 1 << columns.shape[1]), dtype=np.int64)
    if HAVE_NUMBA:
        _count_packed(packed, columns, rows, out)
        return out
    for t, line in enumerate(columns):
        index = np.zeros(rows, dtype=np.int64)
        for column in line:
            bits = np.unpackbits(packed[column].view(np.uint8), count=rows, bitorder="little")
            index = index * 2 + bits
        out[t] = np.bincount(index, minlength=out.shape[1])
    return out


def pack(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Sixty-four rows a word, zeros at the end."""
    packed = np.packbits(bits, bitorder="little")
    room = np.zeros(-(-len(bits) // 64) * 8, dtype=np.uint8)
    room[: len(packed)] = packed
    return room.view(np.uint64)
