"""A header: the names of a private table's columns, and where they come from. Of its rows, at most a first one's width.

Names and declared types are public. A delimited file without a header is told by the caller, who may give the names;
else the columns are numbered, and the number of cells in the first row is all that is taken from it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, cast

from understudy.errors import UsageError
from understudy.schema.codebook import DELIMITERS, cells_of, decode, delimiter_of
from understudy.schema.codebooks.document import TrustClass
from understudy.schema.codebooks.excel import SUFFIXES as EXCEL
from understudy.schema.codebooks.excel import first_row
from understudy.schema.codebooks.statistical_files import STATISTICAL_FILE, metadata_source
from understudy.schema.codebooks.statistical_files import SUFFIXES as STATISTICAL
from understudy.schema.column_names import Origin, check_names, check_unique, numbered, row_numbers
from understudy.schema.delimited_names import has_tabs, is_any_text, is_delimited
from understudy.schema.facts import Source

_PARQUET = (".parquet", ".pq")
MAX_LINE = 1 << 22  # bytes of a first line; more is no header


@dataclass(frozen=True)
class Header:
    """The columns' names, their types where the file declares any, and what was learned of the CSV dialect."""

    names: tuple[str, ...]
    types: tuple[str, ...] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = "declared"
    inside: Source = field(default_factory=Source)  # what the file says about its own columns: labels, formats

    def under(self, vouched: frozenset[str]) -> Header:
        """Return this header with its names declared, if a public source vouches for every one of them (casefolded)."""
        public = all(name.strip().casefold() in vouched for name in self.names)
        return replace(self, origin="declared") if public and self.origin in ("first line", "footer") else self


def read_header(
    path: Path,
    known: Mapping[str, str] | None = None,
    header: bool | None = None,
    names: Path | None = None,
    vouched: frozenset[str] = frozenset(),
) -> Header:
    """Read the names of a table's columns.

    `known` may hold the delimiter and the encoding; otherwise the line itself shows them. `header` says whether the
    first line names the columns (None: nobody has said so, and a line that looks like a row is refused); `names` is a
    file with the names of a table without a header; `vouched` are names, casefolded, that a public source has.
    """
    _check_request(path, header, names)
    try:
        if path.name.lower().endswith(_PARQUET):
            return _footer(path, header, names, vouched)
        if path.suffix.casefold() in STATISTICAL:
            return _metadata(path, header, names, vouched)
        if path.suffix.casefold() in EXCEL:
            return _sheet(path, header, names, vouched)
        line = _first_record(path, header is not False and names is None)
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is damaged, or not a table"
        raise UsageError(f"cannot read {path.name!r}: {why}") from None
    if header is False or names is not None:
        return _without_header(path, line, known or {}, names)
    return _with_header(path, line, known or {}, header is True, vouched)


def read_names(path: Path) -> tuple[str, ...]:
    """Read a file of column names: one a line, or all on one line of CSV."""
    try:
        text = decode(path.read_bytes())[0]
    except OSError as error:
        raise UsageError(f"cannot read {path.name!r}: {error.strerror}") from None
    lines = text.rstrip().splitlines()
    names = cells_of(lines[0], delimiter_of(lines[0])) if len(lines) == 1 else [line.strip() for line in lines]
    if not names or not all(name.strip() for name in names):
        raise UsageError(f"{path.name!r} must hold the columns' names: one a line and none blank, or one line of CSV")
    check_unique(names, repr(path.name))
    return tuple(names)


def _check_request(path: Path, header: bool | None, names: Path | None) -> None:
    if header is True and names is not None:
        raise UsageError("--header says that the first line names the columns, --names that it does not: take one")
    if is_any_text(path.name) and header is None and names is None:
        raise UsageError(
            f"{path.name!r}: a text file may hold anything. If it is a table as in a .csv file, say --header (its "
            "first line names the columns), --no-header or --names FILE"
        )
    known = (*_PARQUET, *STATISTICAL, *EXCEL)
    if not is_delimited(path.name) and not path.name.lower().endswith(known):
        # of another format, the first line could be anything, such as a person's record in JSON
        raise UsageError(
            f"{path.name!r}: a table is a .csv, .tsv, .txt, .dat or .asc file (or these with .gz), a .parquet file, an "
            "SPSS, Stata or SAS file, or an .xlsx file"
        )


# -- delimited text ------------------------------------------------------------------------------------------


def _with_header(path: Path, line: bytes, known: Mapping[str, str], declared: bool, vouched: frozenset[str]) -> Header:
    where = f"the first line of {path.name!r}"
    text, encoding = decode(line)
    if "encoding" in known:
        text, encoding = _decoded(line, known["encoding"], path), known["encoding"]
    delimiter = max(_delimiters(path, known), key=lambda mark: len(cells_of(text, mark)))
    names, settings = cells_of(text, delimiter), _settings(delimiter, encoding)
    if len(names) > 1 and all(name.startswith(" ") for name in names[1:]):  # the file has a blank after each delimiter
        names, settings = [name.strip() for name in names], {**settings, "trim": "true"}
    if not declared:
        check_names(names, where, vouched)
    check_unique(found := numbered(names), where)
    return Header(found, None, settings, "declared" if declared else "first line", row_numbers(names))


