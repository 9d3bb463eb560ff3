"""Drafting: from a table's names and public documents to the text of a schema.toml.

Of the private table the names of its columns are read, and its declared types. A document that is said to be public is
compared with the table before it is believed: a copy of the private rows is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from understudy.engines.copies import holds_the_same_bytes, holds_the_same_cells
from understudy.errors import UsageError
from understudy.schema.codebook import read_codebook
from understudy.schema.ddl import ddl_columns
from understudy.schema.draft import draft, told
from understudy.schema.header import Header, read_header
from understudy.schema.public_file import public_columns


@dataclass(frozen=True)
class Draft:
    """The text of a schema.toml, and what it was made from, in words."""

    text: str
    told: str


@dataclass(frozen=True)
class Documents:
    """The documents that a draft may be made from; each is public because a person says so."""

    codebook: Path | None = None
    ddl: Path | None = None
    public: Path | None = None
    names: Path | None = None

    def given(self) -> dict[str, Path]:
        """Return the documents by the option that names them."""
        every = {"--codebook": self.codebook, "--ddl": self.ddl, "--public": self.public, "--names": self.names}
        return {option: path for option, path in every.items() if path is not None}

    def column_names(self) -> frozenset[str]:
        """Return the names of columns that a document lists, without regard to case and outer blanks.

        A public file is no such list: it may lack a header too, and begin with the same person's row.
        """
        found: set[str] = set()
        if self.codebook is not None:
            found |= {*read_codebook(self.codebook).attributes}
        if self.ddl is not None:
            found |= ddl_columns(self.ddl)
        return frozenset(name.strip().casefold() for name in found if name.strip())


def draft_file(data: str | Path, documents: Documents | None = None, header: bool | None = None) -> Draft:
    """Draft a schema.toml for a CSV, TSV or Parquet file.

    `header` says whether its first line names the columns; None: nobody has said so, and the draft asks.
    """
    if "://" in str(data):  # it may hold a password: not a piece of it is shown
        raise UsageError(
            "a draft is made from a file's header, not from an address. For a table in a database, write the names of "
            "its columns to a file as one line of CSV and its CREATE TABLE statement to another (pg_dump --schema-only "
            "--table NAME): understudy init names.csv --ddl create.sql"
        )
    table, documents = Path(data), documents or Documents()
    _refuse_the_table_itself(table, documents)
    vouched = documents.column_names()
    settings = read_codebook(documents.codebook).table if documents.codebook is not None else {}
    found = read_header(table, settings, header, documents.names, vouched).under(vouched)
    if documents.public is not None:
        _refuse_a_copy(table, found, documents.public)
    name = table.name.split(".", 1)[0] or "table"
    sources = (documents.codebook, documents.ddl, documents.public)
    text = draft(found.names, found.types, *sources, name, found.settings, found.origin)
    return Draft(text, told(found.origin, compared=documents.public is not None))


def _refuse_the_table_itself(table: Path, documents: Documents) -> None:
    for option, path in documents.given().items():
        if not (table.is_file() and path.is_file()):
            continue
        if path.samefile(table) or holds_the_same_bytes(table, path):
            raise UsageError(f"{option} names the private table itself, or a copy of it, whose rows must not be read")


def _refuse_a_copy(table: Path, found: Header, public: Path) -> None:
    columns = public_columns(public, found.names, headless="header" in found.settings)
    if holds_the_same_cells(table, found, columns):
        raise UsageError(
            f"--public {public.name!r} has the cells of the private table: what it shows would be taken from them. "
            "Name a file that is published already, such as last year's, or take values and ranges from a codebook"
        )
