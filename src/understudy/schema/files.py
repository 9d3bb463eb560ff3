"""schema.toml: reading it strictly, writing it, and the plain form that is hashed and released."""

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
    MOST_CODES,
    Booleans,
    Categories,
    Domain,
    Dropped,
    Identifier,
    Intervals,
)
from understudy.schema.moment import parse_moment
from understudy.schema.patterns import Pattern
from understudy.schema.steps import Steps, checked_decimals, checked_step, steps_of
from understudy.schema.table import Dialect, Schema
from understudy.schema.taxonomy import Taxonomy

_TABLE_KEYS = ("name", "account", "rows", "rows_max", "neighbours", "rows_per_person", "csv", "confirm")
_CSV_KEYS = ("delimiter", "encoding", "decimal", "header")
_PROVENANCES = ("declared", "public", "public (declared)")  # "public" was written by earlier versions
_SHARED_KEYS = ("kind", "missing", "other", "confirm", "provenance")
_ORDERED_KEYS = ("range", "bins", "edges", "points", "fine", "fine_cells")
_KEYS: dict[str, tuple[str, ...]] = {
    "integer": (*_ORDERED_KEYS, "step"),
    "number": (*_ORDERED_KEYS, "step", "decimals"),
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
    schema = schema_from_dict(document)
    object.__setattr__(schema, "text", text)
    return schema


def schema_from_dict(document: Mapping[str, Any], max_codes: int | None = None) -> Schema:
    """A schema from the parsed file, or from the plain form in a release; with more codes in all it is refused."""
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
        attributes = tuple(_attributes(_table(document, "attributes"), dialect.decimal, max_codes))
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
    _known(csv, _CSV_KEYS, "[table.csv]")
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


def _attributes(bodies: Mapping[str, Any], decimal: str, max_codes: int | None) -> Iterator[Attribute]:
    codes = 0
    for name, body in bodies.items():
        attribute = _attribute(str(name), body, decimal)
        codes += attribute.size
        if max_codes is not None and codes > max_codes:
            raise SchemaError(f"the attributes have more than {max_codes:,} values in all")
        yield attribute


def _attribute(name: str, body: Any, decimal: str) -> Attribute:
    try:
        return _attribute_of(name, body)
    except SchemaError as error:
        raise SchemaError(f"attribute {name!r}: {error.message}", attribute=name) from None


def _attribute_of(name: str, body: Any) -> Attribute:
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
    domain = _domain(kind, body)
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
    )


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
    if not isinstance(cells, int) or isinstance(cells, bool) or not 2 <= cells < MOST_CODES or cells & (cells - 1):
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
    format = body.get("format")
    if format is not None and (not isinstance(format, str) or not format):
        raise SchemaError('`format` is a text such as "%d.%m.%Y"')
    edges = [_number(e, kind, format) for e in _list(body.get("edges", []), "edges")]
    points = tuple(_number(p, kind, format) for p in _list(body.get("points", []), "points"))
    step, places = checked_step(body.get("step")), checked_decimals(body.get("decimals"))
    if edges:
        if "bins" in body or "range" in body:
            raise SchemaError("`edges` stands alone: leave `range` and `bins` out")
        return Intervals(kind, tuple(edges), points, format, step, places)  # type: ignore[arg-type]
    span = [_number(e, kind, format) for e in _list(body.get("range", []), "range")]
    if len(span) != 2 or span[1] <= span[0]:
        raise SchemaError("needs `range = [low, high]` with low < high, or `edges`")
    steps = steps_of(kind, step, places, max(map(abs, span)))
    if step is not None and steps is not None and "bins" not in body:
        edges = [*steps.between(span[0], span[1], MOST_CODES)]
    else:
        edges = [*_equal_edges(kind, span[0], span[1], body.get("bins"))]
    return Intervals(kind, tuple(edges), points, format, step, places)  # type: ignore[arg-type]


def _equal_edges(kind: str, low: float, high: float, bins: Any) -> tuple[float, ...]:
    if bins is None:
        if kind in ("number", "datetime"):
            raise SchemaError("needs `bins` (how many cells the range is cut into) or `edges`")
        if high - low >= MOST_CODES:
            raise SchemaError(f"the range holds more than {MOST_CODES:,} values: set `bins`")
        if low != math.floor(low) or high != math.floor(high):
            raise SchemaError("`range` of whole numbers must be whole")
        return tuple(v - 0.5 for v in range(int(low), int(high) + 2))
    if not isinstance(bins, int) or isinstance(bins, bool) or not 1 <= bins <= MOST_CODES:
        raise SchemaError(f"`bins` must be a whole number from 1 to {MOST_CODES:,}")
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


# -- writing -------------------------------------------------------------------------------------------------


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
        table["csv"] = {k: getattr(schema.csv, k) for k in _CSV_KEYS if getattr(schema.csv, k) != getattr(Dialect(), k)}
    return {"table": table, "attributes": {a.name: _attribute_as_dict(a) for a in schema.attributes}}


def _attribute_as_dict(attribute: Attribute) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": attribute.kind}
    domain = attribute.domain
    if isinstance(domain, Categories):
        body["values"] = list(domain.values)
        if attribute.taxonomy is not None:
            body["taxonomy"] = attribute.taxonomy.tree
    elif isinstance(domain, Booleans):
        body |= {"true": list(domain.true), "false": list(domain.false)}
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


def _intervals_as_dict(domain: Intervals) -> dict[str, Any]:
    def show(value: float) -> Any:
        if domain.kind in ("date", "datetime"):
            return Intervals(domain.kind, (value, value + 1)).show(value)
        return int(value) if value == math.floor(value) else value

    low, high = domain.edges[0], domain.edges[-1]
    body: dict[str, Any] = {}
    if (ends := _ends_in_steps(domain)) is not None:
        body["range"] = [show(end) for end in ends]
    elif domain.integral and domain.edges == tuple(low + i for i in range(domain.bins + 1)) and low % 1 == 0.5:
        body["range"] = [show(low + 0.5), show(high - 0.5)]
    elif domain.edges == _equal_edges(domain.kind, low, high, domain.bins):
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
    if not 0 < last[-1] - first[0] < MOST_CODES or domain.edges != steps.between(low, high, MOST_CODES):
        return None
    return low, high


def write_toml(schema: Schema) -> str:
    import tomlkit

    return tomlkit.dumps(schema_as_dict(schema))
