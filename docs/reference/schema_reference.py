"""The reference: every key of schema.toml and every column of a codebook, as a page and as a JSON schema for editors.

The keys are those that `files.py` and `codebook.py` read; a key that is read and not explained here is an error, so the
page cannot fall behind. `python docs/reference/schema_reference.py` writes schema.md and schema.json beside itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.schema.children import CHILD_KEYS
from understudy.schema.codebook import COLUMNS
from understudy.schema.codebook import TABLE_KEYS as CODEBOOK_TABLE_KEYS
from understudy.schema.codebooks import READERS, TrustClass
from understudy.schema.files import CSV_KEYS, KEYS, PROVENANCE_SOURCES, PROVENANCES, SHARED_KEYS, TABLE_KEYS
from understudy.schema.open_points import ATTRIBUTE_POINTS, TABLE_POINTS
from understudy.schema.person import PERSON_KEYS
from understudy.schema.public_domains import DOMAINS
from understudy.schema.uses import USE_KEYS

Explained = tuple[dict[str, Any], str, str]  # JSON schema of the value, what it means, an example
_TEXT = {"type": "string"}
_TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_WHOLE = {"type": "integer", "minimum": 1}
_ENDS = {"type": ["number", "string"]}  # dates are TOML dates or texts

TABLE: dict[str, Explained] = {
    "name": (_TEXT, "the table's name", 'name = "people"'),
    "account": (_TEXT, "the account of the ledger; default: the name", 'account = "survey"'),
    "rows": (_WHOLE, "the number of rows, public under replace-one", "rows = 1629"),
    "rows_max": (_WHOLE, "more rows than this are refused (a public bound)", "rows_max = 5000"),
    "neighbours": (
        {"enum": ["replace-one", "add-remove"]},
        "what is protected: a row's values, or also that it is there",
        'neighbours = "add-remove"',
    ),
    "rows_per_person": (_WHOLE, "the most rows one person can have; default 1", "rows_per_person = 4"),
    "csv": ({"type": "object"}, "how a CSV file is written: [table.csv]", "[table.csv]"),
    "confirm": (_TEXTS, "open points of the draft; `publish` refuses while one is left", 'confirm = ["rows"]'),
    "file": (_TEXT, "with [tables.NAME]: the file of these rows in the folder", 'file = "accounts.csv"'),
}
CHILD: dict[str, Explained] = {
    "parent": (_TEXT, "the table that its rows belong to", 'parent = "accounts"'),
    "key": (_TEXT, "the column of kind id that says to which row of the parent", 'key = "account_id"'),
    "references": (
        _TEXT,
        "the parent's column that it is compared with; default: of the same name",
        'references = "id"',
    ),
    "at_most": (_WHOLE, "how many rows of one row of the parent are used", "at_most = 8"),
    "file": (_TEXT, "its file in the folder; default: the table's name", 'file = "orders.csv"'),
    "csv": ({"type": "object"}, "how its file is written; default: as [table.csv] says", "[tables.orders.csv]"),
    "attributes": ({"type": "object"}, "its columns", "[tables.orders.attributes.amount]"),
}
PERSON: dict[str, Explained] = {
    "id": (_TEXT, "the column of kind id whose equal values are one person", 'id = "patient"'),
    "order": (_TEXT, "the number, date or time by which a person's rows follow each other", 'order = "visit"'),
    "at_most": (
        {"type": "integer", "minimum": 2},
        "how many rows of a person are used: the first ones in that order",
        "at_most = 8",
    ),
    "constant": (_TEXTS, "the columns with one value for a person", 'constant = ["sex", "born"]'),
    "strict": (
        {"type": "boolean"},
        "whether no two rows of a person have the same place in the order; default false",
        "strict = true",
    ),
    "rising": (_TEXTS, "the numbers, dates and times that never fall from row to row", 'rising = ["age"]'),
}
CSV: dict[str, Explained] = {
    "delimiter": (
        {"type": "string", "minLength": 1, "maxLength": 1},
        "between cells; default: a comma",
        'delimiter = ";"',
    ),
    "encoding": (_TEXT, "default: utf-8", 'encoding = "cp1252"'),
    "decimal": (
        {"type": "string", "minLength": 1, "maxLength": 1},
        "the decimal sign; default: a point",
        'decimal = ","',
    ),
    "header": (
        {"type": "boolean"},
        "whether the first line names the columns; without, the attributes are the columns in order",
        "header = false",
    ),
    "trim": ({"type": "boolean"}, "whether blanks at the ends of names and cells are left out", "trim = true"),
}
ATTRIBUTE: dict[str, Explained] = {
    "kind": ({"enum": list(KEYS)}, "what the column is; `id` is never read, `drop` is left out", 'kind = "integer"'),
    "missing": (
        {"anyOf": [{"type": "boolean"}, *_TEXTS["anyOf"]]},
        "texts that mean no value; true: empty cells",
        'missing = ["NA", "-9"]',
    ),
    "other": (
        {"type": ["string", "number", "boolean"]},
        'the value that takes every cell that is not declared, or "missing"',
        'other = "missing"',
    ),
    "confirm": (_TEXTS, "open points of the attribute", 'confirm = ["range"]'),
    "provenance": (_TEXT, "where the declaration comes from", 'provenance = "codebook: REDCap data dictionary"'),
    "range": (
        {"type": "array", "items": _ENDS, "minItems": 2, "maxItems": 2},
        "the lowest and highest value that can be meant; what lies outside is clamped",
        "range = [0, 120]",
    ),
    "bins": (
        {"anyOf": [_WHOLE, {"enum": ["auto", "each"]}]},
        'how many equal cells; "each": one a value; "auto" (default of a long range): found from noisy counts',
        "bins = 24",
    ),
    "edges": (
        {"type": "array", "items": _ENDS, "minItems": 2},
        "the bins themselves, in place of `range` and `bins`",
        "edges = [0, 18, 65, 120]",
    ),
    "points": (
        {"type": "array", "items": _ENDS},
        "values inside the range with a cell of their own, such as 0",
        "points = [0]",
    ),
    "fine": ({"enum": ["wavelet"]}, "publish the shape inside the bins too", 'fine = "wavelet"'),
    "fine_cells": (_WHOLE, "cells of a bin for `fine`: a power of two", "fine_cells = 16"),
    "step": ({"type": "number", "exclusiveMinimum": 0}, "values are multiples of it", "step = 0.5"),
    "decimals": ({"type": "integer", "minimum": 0}, "decimals that are written", "decimals = 2"),
    "heaps": (
        {"type": "array", "items": {"type": "number"}},
        "multiples that people round to, such as 5 and 10",
        "heaps = [5, 10]",
    ),
    "format": (_TEXT, "how dates are written, in Python's signs; default: ISO 8601", 'format = "%d.%m.%Y"'),
    "values": (_TEXTS, "every text that may occur", 'values = ["female", "male"]'),
    "taxonomy": (
        {"type": ["object", "string"]},
        'groups of values, nested; or "prefix:1,3"',
        'taxonomy = { North = ["a", "b"], South = ["c"] }',
    ),
    "true": (_TEXTS, "texts for true; the first one is written", 'true = ["Y"]'),
    "false": (_TEXTS, "texts for false", 'false = ["N"]'),
    "pattern": (_TEXT, "the format of fresh ids", 'pattern = "P-{5 digits}"'),
}
RULE: dict[str, Explained] = {
    "rule": (_TEXT, "what holds between columns in every row", 'rule = "start <= end"'),
    "map": ({"type": "object"}, "of a rule that maps one column to another: value by value", "map = { a = 1, b = 2 }"),
}
USE: dict[str, Explained] = {
    "analysis": (
        _TEXTS,
        "columns that will be looked at together, 2 to 6: a text with commas and `by`, or a list",
        'analysis = "income by sex, region"',
    ),
    "target": (_TEXT, "a column that will be predicted from the others", 'target = "income"'),
    "from": (_TEXTS, "of a `target`: the columns to predict from; default: all others", 'from = ["age", "sex"]'),
}
COLUMN: dict[str, str] = {
    "attribute": "the name of the column; `[table]` in it sets something of the table",
    "kind": "as in schema.toml, or another usual word for it",
    "values": "a|b|c, or `a; b`, `a, b`, one a line; with labels: 1 = male; 2 = female",
    "value": "one value a row, with its groups beside it",
    "range": "0..120",
    "low": "the lowest value; not read beside statistics such as a mean",
    "high": "the highest value",
    "bins": "as in schema.toml",
    "edges": "0|18|65|120",
    "points": "0|999",
    "missing": "texts that mean no value; `(empty)` or true: an empty cell. Of a row for a value, a mark (x, yes)",
    "other": "as in schema.toml",
    "format": "DD.MM.YYYY, or Python's signs",
    "step": "as in schema.toml",
    "decimals": "as in schema.toml",
    "pattern": "as in schema.toml",
    "true": "texts for true",
    "false": "texts for false",
    "label": "a sentence about the column; values that it lists (`1:EVER, 0:NEVER`) are proposed",
    "taxonomy": "Group: a|b; Group: c, or prefix:1,3",
}
_TRUST = {
    TrustClass.STATED: "stated",
    TrustClass.INFERRED: "usually inferred: asked about",
    TrustClass.INSIDE: "inside a data file: asked about",
}


def check_explained() -> None:
    """Raise an AssertionError where the code reads a key that is not explained, or the other way round."""
    attribute = {*SHARED_KEYS, *(key for keys in KEYS.values() for key in keys)}
    for read, explained in (
        ({*TABLE_KEYS}, {*TABLE}),
        ({*CSV_KEYS}, {*CSV}),
        ({*PERSON_KEYS}, {*PERSON}),
        ({*CHILD_KEYS}, {*CHILD}),
        (attribute, {*ATTRIBUTE}),
        ({*USE_KEYS}, {*USE}),
        ({*COLUMNS}, {*COLUMN}),
    ):
        assert read == explained, f"read but not explained, or explained but not read: {sorted(read ^ explained)}"


def page() -> str:
    """Return the reference as Markdown."""
    check_explained()
    return "\n".join([*_schema_part(), *_codebook_part(), *_points_part()]) + "\n"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines] + [""]


def _schema_part() -> list[str]:
    def rows(keys: dict[str, Explained]) -> list[tuple[str, ...]]:
        return [(f"`{key}`", meaning, f"`{example}`") for key, (_, meaning, example) in keys.items()]

    kinds = {key: [kind for kind, keys in KEYS.items() if key in keys] for key in ATTRIBUTE}
    attribute = [
        (f"`{key}`", "every kind" if key in SHARED_KEYS else ", ".join(kinds[key]), meaning, f"`{example}`")
        for key, (_, meaning, example) in ATTRIBUTE.items()
    ]
    words = ", ".join(f"`{word}`" for word in (*PROVENANCES, *(f"{source}: NAME" for source in PROVENANCE_SOURCES)))
    return [
        "# Every key of schema.toml, every column of a codebook", "",
        "Made by `python docs/reference/schema_reference.py` from the code that reads them; a test keeps it current. "
        "[schema.json](schema.json) is a JSON schema of the same, for editors that check TOML.", "",
        "## `[table]`", "", *_table(("key", "meaning", "example"), rows(TABLE)),
        "## `[table.csv]`", "", *_table(("key", "meaning", "example"), rows(CSV)),
        "## `[person]`", "", "Where a person has many rows ([panels](../guide/panels.md)).", "",
        *_table(("key", "meaning", "example"), rows(PERSON)),
        "## `[tables.NAME]`", "", "Tables with foreign keys ([tables](../guide/tables.md)).", "",
        *_table(("key", "meaning", "example"), rows(CHILD)),
        "## `[attributes.NAME]`", "", 'A name with a dot or a blank is quoted: `[attributes."alk.phos"]`.', "",
        *_table(("key", "of the kinds", "meaning", "example"), attribute),
        f"`provenance` is one of {words}.", "",
        "## `[[rules]]`", "", "The [guide](../guide/rules.md) has the grammar.", "",
        *_table(("key", "meaning", "example"), rows(RULE)),
        "## `[[uses]]`", "",
        "The analyses that a release is meant for ([guide](../guide/uses.md)): public, and written before anyone looks "
        "at the rows.", "",
        *_table(("key", "meaning", "example"), rows(USE)),
    ]  # fmt: skip


def _codebook_part() -> list[str]:
    columns = [(f"`{name}`", ", ".join(COLUMNS[name]), meaning) for name, meaning in COLUMN.items()]
    formats = [(reader.name, _TRUST[reader.trust]) for reader in READERS]
    domains = [(domain.name, str(domain.facts.kind), _extent(domain.facts)) for domain in DOMAINS]
    return [
        "## A codebook of our own (`--codebook F.csv`, or a sheet of an .xlsx file)", "",
        "The first line names the columns, in any order and case; a row is about an attribute, or about one value of "
        f"it. A row whose attribute is `[table]` sets one of {', '.join(CODEBOOK_TABLE_KEYS)}. A column `group` "
        "(`group2`, …) beside `value` makes a taxonomy.", "",
        *_table(("column", "also called", "holds"), columns),
        "## Codebooks of other formats", "",
        "Statistics inside them (observed minima, maxima, frequencies) are never read.", "",
        *_table(("format", "trust"), formats),
        "## Public domains that `init` proposes", "", *_table(("domain", "kind", "values"), domains),
    ]  # fmt: skip


def _extent(facts: Any) -> str:
    if facts.values is not None:
        return (
            f"{len(facts.values)} values: {', '.join(facts.values[:3])}, …"
            if len(facts.values) > 7
            else ", ".join(facts.values)
        )
    return (
        f"{facts.low} to {facts.high}"
        if facts.low is not None
        else f"{facts.true[0]}, {facts.false[0]} and other words"
    )


def _points_part() -> list[str]:
    rows = [(f"`{point}`", "[table]", said) for point, said in TABLE_POINTS.items()]
    rows += [(f"`{point}`", "an attribute", said) for point, said in ATTRIBUTE_POINTS.items()]
    return ["## Open points (`confirm`)", "", *_table(("point", "of", "what it asks"), rows)][:-1]


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a schema.toml, for editors."""
    check_explained()

    def properties(keys: dict[str, Explained]) -> dict[str, Any]:
        return {key: {**typed, "description": meaning} for key, (typed, meaning, _) in keys.items()}

    def of_kind(kind: str) -> dict[str, Any]:
        allowed: dict[str, Any] = {key: {} for key in (*SHARED_KEYS, *KEYS[kind])}
        return {
            "if": {"properties": {"kind": {"const": kind}}},
            "then": {"properties": allowed, "additionalProperties": False},
        }

    def listed(keys: dict[str, Explained]) -> dict[str, Any]:
        one = {"type": "object", "properties": properties(keys), "additionalProperties": False}
        return {"type": "array", "items": one}

    table = properties(TABLE)
    table["csv"] |= {"properties": properties(CSV), "additionalProperties": False}
    attribute = {
        "type": "object",
        "required": ["kind"],
        "properties": properties(ATTRIBUTE),
        "allOf": [of_kind(kind) for kind in KEYS],
    }
    own = properties(CHILD) | {"csv": table["csv"], "attributes": {"$ref": "#/properties/attributes"}}
    child = {"type": "object", "required": ["parent", "key", "at_most", "attributes"], "properties": own}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "understudy schema.toml",
        "type": "object",
        "required": ["table", "attributes"],
        "properties": {
            "table": {"type": "object", "required": ["name"], "properties": table, "additionalProperties": False},
            "person": {
                "type": "object",
                "required": ["id", "order", "at_most"],
                "properties": properties(PERSON),
                "additionalProperties": False,
            },
            "attributes": {"type": "object", "additionalProperties": attribute},
            "tables": {"type": "object", "additionalProperties": child},
            "rules": listed(RULE),
            "uses": listed(USE),
        },
        "additionalProperties": False,
    }


def write(folder: Path) -> None:
    """Write the page and the JSON schema into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schema.md").write_text(page(), encoding="utf-8", newline="")
    (folder / "schema.json").write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8", newline="")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
