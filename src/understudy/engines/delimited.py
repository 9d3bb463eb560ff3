"""Delimited text: a CSV or TSV file cut into whole records, every cell as text, no record lost.

The file is read in blocks that end where a record ends, so that the parser never sees half a record; quotes are checked
before parsing, because a lenient parser would swallow the rows after a quote that is never closed.
"""

from __future__ import annotations

import codecs
import csv
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.engines.file_guard import unchanged
from understudy.errors import DataError, SchemaError
from understudy.schema.column_names import numbered

Piece = tuple[str, Any]  # a column's name and the next pyarrow.Array of its cells

BLOCK = 1 << 23
LONGEST_RECORD = 1 << 26
_BOM = codecs.BOM_UTF8
_LF, _CR, _QUOTE = 10, 13, 34
_LOOSE_ROWS = 50_000
BLANKS = " \t"


@dataclass(frozen=True)
class Delimited:
    """A CSV or TSV file, plain or gzip; `declared` are the columns of one without a header.

    With `trim`, blanks at the ends of names and cells are left out: a rule for each cell, whatever the others are.
    """

    path: Path
    delimiter: str
    encoding: str
    declared: tuple[str, ...] | None = None
    trim: bool = False
    trust: ClassVar[Literal["text"]] = "text"
    types: ClassVar[dict[str, Any]] = {}  # text declares none

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n':
            raise SchemaError("`delimiter` in [table.csv] must be one ASCII character, and no quote or line end")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise SchemaError(
                f"`encoding` in [table.csv]: Python knows no text encoding {self.encoding!r}; "
                "common ones are utf-8, cp1252, iso8859-15, utf-16"
            ) from None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the declared names, or those in the header.

        A column without one is called by its place, as `init` does.
        """
        if self.declared is not None:
            return self.declared
        with self._told():
            record = self._first_record()
            names = next(csv.reader([record], delimiter=self.delimiter, strict=True, skipinitialspace=self.trim), [])
            names = [name.strip(BLANKS) for name in names] if self.trim else names
        if not names:
            raise DataError(
                f"the first line of {self.path.name!r} is blank: it must name the columns; add the header, "
                "or remove the blank line"
            )
        return numbered(names)

    def pieces(self, names: Sequence[str]) -> Iterator[Piece]:
        """Yield the cells of these columns, block after block; other columns are not even decoded."""
        header = self.declared is None
        with unchanged(self.path), self._told():
            for block in _blocks(self._utf8(BLOCK), self.delimiter):
                asked = (names, header)
                cells = self._parse(block, *asked) if isinstance(block, _Whole) else self._parse_loosely(block, *asked)
                yield from map(self._trimmed, cells)
                header = False

    def _trimmed(self, piece: Piece) -> Piece:
        import pyarrow as pa
        import pyarrow.compute as pc

        name, cells = piece
        if not self.trim:
            return piece
        if pa.types.is_dictionary(cells.type):
            distinct = pc.utf8_trim(cells.dictionary, characters=BLANKS)
            return name, pa.DictionaryArray.from_arrays(cells.indices, distinct)
        return name, pc.utf8_trim(cells, characters=BLANKS)

    # -- bytes -----------------------------------------------------------------------------------------------

    def _utf8(self, size: int) -> Iterator[bytes]:
        """Yield the file as UTF-8, without a byte order mark."""
        import pyarrow as pa

        codec = codecs.lookup(self.encoding).name
        decode = None if codec in ("utf-8", "utf-8-sig") else codecs.getincrementaldecoder(codec)().decode
        compression = "gzip" if self.path.suffix.lower() == ".gz" else None
        with pa.input_stream(str(self.path.absolute()), compression=compression) as stream:
            first = True
            while raw := stream.read(size):
                if first and raw.startswith(_BOM) and decode is not None:
                    raise DataError(
                        f"{self.path.name!r} starts with a UTF-8 mark, but [table.csv] declares `encoding` = "
                        f'{self.encoding!r}: declare "utf-8"'
                    )
                text = raw if decode is None else decode(raw).encode()
                yield text.removeprefix(_BOM) if first else text
                first = False
            if decode is not None:
                yield decode(b"", True).encode()

    def _first_record(self) -> str:
        held = b""
        for text in self._utf8(1 << 16):
            held += text
            _, ends = _marks(held)
            if len(ends):
                return held[: ends[0]].decode()
            if len(held) > LONGEST_RECORD:
                raise DataError(self._unclosed)
        if not held:
            raise DataError(f"{self.path.name!r} is empty: the first line must name the columns")
        return held.decode()

    # -- cells -----------------------------------------------------------------------------------------------

    def _parse(self, block: _Whole, names: Sequence[str], header: bool) -> Iterator[Piece]:
        import pyarrow as pa
        from pyarrow import csv as arrow

        if len(self.columns) > 1 and block.blank_line:
            # the parser would make a row of empty cells of it; a blank line in a table of one column is an empty cell
            raise DataError(self._ragged)
        cells = pa.dictionary(pa.int32(), pa.string())
        table = arrow.read_csv(
            pa.BufferReader(block.text),
            read_options=arrow.ReadOptions(
                column_names=list(self.columns), skip_rows_after_names=int(header), block_size=len(block.text) + 1,
                use_threads=False,  # those of a pool may still start while a short process ends
            ),
            parse_options=arrow.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=block.quotes, ignore_empty_lines=False
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(names, cells), include_columns=list(names), null_values=[],
                strings_can_be_null=False,
            ),
        )  # fmt: skip
        for name in names:
            for chunk in table.column(name).chunks:
                yield name, chunk

    def _parse_loosely(self, texts: Iterator[bytes], names: Sequence[str], header: bool) -> Iterator[Piece]:
        """Read with Python's own reader a file with a bare quote inside a cell: slower, and strict about the rest."""
        import pyarrow as pa

        rows = csv.reader(_lines(texts), delimiter=self.delimiter, strict=True, skipinitialspace=self.trim)
        if header:
            next(rows)
        width = len(self.columns)
        while batch := list(itertools.islice(rows, _LOOSE_ROWS)):
            batch = [row or [""] for row in batch]
            if any(len(row) != width for row in batch):
                raise DataError(self._ragged)
            for name in names:
                at = self.columns.index(name)
                yield name, pa.array([row[at] for row in batch], pa.string())

    # -- what went wrong -------------------------------------------------------------------------------------

    @property
    def _ragged(self) -> str:
        # the parser's own message holds the row: it is never passed on
        shown = "\\t" if self.delimiter == "\t" else self.delimiter
        return (
            f"{self.path.name!r} has a row without exactly {len(self.columns)} cells, the number of columns that "
            f"{'its header names' if self.declared is None else 'the schema declares'}. "
            "No row is dropped or repaired: quote the cells that hold the delimiter, complete the row, remove blank "
            f"lines, or declare `delimiter` in [table.csv]. To find it (where no cell is quoted): "
            f"awk -F'{shown}' 'NF != {len(self.columns)}' {self.path.name}"
        )

    @property
    def _unclosed(self) -> str:
        return (
            f"{self.path.name!r} has a quote that is never closed, a closing quote followed by text, or a cell too "
            'long to be one. Write such a cell as "..." and double each quote inside it'
        )

    @property
    def _undecodable(self) -> str:
        return (
            f"{self.path.name!r} holds bytes that are not {self.encoding}: declare its `encoding` in [table.csv] "
            '(often "cp1252" for files from a spreadsheet), or convert the file'
        )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what the parsers raise into errors that echo nothing."""
        import pyarrow as pa

        try:
            yield
        except UnicodeError:
            raise DataError(self._undecodable) from None
        except csv.Error:
            raise DataError(self._unclosed) from None
        except pa.ArrowInvalid as error:
            raise DataError(self._undecodable if "UTF8" in str(error) else self._ragged) from None
        except OSError:
            raise DataError(f"{self.path.name!r} cannot be read to its end: it is damaged or cut off") from None


def _marks(text: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the quotes are, and the line ends outside them, of a text that starts where a record starts."""
    data = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    ends = np.flatnonzero((data == _LF) | (data == _CR))
    return quotes, ends[np.searchsorted(quotes, ends) % 2 == 0] if len(quotes) else ends


