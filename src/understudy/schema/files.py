"""The schema file, schema.toml: reading it strictly, and reading the plain form that is hashed and released."""

from __future__ import annotations

import codecs
import math
import sys
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from understudy.errors import SchemaError, did_you_mean
from understudy.schema.attribute import Attribute
from understudy.schema.domain import (
    MAX_CODES,
    Booleans,
    Categories,
    Domain,
    Dropped,
    Identifier,
    Intervals,
)
from understudy.schema.heaps import checked_heaps
from understudy.schema.moment import parse_moment
from understudy.schema.patterns import Pattern
from understudy.schema.steps import checked_decimals, checked_step, steps_of
from understudy.schema.table import Dialect, Schema
from understudy.schema.taxonomy import Taxonomy
from understudy.schema.tree_grid import TreeGrid

_TABLE_KEYS = ("name", "account", "rows", "rows_max", "neighbours", "rows_per_person", "csv", "confirm")
CSV_KEYS = ("delimiter", "encoding", "decimal", "header")
_PROVENANCES = ("declared", "public", "public (declared)")  # "public" was written by earlier versions
_SHARED_KEYS = ("kind", "missing", "other", "confirm", "provenance")
_ORDERED_KEYS = ("range", "bins", "edges", "points", "fine", "fine_cells")
_KEYS: dict[str, tuple[str, ...]] = {
    "integer": (*_ORDERED_KEYS, "step", "heaps"),
    "number": (*_ORDERED_KEYS, "step", "decimals", "heaps"),
    "date": (*_ORDERED_KEYS, "format"),
    "datetime": (*_ORDERED_KEYS, "format", "step"),
    "category": ("values", "taxonomy"),
    "boolean": ("true", "false"),
    "id": ("pattern",),
    "drop": (),
}


