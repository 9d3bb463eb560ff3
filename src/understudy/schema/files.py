"""The schema file, schema.toml: reading it strictly, and reading the plain form that is hashed and released."""

from __future__ import annotations

import codecs
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from understudy.errors import SchemaError, did_you_mean
from understudy.schema.attribute import Attribute
from understudy.schema.children import ChildTable, read_child
from understudy.schema.csv_dialect import CsvDialect
from understudy.schema.domain import MAX_CODES, Domain
from understudy.schema.heaps import checked_heaps
from understudy.schema.interval_keys import read_format, read_points, read_range, read_steps
from understudy.schema.person import read_person
from understudy.schema.rules import checked_rules
from understudy.schema.scales import SCALES, OrderedScale, Scale
from understudy.schema.scales.scale import check_keys, texts_of
from understudy.schema.table import Schema
from understudy.schema.taxonomy import Taxonomy
from understudy.schema.tree_grid import TreeGrid
from understudy.schema.undiscovered import PAID, asks_for, undiscovered
from understudy.schema.uses import checked_uses

TABLE_KEYS = ("name", "account", "rows", "rows_max", "neighbours", "rows_per_person", "csv", "confirm", "file")
CSV_KEYS = ("delimiter", "encoding", "decimal", "header", "trim")
# where a declaration comes from; "public" was written by earlier versions, and a text after a colon names the source
PROVENANCES = ("declared", "public", "public (declared)", "after seeing rows", PAID)
PROVENANCE_SOURCES = ("codebook", "inside the file", "proposed")
SHARED_KEYS = ("kind", "missing", "other", "confirm", "provenance")
KEYS: dict[str, tuple[str, ...]] = {kind: scale.keys for kind, scale in SCALES.items()}


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
    """Return a schema from the parsed file or the plain form of a release; refuse one with more than `max_codes` codes.

    In a file a long range without `bins` has bins found by a noisy tree; in the plain form it has a bin for each value.
    """
    check_keys(document, ("table", "person", "attributes", "tables", "rules", "uses"), "the schema")
    table = _table(document, "table")
    check_keys(table, TABLE_KEYS, "[table]")
    if not isinstance(table.get("name"), str) or not table["name"]:
        raise SchemaError("[table] needs a `name`")
    if not isinstance(table.get("file", ""), str):
        raise SchemaError("`file` in [table] must be a text")
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
        confirm=texts_of(table.get("confirm", []), "confirm"),
        rules=checked_rules(document.get("rules", [])),
        uses=checked_uses(document.get("uses", []), [a.name for a in attributes if a.modelled or a.undiscovered]),
        person=read_person(document.get("person")),
        tables=_children(document.get("tables"), table, dialect, max_codes, in_file),
        file=table.get("file"),
    )


def _children(
    bodies: Any, table: Mapping[str, Any], dialect: CsvDialect, max_codes: int | None, in_file: bool
) -> tuple[ChildTable, ...]:
    """Return the tables of `[tables.NAME]`; one without `csv` is written as [table] says."""
    if bodies is None:
        return ()
    if not isinstance(bodies, Mapping):
        raise SchemaError("[tables] holds tables: [tables.NAME]")

    def child(name: str, body: Mapping[str, Any]) -> Schema:
        attributes = tuple(_attributes(_table(body, "attributes"), max_codes, in_file))
        csv = dialect if "csv" not in body else _dialect(body["csv"])
        return Schema(name, attributes, None, "add-remove", account=str(table.get("account", table["name"])), csv=csv)

    return tuple(read_child(str(name), body, child) for name, body in bodies.items())


def _dialect(csv: Any) -> CsvDialect:
    check_keys(csv, CSV_KEYS, "[table.csv]")
    dialect = CsvDialect(**csv)
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
    if not isinstance(dialect.trim, bool):
        raise SchemaError("`trim` in [table.csv] is true or false: whether blanks at the ends of cells are left out")
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
        attribute = attribute_from_dict(str(name), body, in_file)
        codes += attribute.size
        if max_codes is not None and codes > max_codes:
            raise SchemaError(f"the attributes have more than {max_codes:,} values in all")
        yield attribute


