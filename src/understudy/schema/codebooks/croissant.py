"""Croissant: the fields of a machine-learning data set's record sets. Their types, usually inferred by a platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from understudy.schema.codebooks.document import Document, Reader, TrustClass, described, texts
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import FLAG_KINDS

KINDS: dict[str, Kind] = {
    "Integer": "integer", "Int64": "integer", "Int32": "integer", "Int16": "integer", "Int8": "integer",
    "Float": "number", "Float64": "number", "Float32": "number", "Number": "number", "Boolean": "boolean",
    "Date": "date", "DateTime": "datetime",
}  # fmt: skip


def _sets(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = tree.get("recordSet") or tree.get("cr:recordSet") or []
    return [s for s in (found if isinstance(found, list) else [found]) if isinstance(s, Mapping)]


def _fields(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the fields of the record set that has most of them."""

    def fields(records: Mapping[str, Any]) -> list[Any]:
        found = records.get("field") or records.get("cr:field") or []
        return found if isinstance(found, list) else [found]

    yield from max(map(fields, _sets(tree)), key=len, default=[])


def _read(document: Document) -> Source:
    lists = _enumerations(document.tree)
    return Source({_column(field): _facts(field, lists) for field in _fields(document.tree)})


def _column(field: Mapping[str, Any]) -> str:
    """Return the column that a field is extracted from, or its own name."""
    source = field.get("source") or {}
    extract = source.get("extract") or {} if isinstance(source, Mapping) else {}
    named = extract.get("column") if isinstance(extract, Mapping) else None
    return str(named or field.get("name") or str(field["@id"]).rsplit("/", 1)[-1])


def _facts(field: Mapping[str, Any], lists: Mapping[str, tuple[str, ...]]) -> Facts:
    typed = field.get("dataType")
    names = [str(t).rsplit(":", 1)[-1].rsplit("/", 1)[-1] for t in (typed if isinstance(typed, list) else [typed])]
    kind = next((KINDS[name] for name in names if name in KINDS), None)
    references = field.get("references") or {}
    target = references.get("field") or references if isinstance(references, Mapping) else {}
    listed = lists.get(str(target.get("@id", "")).split("/")[0]) if isinstance(target, Mapping) else None
    return described(kind, None if kind in FLAG_KINDS else listed, label=field.get("description"))


def _enumerations(tree: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return by id the record sets that are lists of values, which the document itself holds."""
    found: dict[str, tuple[str, ...]] = {}
    for records in _sets(tree):
        rows = records.get("data") or records.get("cr:data") or []
        first = [next(iter(row.values()), None) for row in rows if isinstance(row, Mapping)]
        if listed := texts(first):
            found[str(records.get("@id", records.get("name")))] = listed
    return found


CROISSANT = Reader("Croissant", TrustClass.INFERRED, lambda document: bool(_sets(document.tree)), _read)
