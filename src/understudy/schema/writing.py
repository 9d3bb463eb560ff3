"""Writing a schema: the plain form that is hashed and released, and a fresh schema.toml."""

from __future__ import annotations

import math
from typing import Any

from understudy.schema.attribute import Attribute
from understudy.schema.domain import MAX_CODES, Booleans, Categories, Identifier, Intervals, Kind
from understudy.schema.files import CSV_KEYS, equal_edges
from understudy.schema.steps import Steps
from understudy.schema.table import Dialect, Schema
from understudy.schema.tree_grid import MIN_VALUES, TreeGrid


def schema_as_dict(schema: Schema) -> dict[str, Any]:
    """The plain form: what `schema_from_dict` reads back to an equal schema."""
    table: dict[str, Any] = {"name": schema.name, "account": schema.account}
    if schema.rows is not None:
        table["rows"] = schema.rows
    if schema.rows_max is not None:
        table["rows_max"] = schema.rows_max
    table["neighbours"] = schema.neighbours
    table["rows_per_person"] = schema.rows_per_person
    if schema.confirm:
        table["confirm"] = list(schema.confirm)
    if schema.csv != Dialect():
        table["csv"] = {k: getattr(schema.csv, k) for k in CSV_KEYS if getattr(schema.csv, k) != getattr(Dialect(), k)}
    return {"table": table, "attributes": {a.name: attribute_as_dict(a) for a in schema.attributes}}


def attribute_as_dict(attribute: Attribute) -> dict[str, Any]:
    """The plain form of one attribute."""
    body: dict[str, Any] = {"kind": attribute.kind}
    domain = attribute.domain
    if isinstance(domain, Categories):
        body["values"] = list(domain.values)
        if attribute.taxonomy is not None:
            body["taxonomy"] = attribute.taxonomy.tree
    elif isinstance(domain, Booleans):
        body |= {"true": list(domain.true), "false": list(domain.false)}
    elif attribute.grid is not None:
        body |= _grid_as_dict(attribute.grid)
    elif isinstance(domain, Intervals):
        body |= _intervals_as_dict(domain)
    elif isinstance(domain, Identifier) and domain.pattern is not None:
        body["pattern"] = domain.pattern.text
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


def _shown(kind: Kind, value: float) -> Any:
    """A value of an ordered domain as the file has it."""
    if kind in ("date", "datetime"):
        return Intervals(kind, (value, value + 1)).show(value)
    return int(value) if value == math.floor(value) else value


def _grid_as_dict(grid: TreeGrid) -> dict[str, Any]:
    body: dict[str, Any] = {"range": [_shown(grid.kind, grid.low), _shown(grid.kind, grid.high)], "bins": "auto"}
    if grid.points:
        body["points"] = [_shown(grid.kind, point) for point in grid.points]
    heaps = [_shown("number", heap) for heap in grid.heaps] or None
    more = {"format": grid.format, "step": grid.every, "decimals": grid.decimals, "heaps": heaps}
    return body | {key: value for key, value in more.items() if value is not None}


def _intervals_as_dict(domain: Intervals) -> dict[str, Any]:
    def show(value: float) -> Any:
        return _shown(domain.kind, value)

    low, high = domain.edges[0], domain.edges[-1]
    body: dict[str, Any] = {}
    if (ends := _ends_in_steps(domain)) is not None:
        body["range"] = [show(end) for end in ends]
    elif domain.integral and domain.edges == tuple(low + i for i in range(domain.bins + 1)) and low % 1 == 0.5:
        body["range"] = [show(low + 0.5), show(high - 0.5)]
    elif domain.edges == equal_edges(domain.kind, low, high, domain.bins):
        body |= {"range": [show(low), show(high)], "bins": domain.bins}
    else:
        body["edges"] = [show(e) for e in domain.edges]
    if domain.points:
        body["points"] = [show(p) for p in domain.points]
    if domain.format:
        body["format"] = domain.format
    if domain.step is not None:
        body["step"] = int(domain.step) if domain.step == math.floor(domain.step) else domain.step
    if domain.places is not None:
        body["decimals"] = domain.places
    return body


def _ends_in_steps(domain: Intervals) -> tuple[float, float] | None:
    """The range whose multiples of `step` have a bin each, if these are the domain's bins."""
    if domain.step is None:
        return None
    steps, (first, last) = Steps.of(domain.step), domain.step_range
    low, high = float(steps.value(first[0])), float(steps.value(last[-1]))
    if not 0 < last[-1] - first[0] < MAX_CODES or domain.edges != steps.between(low, high, MAX_CODES):
        return None
    return low, high


def write_toml(schema: Schema) -> str:
    import tomlkit

    document = schema_as_dict(schema)
    for attribute in schema.attributes:
        body = document["attributes"][attribute.name]
        if "range" in body and not {"bins", "fine"} & set(body) and attribute.size > MIN_VALUES:
            body["bins"] = "each"  # a long range without it means "auto" in a file
    return tomlkit.dumps(document)