@dataclass(frozen=True)
class _Whole:
    """Text that starts and ends with a record, its quotes in order."""

    text: bytes
    quotes: bool
    ends: NDArray[np.int64]

    @property
    def blank_line(self) -> bool:
        if len(self.ends) and self.ends[0] == 0:
            return True
        data = np.frombuffer(self.text, np.uint8)
        first = self.ends[:-1][np.diff(self.ends) == 1]
        return bool(((data[first] != _CR) | (data[first + 1] != _LF)).any())


def _blocks(texts: Iterator[bytes], delimiter: str) -> Iterator[_Whole | Iterator[bytes]]:
    """Yield blocks of whole records; last, the texts from where a quote stands where none should."""
    held = b""
    for text in texts:
        held += text
        quotes, ends = _marks(held)
        if len(held) > LONGEST_RECORD or not _in_order(held, quotes, delimiter):
            yield itertools.chain([held], texts)
            return
        # a carriage return at the very end may be half of a line end: it waits for the next block
        ends = ends[ends < len(held) - held.endswith(b"\r")]
        if len(ends):
            cut = int(ends[-1]) + 1
            yield _Whole(held[:cut], bool(len(quotes)), ends)
            held = held[cut:]
    if held:
        quotes, ends = _marks(held)
        whole = _Whole(held if held.endswith((b"\n", b"\r")) else held + b"\n", bool(len(quotes)), ends)
        yield iter([held]) if len(quotes) % 2 else whole


def _in_order(text: bytes, quotes: NDArray[np.int64], delimiter: str) -> bool:
    """Return whether each quote opens at a cell's start, closes at its end, or is one of a doubled pair inside."""
    data = np.frombuffer(text, np.uint8)
    border = np.zeros(256, dtype=bool)
    border[[_LF, _CR, _QUOTE, ord(delimiter)]] = True
    opening, closing = quotes[0::2], quotes[1::2]
    opening = opening[opening > 0]
    closing = closing[closing < len(data) - 1]
    return bool(border[data[opening - 1]].all() and border[data[closing + 1]].all())


def _lines(texts: Iterator[bytes]) -> Iterator[str]:
    """Yield the lines of the text with their ends, as Python's reader wants them."""
    held = b""
    for text in texts:
        *whole, held = (held + text).split(b"\n")
        for line in whole:
            yield line.decode() + "\n"
    if held:
        yield held.decode()
