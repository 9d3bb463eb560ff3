"""Codebooks: what a data steward already has, read as it is. One file a format, behind one small interface.

| format | file | trust |
|---|---|---|
| a table of attributes (ours, REDCap's, prose) | .csv, .tsv, .xlsx | stated |
| SPSS, Stata, SAS | .sav .zsav .por .dta .sas7bdat .xpt | inside a data file |
| Frictionless Table Schema, CSVW, JSON Schema, NIST data dictionary | .json, .yaml | stated |
| dbt schema.yml, DDI | .yml, .xml | stated |
| NIST schema.json, SDV, Croissant, pandera | .json, .yaml | usually inferred |

To add a format: a file with a `Reader`, and a word in `READERS`. The first reader that recognises a document reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.codebooks.croissant import CROISSANT
from understudy.schema.codebooks.csvw import CSVW
from understudy.schema.codebooks.dbt import DBT
from understudy.schema.codebooks.ddi import DDI
from understudy.schema.codebooks.document import Document, Reader, TrustClass
from understudy.schema.codebooks.excel import EXCEL
from understudy.schema.codebooks.frictionless import FRICTIONLESS
from understudy.schema.codebooks.json_schema import JSON_SCHEMA, json_schema_of
from understudy.schema.codebooks.nist import NIST_DICTIONARY, NIST_SCHEMA
from understudy.schema.codebooks.pandera_schema import PANDERA, pandera_document
from understudy.schema.codebooks.sdv import SDV
from understudy.schema.codebooks.statistical_files import STATISTICAL_FILE
from understudy.schema.codebooks.tabular import TABULAR
from understudy.schema.facts import Source

__all__ = ["READERS", "Document", "Reader", "TrustClass", "read_codebook", "read_object"]

READERS: tuple[Reader, ...] = (
    STATISTICAL_FILE, EXCEL, CROISSANT, CSVW, FRICTIONLESS, SDV, PANDERA, DBT, NIST_SCHEMA, JSON_SCHEMA,
    NIST_DICTIONARY, DDI, TABULAR,
)  # fmt: skip


def read_codebook(path: Path) -> Source:
    """Read a document of any known format; a table of attributes is the format of last resort."""
    return _read(Document(path))


def read_object(described: Any) -> Source:
    """Read what Python code declares: a pydantic model, a pandera schema, or a JSON Schema as a dictionary."""
    parsed = json_schema_of(described) or pandera_document(described)
    if parsed is None:
        raise SchemaError(
            "a codebook is a file, a pydantic model, a pandera schema or a JSON Schema, not "
            f"{type(described).__qualname__}"
        )
    return _read(Document(Path("codebook.json"), parsed))


def _read(document: Document) -> Source:
    reader = next((reader for reader in READERS if reader.recognises(document)), None)
    if reader is None:
        known = "; ".join(reader.name for reader in READERS)
        raise SchemaError(f"{document.path.name!r} is in no format that is known. Known: {known}")
    try:
        found = reader.read(document)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise SchemaError(f"{document.path.name!r} looks like {reader.name}, but does not follow that format") from None
    return reader.trust.marked(found, reader.name)
