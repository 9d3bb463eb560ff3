"""A codebook in rows: our own columns, REDCap's data dictionary, or a list of names and sentences (CSV, TSV, Excel)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from understudy.errors import SchemaError
from understudy.schema.codebook import csv_records, facts_of_records
from understudy.schema.codebooks.document import Document, Reader, TrustClass
from understudy.schema.codebooks.prose import with_prose
from understudy.schema.codebooks.redcap import is_redcap, redcap_source
from understudy.schema.facts import Source


def read_rows(rows: Iterable[Sequence[str]], name: str) -> Source:
    """Read a codebook from its rows, the first of which names its columns."""
    records = iter(rows)
    head = list(next(records, []))
    if is_redcap(head):
        return redcap_source(head, records)
    source = facts_of_records([head, *records], name)
    own = {column: replace(facts, source="") for column, facts in source.attributes.items()}
    return with_prose(replace(source, attributes=own))


def _read(document: Document) -> Source:
    if document.suffix == ".py":
        raise SchemaError(
            f"{document.path.name!r} is a program, and no codebook: a pydantic model or a pandera schema is given in "
            "Python, Schema.draft(frame, codebook=Model), or as the JSON Schema that it writes of itself"
        )
    return read_rows(csv_records(document.path), document.path.name)


TABULAR = Reader(
    "a table of attributes",
    TrustClass.STATED,
    lambda document: document.parsed is None and document.suffix not in (".json", ".jsonld", ".yml", ".yaml", ".xml"),
    _read,
)
