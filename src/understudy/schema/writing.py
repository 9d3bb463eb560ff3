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
    table: dict[str, Any] = {"name": schema.name, "account": schema.account}
    if schema.rows is not None:
        table["rows"] = schema.rows
    if schema.rows_max is not None:
        table["rows_max"] = schema.rows_max
    table["neighbours"] = schema.neighbours
    table["rows_per_person"] = schema.rows_per_person
    if schema.confirm:
        table["confirm"] = list(schema.confirm)
    if schema.csv != DEFAULT_CSV:
        table["csv"] = _csv(schema.csv)
    if schema.file is not None:
        table["file"] = schema.file
    document: dict[str, Any] = {"table": table}
    if schema.person is not None:
        document["person"] = schema.person.as_json()
    document["attributes"] = {a.name: attribute_as_dict(a) for a in schema.attributes}
    if schema.tables:
        document["tables"] = {child.name: _child(child, schema.csv) for child in schema.tables}
    rules = {"rules": [rule.as_json() for rule in schema.rules]} if schema.rules else {}
    return document | rules | ({"uses": [use.as_json() for use in schema.uses]} if schema.uses else {})


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
    if attribute.fine is not None:
        body["fine"] = attribute.fine
    if attribute.fine_cells is not None:
        body["fine_cells"] = attribute.fine_cells
    if attribute.missing:
        body["missing"] = list(attribute.missing)
    if attribute.other is not None:
        body["other"] = attribute.other
    if attribute.provenance != "declared":
        body["provenance"] = attribute.provenance
    if attribute.confirm:
        body["confirm"] = list(attribute.confirm)
    return body


def _grid_as_dict(grid: TreeGrid) -> dict[str, Any]:
    show = grid.scale.in_file
    body: dict[str, Any] = {"range": [show(grid.low), show(grid.high)], "bins": "auto"}
    if grid.points:
        body["points"] = [show(point) for point in grid.points]
    heaps = [whole_or_real(heap) for heap in grid.heaps] or None
    more = {"format": grid.format, "step": grid.every, "decimals": grid.decimals, "heaps": heaps}
    return body | {key: value for key, value in more.items() if value is not None}


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