def attribute_from_dict(name: str, body: Any, in_file: bool = False) -> Attribute:
    """Return an attribute from its plain form, or from the body that a file has."""
    try:
        return _attribute_of(name, body, in_file)
    except SchemaError as error:
        raise SchemaError(f"attribute {name!r}: {error.message}", attribute=name) from None


def _attribute_of(name: str, body: Any, in_file: bool) -> Attribute:
    if not isinstance(body, Mapping):
        raise SchemaError("must be a table")
    if (what := asks_for(body)) is not None:
        return Attribute(name, undiscovered(body, what), **_shared(body))
    kind = body.get("kind")
    if "kind" not in body and any(isinstance(part, Mapping) and "kind" in part for part in body.values()):
        inner = next(str(key) for key, part in body.items() if isinstance(part, Mapping) and "kind" in part)
        raise SchemaError(f'a name with a dot is written in quotes: [attributes."{name}.{inner}"]')
    if not isinstance(kind, str) or kind not in SCALES:
        raise SchemaError(f"`kind` is one of {', '.join(SCALES)}. {did_you_mean(str(kind), list(SCALES))}")
    scale = SCALES[kind]
    check_keys(body, (*SHARED_KEYS, *scale.keys), f"kind {kind!r}")
    grid = _grid(scale, body, in_file)
    if "heaps" in body and grid is None:
        raise SchemaError(
            "`heaps` goes with a long range whose bins are found: leave `bins`, `edges` and `fine` out; in a short one "
            "each value has a cell of its own, and needs none"
        )
    domain: Domain = scale.read(body) if grid is None else grid.domain
    return Attribute(
        name,
        domain,
        taxonomy=_taxonomy(body.get("taxonomy"), domain),
        **_shared(body),
        fine=_fine(body),
        fine_cells=_fine_cells(body),
        grid=grid,
    )


def _provenance(body: Mapping[str, Any]) -> str:
    given = body.get("provenance", "declared")
    source, colon, _ = str(given).partition(": ")
    if given in PROVENANCES or (colon and source in PROVENANCE_SOURCES):
        return str(given)
    known = [*PROVENANCES, *(f"{source}: NAME" for source in PROVENANCE_SOURCES)]
    raise SchemaError(f"`provenance` is one of {', '.join(known)}")


def _shared(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every kind of attribute may have."""
    missing = body.get("missing", [])
    if isinstance(missing, bool):
        missing = [""] if missing else []
    return {
        "missing": texts_of(missing, "missing"),
        "other": None if body.get("other") is None else str(body["other"]),
        "provenance": _provenance(body),
        "confirm": texts_of(body.get("confirm", []), "confirm"),
    }


def _grid(scale: Scale, body: Mapping[str, Any], in_file: bool) -> TreeGrid | None:
    """Return the grid of a range whose bins are to be found; None where bins are given, or each value has its own."""
    bins = body.get("bins")
    if isinstance(bins, str) and bins not in ("auto", "each"):
        raise SchemaError(f'`bins` is a number, "auto" or "each". {did_you_mean(bins, ["auto", "each"])}')
    if not isinstance(scale, OrderedScale) or "edges" in body or bins not in (None, "auto"):
        return None
    if bins is None and not in_file:
        return None
    if "fine" in body:
        if bins == "auto":
            raise SchemaError('`fine` goes with bins that are given: bins = "auto" finds the shape inside them too')
        return None
    (step, places), format = read_steps(body), read_format(body)
    step = scale.written_step(format) if step is None and format is not None else step
    heaps, points = checked_heaps(body.get("heaps")), read_points(scale, body)
    grid = TreeGrid(scale.kind, *read_range(scale, body), points, format, places, step, heaps)
    return None if grid.short else grid


def _taxonomy(tree: Any, domain: Domain) -> Taxonomy | None:
    if not tree:
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


def _table(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    body = document.get(key)
    if not isinstance(body, Mapping) or not body:
        raise SchemaError(f"the schema needs a [{key}] table")
    return body


def _plain(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {str(k): _plain(v) for k, v in tree.items()}
    return [str(v) for v in tree] if isinstance(tree, list) else tree
