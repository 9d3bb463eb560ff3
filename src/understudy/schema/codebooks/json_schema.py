"""JSON Schema: the properties of one record, as people write them; a pydantic model gives one.

`properties` may be those of the document, of the items of an array, or of a definition that these refer to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.schema.codebooks.document import Document, Reader, TrustClass, described, texts
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import FLAG_KINDS, WHOLE_KINDS

KINDS: dict[str, Kind] = {"integer": "integer", "number": "number", "boolean": "boolean"}
_MOMENTS: dict[str, Kind] = {"date": "date", "date-time": "datetime"}


def json_schema_of(described: Any) -> Mapping[str, Any] | None:
    """Return the JSON Schema of a pydantic model, or of a dictionary that is one; None for anything else."""
    if isinstance(described, Mapping):
        return described
    schema = getattr(described, "model_json_schema", None)
    return schema() if callable(schema) else None


def _record(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    if tree.get("type") == "array" or ("items" in tree and "properties" not in tree):
        items = tree.get("items")
        return _resolved(items, tree) if isinstance(items, Mapping) else {}
    return _resolved(tree, tree)


def _resolved(part: Mapping[str, Any], tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow a `$ref` inside the document, a few steps at most, and return what it leads to."""
    for _ in range(8):
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return part
        target: Any = tree
        for step in reference[2:].split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
    return part


def _recognises(document: Document) -> bool:
    properties = _record(document.tree).get("properties")
    return isinstance(properties, Mapping) and bool(properties)


def _read(document: Document) -> Source:
    record = _record(document.tree)
    required = set(record.get("required") or ())
    return Source(
        {str(name): _facts(part, document.tree, name in required) for name, part in record["properties"].items()}
    )


def _facts(part: Mapping[str, Any], tree: Mapping[str, Any], required: bool) -> Facts:
    label = part.get("title") if not part.get("description") else part["description"]
    part, nullable = _without_null(_resolved(part, tree), tree)
    missing = ("",) if nullable or not required else ()
    values = texts(part.get("enum")) or texts([part["const"]] if "const" in part else None) or _alternatives(part)
    typed = part.get("type")
    kind = KINDS.get(str(typed)) or _MOMENTS.get(str(part.get("format")))
    step = part.get("multipleOf")
    low, high = (part.get(f"{end}imum", part.get(f"exclusive{end.title()}imum")) for end in ("min", "max"))
    if str(typed) in ("object", "array") and values is None:
        return Facts(label=label)
    step = None if kind in WHOLE_KINDS and step == 1 else step
    values = None if kind in FLAG_KINDS else values
    return described(kind, values, low, high, missing=missing, label=label, step=step)


def _without_null(part: Mapping[str, Any], tree: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the one alternative that is not null, and whether there is one that is."""
    typed = part.get("type")
    if isinstance(typed, list):
        others = [t for t in typed if t != "null"]
        return {**part, "type": others[0] if len(others) == 1 else None}, "null" in typed
    for key in ("anyOf", "oneOf"):
        options = [_resolved(option, tree) for option in part.get(key) or () if isinstance(option, Mapping)]
        others = [option for option in options if option.get("type") != "null"]
        if len(others) == 1:
            return {**{k: v for k, v in part.items() if k != key}, **others[0]}, len(options) > len(others)
    return part, False


def _alternatives(part: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return listed values that have titles: oneOf with a const each."""
    options = part.get("oneOf") or part.get("anyOf") or ()
    constants = [option["const"] for option in options if isinstance(option, Mapping) and "const" in option]
    return texts(constants) if constants and len(constants) == len(options) else None


JSON_SCHEMA = Reader("JSON Schema", TrustClass.STATED, _recognises, _read)
