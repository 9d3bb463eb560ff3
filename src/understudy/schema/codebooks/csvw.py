"""CSVW (CSV on the Web): columns, datatypes and their bounds, as a W3C metadata document states them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.schema.codebook import strptime_format
from understudy.schema.codebooks.document import Document, Reader, TrustClass, described, texts
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import FLAG_KINDS, takes

KINDS: dict[str, Kind] = {
    **dict.fromkeys(
        ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "unsignedInt", "gYear",
         "gMonth", "gDay", "unsignedLong", "unsignedShort", "unsignedByte"),
        "integer",
    ),
    **dict.fromkeys(("decimal", "number", "double", "float"), "number"),
    "boolean": "boolean", "date": "date", "dateTime": "datetime", "datetime": "datetime", "dateTimeStamp": "datetime",
}  # fmt: skip


def _table(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    for table in tree.get("tables") or (tree,):
        if isinstance(table, Mapping) and isinstance(table.get("tableSchema"), Mapping):
            return table
    return {}


def _read(document: Document) -> Source:
    table = _table(document.tree)
    schema, dialect = table["tableSchema"], table.get("dialect") or document.tree.get("dialect") or {}
    inherited = schema.get("null", document.tree.get("null", ""))
    columns = [column for column in schema.get("columns") or () if not column.get("virtual")]
    settings = {key: str(dialect[key]) for key in ("delimiter", "encoding") if dialect.get(key)}
    # the title of a column is its name in the header, the key `name` its form in addresses
    names = [_words(column.get("titles")) or str(column["name"]) for column in columns]
    found = {name: _facts(column, inherited) for name, column in zip(names, columns)}
    key = schema.get("primaryKey")
    if isinstance(key, str) and key in found:
        found[key] = Facts(kind="id", label=found[key].label)
    return Source(found, settings)


def _words(text: Any) -> str | None:
    """Return a text, the first of several, or that of the first language."""
    if isinstance(text, Mapping):
        text = next(iter(text.values()), None)
    if isinstance(text, list):
        text = text[0] if text else None
    return str(text) if text else None


def _facts(column: Mapping[str, Any], inherited: Any) -> Facts:
    datatype = column.get("datatype", "string")
    rules: Mapping[str, Any] = datatype if isinstance(datatype, Mapping) else {"base": datatype}
    base, null = str(rules.get("base", "string")), column.get("null", inherited)
    missing = () if column.get("required") else texts(null if isinstance(null, list) else [null]) or ()
    label = _words(column.get("dc:description") or column.get("dc:title") or column.get("description"))
    kind, format = KINDS.get(base), rules.get("format")
    if kind in FLAG_KINDS and isinstance(format, str) and "|" in format:
        true, false = format.split("|", 1)
        return Facts(kind="boolean", true=(true,), false=(false,), missing=missing or None, label=label)
    return described(
        kind, None, _bound(rules, "min"), _bound(rules, "max"), missing=missing, label=label,
        format=strptime_format(str(format)) if format and takes(kind, "format") else None,
        declared_type=base if base in ("gYear", "gMonth", "gDay") else None,
    )  # fmt: skip


def _bound(rules: Mapping[str, Any], end: str) -> Any:
    return rules.get(f"{end}imum", rules.get(f"{end}Inclusive", rules.get(f"{end}Exclusive")))


CSVW = Reader("CSV on the Web (CSVW)", TrustClass.STATED, lambda document: bool(_table(document.tree)), _read)