def _without_header(path: Path, line: bytes, known: Mapping[str, str], listed: Path | None) -> Header:
    """Return the header of a file without one.

    Nothing is guessed from the first row, which is a person's: the encoding is the declared one or UTF-8, and cells are
    trimmed whether or not blanks follow the delimiters.
    """
    encoding = known.get("encoding", "utf-8")
    text = _decoded(line, known["encoding"], path) if "encoding" in known else line.decode("utf-8", errors="replace")
    names = read_names(listed) if listed is not None else None
    widths = {mark: len(cells_of(text, mark)) for mark in _delimiters(path, known)}
    delimiter = max(widths, key=lambda mark: (names is not None and widths[mark] == len(names), widths[mark]))
    if names is not None and widths[delimiter] != len(names):
        raise UsageError(
            f"{path.name!r} does not have as many columns as {Path(str(listed)).name!r} has names: complete the names, "
            "or set the delimiter in the codebook, as a row `[table],delimiter,;`"
        )
    settings = {**_settings(delimiter, encoding), "header": "false", "trim": "true"}
    if names is not None:
        return Header(names, None, settings, "listed")
    return Header(numbered([""] * widths[delimiter]), None, settings, "numbered")


def _delimiters(path: Path, known: Mapping[str, str]) -> tuple[str, ...]:
    """Return the delimiters that may be meant.

    Of these the one is taken that cuts the line into most cells, the first of equals.
    """
    if "delimiter" in known:
        return (known["delimiter"],)
    return ("\t",) if has_tabs(path.name) else DELIMITERS


def _settings(delimiter: str, encoding: str) -> dict[str, str]:
    shown = {"delimiter": delimiter, "encoding": encoding}
    return {key: value for key, value in shown.items() if value != {"delimiter": ",", "encoding": "utf-8"}[key]}


def _decoded(line: bytes, encoding: str, path: Path) -> str:
    try:
        return line.decode(encoding).removeprefix("\ufeff")
    except (LookupError, ValueError):  # a UnicodeError is a ValueError, and so is what some codecs raise
        raise UsageError(
            f"the first line of {path.name!r} is not text in the encoding that the codebook says"
        ) from None


def unpacked(path: Path) -> IO[bytes]:
    """Open a file to read its bytes, those inside where it is compressed."""
    with path.open("rb") as probe:
        zipped = probe.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path, "rb")) if zipped else path.open("rb")


def _first_record(path: Path, is_header: bool) -> bytes:
    """Read the first line; a row may have line ends inside quotes, and is read to its end."""
    with unpacked(path) as file:
        held = _line(file)
        while not is_header and held.count(b'"') % 2 and len(held) < MAX_LINE and (more := _line(file)):
            held += more
    if not held.strip():
        needs = "must name the columns" if is_header else "must be a row"
        raise UsageError(f"{path.name!r} is empty, or has a blank first line, which {needs}")
    if held.count(b'"') % 2:  # of a header, reading on for the other quote could read rows
        raise UsageError(f"the first line of {path.name!r} has an open quote; put the names of the columns on one line")
    if len(held) >= MAX_LINE:
        raise UsageError(f"the first line of {path.name!r} is too long to name columns")
    return held


def _line(file: IO[bytes]) -> bytes:
    """Read up to a line feed or a carriage return, and not a byte of the next line further than a buffer."""
    held = bytearray()
    while len(held) < MAX_LINE and (letter := file.read(1)):
        held += letter
        if letter in b"\r\n":
            break
    return bytes(held)


# -- Parquet -------------------------------------------------------------------------------------------------


def _footer(path: Path, header: bool | None, names: Path | None, vouched: frozenset[str]) -> Header:
    """Return the names and types of a Parquet footer.

    The names are checked like a first line: a frame that was read from a file without a header has a row in their
    place.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if header is False or names is not None:
        raise UsageError("a Parquet file has names for its columns: --no-header and --names are for CSV and TSV")
    try:
        schema = parquet.read_schema(path)
    except (pa.ArrowException, UnicodeDecodeError):
        raise UsageError(f"{path.name!r} is not a Parquet file, or damaged") from None
    if not header:
        check_names(schema.names, f"the list of columns of {path.name!r}", vouched)
    if not all(schema.names):
        raise UsageError(f"a column of {path.name!r} has no name: rename it")
    check_unique(schema.names, f"the list of columns of {path.name!r}")
    types = tuple(str(typed) for typed in schema.types)
    return Header(tuple(schema.names), types, origin="declared" if header else "footer")


# -- files of other programs ---------------------------------------------------------------------------------


def _metadata(path: Path, header: bool | None, names: Path | None, vouched: frozenset[str]) -> Header:
    """Return the variables, labels and formats of an SPSS, Stata or SAS file.

    They stand inside the private file, so a person is asked about them.
    """
    if header is False or names is not None:
        raise UsageError(f"{path.name!r} has names for its columns: --no-header and --names are for CSV and TSV")
    inside = TrustClass.INSIDE.marked(metadata_source(path), STATISTICAL_FILE.name)
    found = tuple(inside.attributes)
    if not header:
        check_names(found, f"the list of columns of {path.name!r}", vouched)
    return Header(found, None, {}, "declared" if header else "footer", inside)


def _sheet(path: Path, header: bool | None, names: Path | None, vouched: frozenset[str]) -> Header:
    """Return the first row of the first sheet."""
    if header is False or names is not None:
        raise UsageError("the first row of an Excel sheet must name the columns: add such a row, or save it as CSV")
    if not (first := first_row(path)):
        raise UsageError(f"the first row of {path.name!r} is empty, and must name the columns")
    where = f"the first row of {path.name!r}"
    if not header:
        check_names(first, where, vouched)
    check_unique(found := numbered(first), where)
    return Header(found, None, {}, "declared" if header else "first line", row_numbers(first))
