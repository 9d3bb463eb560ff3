"""Edits: a schema with other keys in one attribute or in [table], checked as a file would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.scales import NUMBER_KINDS, ORDERED_KINDS
from understudy.schema.table import Schema, plain_lists

_KIND_OF_KEY = {"values": "category", "true": "boolean"}  # a new `values` takes the old range away


def edited(schema: Schema, attribute: str | None, keys: Mapping[str, Any]) -> Schema:
    """Return the schema after an edit; `Schema.edit` says what it does."""
    from understudy.schema.files import schema_from_dict
    from understudy.schema.writing import schema_as_dict

    document = schema_as_dict(schema)
    bodies = document["attributes"]
    _keep_tree_bins(schema, bodies)
    if attribute is None:
        document["table"] = _changed(document["table"], keys)
        left = [point for point in document["table"].pop("confirm", []) if point not in keys]
        document["table"] |= {"confirm": left} if left else {}
        if keys.get("neighbours") == "add-remove":
            document["table"].pop("rows", None)
    else:
        body = bodies[schema[attribute].name]
        bodies[attribute] = _changed(_fitting(body, keys), keys)
        bodies[attribute].pop("confirm", None)
        bodies[attribute].pop("provenance", None)
    made = schema_from_dict(document, in_file=True)
    return replace(made, path=schema.path)


def _keep_tree_bins(schema: Schema, bodies: dict[str, Any]) -> None:
    """Write `bins = "each"` for a range without bins: here that means a bin for each value, in a file a tree."""
    for attribute in schema.attributes:
        body = bodies[attribute.name]
        if "range" in body and "bins" not in body and "fine" not in body and attribute.grid is None:
            body["bins"] = "each"


def _fitting(body: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body without keys that the edit makes void, and of the kind that it implies."""
    anyway = {k: v for k, v in body.items() if k in ("missing", "other")}
    for key, kind in _KIND_OF_KEY.items():
        if key in keys and "kind" not in keys and body.get("kind") != kind:
            return {"kind": kind, **anyway}
    if "kind" in keys and keys["kind"] != body.get("kind"):
        return anyway | _kept_range(body, keys)
    if "range" in keys or "edges" in keys:
        if body.get("kind") not in ORDERED_KINDS:
            first, *others = ORDERED_KINDS
            raise SchemaError(f'`range` goes with a kind: write kind="{first}" (or {", ".join(others)}) too')
        void = ("range", "bins", "edges") if "bins" not in keys else ("range", "edges")
        return {k: v for k, v in body.items() if k not in void}
    return {k: v for k, v in body.items() if k != "edges" or "bins" not in keys}


def _kept_range(body: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the range of an integer that becomes a number."""
    numbers = {body.get("kind"), keys["kind"]} <= {*NUMBER_KINDS}
    return {"range": body["range"]} if numbers and "range" in body else {}


def _changed(body: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    fresh = {**body, **{key: plain_lists(value) for key, value in keys.items()}}
    return {key: value for key, value in fresh.items() if value is not None}
