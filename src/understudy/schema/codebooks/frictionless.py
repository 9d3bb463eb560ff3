"""Frictionless: a Table Schema, alone or in a data package. Fields, their types and constraints.

`frictionless describe` infers types from rows, but never a constraint; so kinds that come without any constraint are
asked about, by the open point `origin`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from understudy.schema.codebooks.document import Document, Reader, TrustClass, described, texts
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import FLAG_KINDS

KINDS: dict[str, Kind] = {
    "integer": "integer", "number": "number", "boolean": "boolean", "date": "date", "datetime": "datetime",
    "string": "category", "year": "integer",
}  # fmt: skip
_LEFT_OUT = ("object", "array", "list", "duration", "geopoint", "geojson", "any", "time", "yearmonth")


def _table(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema in a package's first resource that has one, or the document itself."""
    for resource in tree.get("resources") or ():
        if isinstance(resource, Mapping) and isinstance(resource.get("schema"), Mapping):
            return dict(resource["schema"])
    inner = tree.get("schema")
    return inner if isinstance(inner, Mapping) and isinstance(inner.get("fields"), list) else tree


def _recognises(document: Document) -> bool:
    fields = _table(document.tree).get("fields")
    return isinstance(fields, list) and bool(fields) and all(isinstance(f, Mapping) and "name" in f for f in fields)


def _read(document: Document) -> Source:
    table = _table(document.tree)
    shared = texts(table.get("missingValues", [""])) or ()
    keys = table.get("primaryKey") or []
    keys = [keys] if isinstance(keys, str) else list(keys)
    found = {str(field["name"]): _facts(field, shared) for field in table["fields"]}
    if len(keys) == 1 and keys[0] in found:
        found[keys[0]] = replace(found[keys[0]], kind="id", low=None, high=None, values=None)
    bare = [f for f in table["fields"] if f.get("type") not in (None, "any", "string") and not f.get("constraints")]
    return Source(found, points=("origin",) if bare else ())


def _facts(field: Mapping[str, Any], shared: tuple[str, ...]) -> Facts:
    rules = field.get("constraints") or {}
    typed = str(field.get("type", "string"))
    missing = () if rules.get("required") else texts(field.get("missingValues")) or shared
    label = field.get("title") or field.get("description")
    if typed in _LEFT_OUT:
        return Facts(label=label)
    values = texts(rules.get("enum")) or texts(_codes(field.get("categories")))
    kind = KINDS.get(typed)
    if typed == "string" and values is None:
        kind = None
    format = str(field.get("format", "default"))
    facts = described(
        kind, values, rules.get("minimum"), rules.get("maximum"), missing=missing, label=label,
        format=format if "%" in format else None, declared_type="year" if typed == "year" else None,
    )  # fmt: skip
    if kind not in FLAG_KINDS:
        return facts
    true, false = texts(field.get("trueValues")), texts(field.get("falseValues"))
    return replace(facts, true=true, false=false, values=None)


def _codes(categories: Any) -> list[Any] | None:
    if not isinstance(categories, list):
        return None
    return [c.get("value") if isinstance(c, Mapping) else c for c in categories]


FRICTIONLESS = Reader("Frictionless Table Schema", TrustClass.STATED, _recognises, _read)
