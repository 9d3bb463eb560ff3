"""Writing a schema: the plain form that is hashed and released, and a fresh schema.toml."""

from __future__ import annotations

from typing import Any

from understudy.schema.attribute import Attribute
from understudy.schema.children import ChildTable
from understudy.schema.csv_dialect import DEFAULT_CSV, CsvDialect
from understudy.schema.files import CSV_KEYS
from understudy.schema.scales.scale import whole_or_real
from understudy.schema.table import Schema
from understudy.schema.tree_grid import MIN_VALUES, TreeGrid


def schema_as_dict(schema: Schema) -> dict[str, Any]:
    """Return the plain form, which `schema_from_dict` reads back to an equal schema."""
    table = {
        "name": schema.name, "account": schema.account, "rows": schema.rows, "rows_max": schema.rows_max,
        "neighbours": schema.neighbours, "rows_per_person": schema.rows_per_person,
        "confirm": list(schema.confirm) or None, "csv": _csv(schema.csv) or None, "file": schema.file,
    }  # fmt: skip
    document = {
        "table": _said(table),
        "person": schema.person and schema.person.as_json(),
        "attributes": {a.name: attribute_as_dict(a) for a in schema.attributes},
        "tables": {child.name: _child(child, schema.csv) for child in schema.tables} or None,
        "rules": [rule.as_json() for rule in schema.rules] or None,
        "uses": [use.as_json() for use in schema.uses] or None,
    }
    return _said(document)


def _said(body: dict[str, Any]) -> dict[str, Any]:
    """Return the keys that are set."""
    return {key: value for key, value in body.items() if value is not None}


def _child(child: ChildTable, usual: CsvDialect) -> dict[str, Any]:
    csv = {"csv": _csv(child.schema.csv)} if child.schema.csv != usual else {}
    attributes = {a.name: attribute_as_dict(a) for a in child.schema.attributes}
    return child.as_json() | csv | {"attributes": attributes}


def _csv(dialect: CsvDialect) -> dict[str, Any]:
    return {k: getattr(dialect, k) for k in CSV_KEYS if getattr(dialect, k) != getattr(DEFAULT_CSV, k)}


def attribute_as_dict(attribute: Attribute) -> dict[str, Any]:
    """Return the plain form of one attribute."""
    if attribute.undiscovered is not None:
        return attribute.undiscovered.body
    body: dict[str, Any] = {"kind": attribute.kind}
    body |= attribute.domain.as_dict() if attribute.grid is None else _grid_as_dict(attribute.grid)
    if attribute.taxonomy is not None and "values" in body:
        body["taxonomy"] = attribute.taxonomy.tree
    shared = {
        "fine": attribute.fine, "fine_cells": attribute.fine_cells, "missing": list(attribute.missing) or None,
        "other": attribute.other, "provenance": None if attribute.provenance == "declared" else attribute.provenance,
        "confirm": list(attribute.confirm) or None,
    }  # fmt: skip
    return body | _said(shared)


def _grid_as_dict(grid: TreeGrid) -> dict[str, Any]:
    show = grid.scale.in_file
    body = {
        "range": [show(grid.low), show(grid.high)], "bins": "auto",
        "points": [show(point) for point in grid.points] or None, "format": grid.format, "step": grid.every,
        "decimals": grid.decimals, "heaps": [whole_or_real(heap) for heap in grid.heaps] or None,
    }  # fmt: skip
    return _said(body)


def write_toml(schema: Schema) -> str:
    import tomlkit

    document = schema_as_dict(schema)
    owners = [(schema, document), *((child.schema, document["tables"][child.name]) for child in schema.tables)]
    for own, bodies in owners:
        for attribute in own.attributes:
            body = bodies["attributes"][attribute.name]
            if "range" in body and not {"bins", "fine"} & set(body) and attribute.size > MIN_VALUES:
                body["bins"] = "each"  # a long range without it means "auto" in a file
    return tomlkit.dumps(document)
