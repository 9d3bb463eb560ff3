"""Drafting: from a table's names and public documents to the text of a schema.toml.

Of the private table the names of its columns are read, and its declared types. A document that is said to be public is
compared with the table before it is believed: a copy of the private rows is refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.discovering import discover
from understudy.engines.copies import holds_the_same_bytes, holds_the_same_cells
from understudy.errors import UsageError
from understudy.methods.discovery import Discovered
from understudy.privacy.budget import Amount
from understudy.privacy.random_source import RandomSource
from understudy.schema import Schema
from understudy.schema.codebooks import read_codebook
from understudy.schema.ddl import ddl_columns, ddl_tables
from understudy.schema.draft import drafted, told
from understudy.schema.files import schema_from_dict
from understudy.schema.header import Header, read_header
from understudy.schema.public_domains import one_each
from understudy.schema.public_file import public_columns
from understudy.schema.scales import LISTED_KINDS, UNREAD_KINDS
from understudy.schema.undiscovered import DISCOVER


@dataclass(frozen=True)
class Draft:
    """The text of a schema.toml, and what it was made from, in words."""

    text: str
    told: str
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # attributes behind each point of [table]


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


def draft_file(
    data: str | Path,
    documents: Documents | None = None,
    header: bool | None = None,
    grouped: bool = True,
    rows: int | None = None,
    decimal: str | None = None,
) -> Draft:
    """Draft a schema.toml for a CSV, TSV, Parquet, SPSS, Stata, SAS or Excel file.

    `header` says whether its first line names the columns; None: nobody has said so, and the draft asks. With `grouped`
    one look at many attributes is one open point; else each attribute has its own, as `init --ask` needs it. `rows` is
    the row count and `decimal` the decimal sign, where they are said: the draft then does not ask for them.
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
    said = {"rows": None if rows is None else str(rows), "decimal": decimal}
    settings = {**found.settings, **{key: text for key, text in said.items() if text is not None}}
    made = drafted(
        found.names, found.types, *sources, name, settings, found.origin, inside=found.inside, grouped=grouped
    )
    return Draft(made.text, told(found.origin, compared=documents.public is not None), made.groups)


def draft_statement(ddl: Path, codebook: Path | None = None, grouped: bool = True) -> Draft:
    """Draft a schema.toml for a table in a database from its CREATE TABLE statement alone, and a codebook.

    No connection is made and no row is read: names and types are those of the statement.
    """
    tables = ddl_tables(ddl)
    if len(tables) != 1:
        raise UsageError(
            f"{ddl.name!r} holds {len(tables) or 'no'} CREATE TABLE statements, and a draft is made from one: write "
            "that of the private table alone to a file (pg_dump --schema-only --table NAME)"
        )
    [(name, columns)] = tables.items()
    made = drafted(columns, None, codebook, ddl, table_name=name, grouped=grouped)
    return Draft(made.text, told("declared", compared=False), made.groups)


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


# -- what a draft leaves open is bought --------------------------------------------------------------------------

_ROWS = "rows"  # the open point that paying settles: the row count is private unless it is said
_ABOUT_RANGES = ("kind", "missing", "other", "format", "step", "decimals", "provenance")


def left_open(text: str, rows: int | None = None, settled: bool = True) -> Schema:
    """Return the draft as a schema in which its open points are to be bought.

    With `rows` the row count is public; without it, it is protected too (neighbours = "add-remove"). With `settled` a
    point that only a person can settle is refused; else it stays open in the schema.
    """
    document = tomllib.loads(text)
    table = document["table"]
    unsettled = [point for point in table.pop("confirm", []) if point != _ROWS]
    if unsettled and settled:
        raise UsageError(
            f"the draft asks a person about {', '.join(unsettled)} of the table first: settle it with --header, "
            "--no-header or --names, or in the file, before anything is paid for"
        )
    table |= {"confirm": unsettled} if unsettled else {}
    table |= {"neighbours": "add-remove"} if rows is None else {"neighbours": "replace-one", "rows": rows}
    if rows is None:
        table.pop("rows", None)
    document["attributes"] = {name: _left_open(name, body) for name, body in document["attributes"].items()}
    return schema_from_dict(document, in_file=True)


def _left_open(name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an attribute's body with "discover" in the place of what `confirm` asks about.

    An id by its name alone may be a short list of codes: where texts are shared by many rows, that is what it is.
    """
    points = set(body.get("confirm", ()))
    stated = body.get("missing", True) is not True  # that cells may be empty is so in any case, and no word to write
    missing = {"missing": body["missing"]} if stated else {}
    unread = body["kind"] in UNREAD_KINDS
    if "proposed" in points and body["kind"] == "id" and not one_each(name):
        return {"kind": "category", "values": DISCOVER, "other": "missing"}
    if "kind" in points or ("proposed" in points and not unread):  # a guess about meaning is not bought, the truth is
        return {"kind": DISCOVER, **missing}
    rest = [point for point in body.get("confirm", ()) if point not in ("values", "range", "bins", "proposed")]
    kept = {key: value for key, value in body.items() if key != "confirm"} | ({"confirm": rest} if rest else {})
    if "values" in points and body["kind"] in LISTED_KINDS:
        return {"kind": "category", "values": DISCOVER, **missing}
    if "range" in points and "range" in body:
        return {key: kept[key] for key in _ABOUT_RANGES if key in kept} | {"range": DISCOVER}
    return kept


def buy_draft(
    data: str | Path,
    drafted: Draft,
    *,
    epsilon: Amount,
    delta: Amount,
    rows: int | None,
    ledger: Path,
    cap: Amount | None,
    keep: Callable[[Discovered], None],
    source: RandomSource | None = None,
) -> Discovered:
    """Buy what a draft leaves open; `keep` writes the schema before the ledger closes the run."""
    schema = left_open(drafted.text, rows)
    if not schema.undiscovered:
        raise UsageError("the draft leaves nothing open that could be bought: leave --epsilon out")
    return discover(
        data, schema, epsilon=epsilon, delta=delta, ledger=ledger, cap=cap, keep=keep, source=source
    )  # fmt: skip