def read_schema(path: Path) -> Schema:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SchemaError(f"cannot read the schema file {path.name!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"the schema file {path.name!r} is not UTF-8 text") from None
    schema = parse_schema(text)
    object.__setattr__(schema, "path", path)
    return schema


def parse_schema(text: str) -> Schema:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(f"the schema is not valid TOML: {error}") from None
    except RecursionError:
        raise SchemaError("the schema is nested too deeply") from None
    schema = schema_from_dict(document, in_file=True)
    object.__setattr__(schema, "text", text)
    return schema


def schema_from_dict(document: Mapping[str, Any], max_codes: int | None = None, in_file: bool = False) -> Schema:
    """A schema from the parsed file, or from the plain form in a release; with more codes in all it is refused.

    In a file a long range without `bins` has bins found by a noisy tree; in the plain form it has a bin for each value.
    """
    _known(document, ("table", "attributes"), "the schema")
    table = _table(document, "table")
    _known(table, _TABLE_KEYS, "[table]")
    if not isinstance(table.get("name"), str) or not table["name"]:
        raise SchemaError("[table] needs a `name`")
    dialect = _dialect(table.get("csv", {}))
    neighbours = table.get("neighbours", "replace-one")
    if neighbours not in ("replace-one", "add-remove"):
        near = did_you_mean(str(neighbours), ["replace-one", "add-remove"])
        raise SchemaError(f'`neighbours` is "replace-one" or "add-remove". {near}')
    for key in ("rows", "rows_max", "rows_per_person"):
        if key in table and (not isinstance(table[key], int) or isinstance(table[key], bool)):
            raise SchemaError(f"`{key}` in [table] must be a whole number")
    try:
        attributes = tuple(_attributes(_table(document, "attributes"), max_codes, in_file))
    except RecursionError:
        raise SchemaError("a taxonomy of the schema is nested too deeply") from None
    return Schema(
        name=table["name"],
        attributes=attributes,
        rows=table.get("rows"),
        neighbours=neighbours,
        rows_per_person=table.get("rows_per_person", 1),
        account=str(table.get("account", "")),
        rows_max=table.get("rows_max"),
        csv=dialect,
        confirm=_texts(table.get("confirm", []), "confirm"),
    )


def _dialect(csv: Any) -> Dialect:
    _known(csv, CSV_KEYS, "[table.csv]")
    dialect = Dialect(**csv)
    for key, value in (("delimiter", dialect.delimiter), ("decimal", dialect.decimal)):
        if not isinstance(value, str) or len(value) != 1:
            raise SchemaError(f"`{key}` in [table.csv] must be one character")
        if value in '"\r\n\0':
            raise SchemaError(f"`{key}` in [table.csv] cannot be a quotation mark, the end of a line or a null")
    _check_encoding(dialect.encoding)
    if dialect.decimal == dialect.delimiter:
        raise SchemaError("`decimal` and `delimiter` in [table.csv] must differ")
    if not isinstance(dialect.header, bool):
        raise SchemaError("`header` in [table.csv] is true or false: whether the first line names the columns")
    return dialect


def _check_encoding(encoding: Any) -> None:
    try:
        codecs.lookup(encoding)
        "a".encode(encoding)  # Python also knows encodings that are not of text: hex, zlib, undefined
    except (LookupError, TypeError, ValueError):
        raise SchemaError("`encoding` in [table.csv] is not one that Python knows, such as utf-8 or cp1252") from None


def _attributes(bodies: Mapping[str, Any], max_codes: int | None, in_file: bool) -> Iterator[Attribute]:
    codes = 0
    for name, body in bodies.items():
        attribute = _attribute(str(name), body, in_file)
        codes += attribute.size
        if max_codes is not None and codes > max_codes:
            raise SchemaError(f"the attributes have more than {max_codes:,} values in all")
        yield attribute


def attribute_from_dict(name: str, body: Any) -> Attribute:
    """An attribute from its plain form."""
    return _attribute(name, body, in_file=False)


def _attribute(name: str, body: Any, in_file: bool) -> Attribute:
    try:
        return _attribute_of(name, body, in_file)
    except SchemaError as error:
        raise SchemaError(f"attribute {name!r}: {error.message}", attribute=name) from None


def _attribute_of(name: str, body: Any, in_file: bool) -> Attribute:
    if not isinstance(body, Mapping):
        raise SchemaError("must be a table")
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in _KEYS:
        raise SchemaError(f"`kind` is one of {', '.join(_KEYS)}. {did_you_mean(str(kind), list(_KEYS))}")
    _known(body, (*_SHARED_KEYS, *_KEYS[kind]), f"kind {kind!r}")
    missing = body.get("missing", [])
    if isinstance(missing, bool):
        missing = [""] if missing else []
    other = body.get("other")
    if other is not None and not isinstance(other, str):
        other = str(other)
    provenance = body.get("provenance", "declared")
    if provenance not in _PROVENANCES:
        raise SchemaError('`provenance` is "declared" or "public (declared)"')
    grid = _grid(kind, body, in_file)
    if "heaps" in body and grid is None:
        raise SchemaError(
            "`heaps` goes with a long range whose bins are found: leave `bins`, `edges` and `fine` out; in a short one "
            "each value has a cell of its own, and needs none"
        )
    domain = _domain(kind, body) if grid is None else grid.domain
    return Attribute(
        name,
        domain,
        taxonomy=_taxonomy(body.get("taxonomy"), domain),
        missing=_texts(missing, "missing"),
        other=other,
        provenance=provenance,
        confirm=_texts(body.get("confirm", []), "confirm"),
        fine=_fine(body),
        fine_cells=_fine_cells(body),
        grid=grid,
    )


def _grid(kind: str, body: Mapping[str, Any], in_file: bool) -> TreeGrid | None:
    """The grid of a range whose bins are to be found; None where they are given, or each value has its own."""
    bins = body.get("bins")
    if isinstance(bins, str) and bins not in ("auto", "each"):
        raise SchemaError(f'`bins` is a number, "auto" or "each". {did_you_mean(bins, ["auto", "each"])}')
    if kind not in ("integer", "number", "date", "datetime") or "edges" in body or bins not in (None, "auto"):
        return None
    if bins is None and not in_file:
        return None
    if "fine" in body:
        if bins == "auto":
            raise SchemaError('`fine` goes with bins that are given: bins = "auto" finds the shape inside them too')
        return None
    step, places = _written(body)
    heaps, points = checked_heaps(body.get("heaps")), _points(kind, body)
    grid = TreeGrid(kind, *_span(kind, body), points, _format(body), places, step, heaps)  # type: ignore[arg-type]
    return None if grid.short else grid


def _taxonomy(tree: Any, domain: Domain) -> Taxonomy | None:
    if not tree or not isinstance(domain, Categories):
        return None
    if isinstance(tree, str):
        return Taxonomy.of_prefixes(tree, domain)
    if not isinstance(tree, Mapping):
        raise SchemaError('`taxonomy` is a table of groups, or a text such as "prefix:1,3"')
    return Taxonomy.of_groups(_plain(tree), domain)


def _fine(body: Mapping[str, Any]) -> Literal["wavelet"] | None:
    fine = body.get("fine")
    if fine not in (None, "wavelet"):
        raise SchemaError('`fine` is "wavelet", or left out')
    return fine


def _fine_cells(body: Mapping[str, Any]) -> int | None:
    cells = body.get("fine_cells")
    if cells is None:
        return None
    if "fine" not in body:
        raise SchemaError('`fine_cells` goes with fine = "wavelet"')
    if not isinstance(cells, int) or isinstance(cells, bool) or not 2 <= cells < MAX_CODES or cells & (cells - 1):
        raise SchemaError("`fine_cells` is how many cells a bin is cut into: a power of two, such as 16")
    return cells


def _domain(kind: str, body: Mapping[str, Any]) -> Domain:
    if kind == "id":
        return Identifier(Pattern.of(body["pattern"]) if "pattern" in body else None)
    if kind == "drop":
        return Dropped()
    if kind == "category":
        return Categories(_texts(body.get("values", []), "values"))
    if kind == "boolean":
        given = {key: _texts(body[key], key) for key in ("true", "false") if key in body}
        return Booleans(**given)
    format = _format(body)
    edges = [_number(e, kind, format) for e in _list(body.get("edges", []), "edges")]
    points = _points(kind, body)
    step, places = _written(body)
    if edges:
        if "bins" in body or "range" in body:
            raise SchemaError("`edges` stands alone: leave `range` and `bins` out")
        return Intervals(kind, tuple(edges), points, format, step, places)  # type: ignore[arg-type]
    low, high = _span(kind, body)
    bins = None if body.get("bins") in ("auto", "each") else body.get("bins")
    steps = steps_of(kind, step, places, max(abs(low), abs(high)))
    if step is not None and steps is not None and bins is None:
        edges = [*steps.between(low, high, MAX_CODES)]
    else:
        edges = [*equal_edges(kind, low, high, bins)]
    return Intervals(kind, tuple(edges), points, format, step, places)  # type: ignore[arg-type]


def _written(body: Mapping[str, Any]) -> tuple[float | None, int | None]:
    """How values are written: in which steps, or with how many decimals."""
    return checked_step(body.get("step")), checked_decimals(body.get("decimals"))


def _format(body: Mapping[str, Any]) -> str | None:
    format = body.get("format")
    if format is not None and (not isinstance(format, str) or not format):
        raise SchemaError('`format` is a text such as "%d.%m.%Y"')
    return format


def _points(kind: str, body: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(_number(p, kind, _format(body)) for p in _list(body.get("points", []), "points"))


def _span(kind: str, body: Mapping[str, Any]) -> tuple[float, float]:
    span = [_number(e, kind, _format(body)) for e in _list(body.get("range", []), "range")]
    if len(span) != 2 or span[1] <= span[0]:
        raise SchemaError("needs `range = [low, high]` with low < high, or `edges`")
    return span[0], span[1]


def equal_edges(kind: str, low: float, high: float, bins: Any) -> tuple[float, ...]:
    """Return the edges of so many bins of equal width, or of one bin for each whole number."""
    if bins is None:
        if kind in ("number", "datetime"):
            raise SchemaError("needs `bins` (how many cells the range is cut into) or `edges`")
        if high - low >= MAX_CODES:
            raise SchemaError(f"the range holds more than {MAX_CODES:,} values: set `bins`")
        if low != math.floor(low) or high != math.floor(high):
            raise SchemaError("`range` of whole numbers must be whole")
        return tuple(v - 0.5 for v in range(int(low), int(high) + 2))
    if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= MAX_CODES:
        raise SchemaError(f"`bins` must be a whole number from 1 to {MAX_CODES:,}")
    return (*(low + (high - low) * i / bins for i in range(bins)), high)


def _number(value: Any, kind: str, format: str | None) -> float:
    if kind in ("date", "datetime"):
        text = value.isoformat() if isinstance(value, date | datetime) else str(value)
        if kind == "date" and isinstance(value, datetime):
            text = value.date().isoformat()
        number = parse_moment(text, kind, None)
        if math.isnan(number) and format:
            number = parse_moment(text, kind, format)
        if math.isnan(number):
            raise SchemaError(f"a {kind} is written 2024-12-31{'' if kind == 'date' else 'T23:59:59'}")
        return number
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SchemaError("`range`, `edges` and `points` hold numbers")
    if not abs(value) <= sys.float_info.max:
        raise SchemaError("`range`, `edges` and `points` hold finite numbers")
    return float(value)


def _texts(value: Any, key: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise SchemaError(f"`{key}` is a list of texts (in quotes)")
    return tuple(str(v) for v in value)


def _list(value: Any, key: str) -> list[Any]:
    if not isinstance(value, list):
        raise SchemaError(f"`{key}` must be a list")
    return value


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    body = document.get(key)
    if not isinstance(body, Mapping) or not body:
        raise SchemaError(f"the schema needs a [{key}] table")
    return body


def _known(body: Any, known: tuple[str, ...], where: str) -> None:
    if not isinstance(body, Mapping):
        raise SchemaError(f"{where} must be a table")
    for key in body:
        if key not in known:
            raise SchemaError(f"{where} has no key {key!r}. {did_you_mean(str(key), list(known))}")


def _plain(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {str(k): _plain(v) for k, v in tree.items()}
    return [str(v) for v in tree] if isinstance(tree, list) else tree
