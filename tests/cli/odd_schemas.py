"""Odd schema files, drawn from a number: keys with values that someone might write, and texts that are damaged."""

from __future__ import annotations

import contextlib
import random
import tomllib
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import tomlkit
from odd_input import NAMES, Odd, damaged, plain_row, schema_text


def odd_schema(number: int, folder: Path) -> Odd:
    """A good table, and a schema file that is damaged as text or has an odd value somewhere."""
    draw = random.Random(f"toml {number}")
    rows = [plain_row(random.Random(i), odd=False) for i in range(12)]
    data, schema = folder / "t.csv", folder / "schema.toml"
    data.write_text("\n".join(",".join(row) for row in [NAMES, *rows]) + "\n", encoding="utf-8")
    text = schema_text(draw, 12, ",", False)
    raw = text.encode()
    if draw.random() < 0.9:
        document = tomllib.loads(text)
        for _ in range(draw.choice([1, 1, 1, 2, 4])):
            draw.choices([_set_key, _replace_somewhere, _rename], [8, 2, 1])[0](draw, document)
        with contextlib.suppress(ValueError, TypeError, AttributeError):  # what TOML cannot say
            raw = tomlkit.dumps(document).encode(errors="surrogatepass")
    for _ in range(draw.choice([0] * 9 + [1]) if raw != text.encode() else draw.choice([1, 2, 4])):
        raw = damaged(draw, raw, b"Marvin")  # a schema is public
    schema.write_bytes(raw)
    return Odd(data, schema, ())


_SETTINGS: dict[str, tuple[Any, ...]] = {
    "range": ([0, 1], [0, 2**53], [-(2**53), 2**53], [0.0, 1e308], [-1e308, 1e308], [0, 1e-320], [5, 5], [1, 0], [0.5, 9.5], [0],
              [date(1, 1, 1), date(9999, 12, 31)], [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)], ["0", "1"],
              [date(2024, 1, 1), date(2024, 1, 2)], ["01.01.2020", "31.12.2024"], [float("nan"), 1], [0, float("inf")], [0, 99]),
    "bins": (1, 2, 3, 7, 100, 1000, 65_535, 65_536, 0, -1, 2.5, True, 2**62),
    "edges": ([0, 1], [0, 0.1, 0.2], [0, 1e-300, 1], [3, 2, 1], [0], [], [date(1, 1, 1), date(2, 1, 1)], list(range(300)),
              [0, 1e308], [-1e308, 0, 1e308], [0, float("inf")], [0.5, 1.5, 2.5], [datetime(1, 1, 1), datetime(9999, 1, 1)]),
    "points": ([0], [0, 0], [99], [0.5], [-1], list(range(90)), [1e-300], [date(1970, 1, 1)], [], [float("nan")]),
    "format": ("%Y", "%", "%%", "%d.%m.%y", "%Y-%Y", "%H:%M", "%j", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S", "%B %d, %Y", "%s", "%Z%z",
               "%Y\x00", "ä%Y-%m-%d", "%y%m%d", "%G-W%V-%u", "%c", "%-d", "% Y", "x" * 300, "%f", ""),
    "values": (["a"], ["a", ""], ["Female", "Male", "missing"], ["=1+2", "'=1+2"], ["1", "1.0", "01"], ["\n", "\r", "\t", '"'],
               [f"v{i}" for i in range(3000)], ["ä" * 5000], ["\ud7ff", "\U0010ffff"], [], ["a", "a"], "a", [1, 2], ["Female", "Male"]),
    "true": ("Y", ["Y", "1"], "N", [], "", ["", "x"]),
    "false": ("N", "Y", ["N", "0"], [], ""),
    "missing": (True, False, [], [""], ["?"], ["missing"], ["0"], ["50"], ["Female"], ["1e5"], "x", [0], ["2020-01-01"], ["'?"]),
    "other": ("missing", "0", "Male", "Brae", "", "50", "Y", 0, "2000-01-01", "nowhere"),
    "taxonomy": ({}, {"A": ["Female"], "B": ["Male"]}, {"A": {"B": {"C": ["Female", "Male"]}}}, {"A": []}, {"": ["Female"]},
                 {"A": ["Female"], "B": ["Female", "Male"]}, {"Female": ["Female", "Male"]}, {"A": "Female"}, {"A": [["Female"]]}),
    "fine": ("wavelet", "x", True),
    "fine_cells": (2, 16, 32_768, 65_536, 3, -2, 1.0),
    "provenance": ("public", "declared", "public (declared)", "x"),
    "confirm": ([], ["kind"], "values", [1], ["\x1b[31m"]),
    "kind": ("integer", "number", "date", "datetime", "category", "boolean", "id", "drop", "Integer", ""),
}  # fmt: skip
_TABLE_SETTINGS: dict[str, tuple[Any, ...]] = {
    "name": ("x", "", "\x1b[31m", "a/b", "ä" * 300, 7),
    "account": ("x", "", 7, "\n"),
    "rows": (0, 1, 11, 12, 13, 2**31 - 1, 2**31, 2**40, 2**63 - 1, -1, 1.5, True),
    "rows_max": (1, 12, 2**31, 0),
    "rows_per_person": (1, 3, 2**31, 0, -1, 12.0),
    "neighbours": ("add-remove", "replace-one", "both", 1),
    "confirm": ([], ["rows"], ["header", "public"], 1),
    "csv": ({}, {"delimiter": ";"}, {"header": False}, {"header": 1}, {"decimal": ","}, {"delimiter": "\t", "decimal": ","}, {"decimal": "5"},
            {"encoding": "utf-16"}, {"encoding": "hex"}, {"encoding": "utf-7"}, {"encoding": 7}, {"delimiter": "§"}, {"decimal": "§"},
            {"delimiter": "Z"}, {"encoding": "x" * 300}, {"encoding": "\0"}, {"delimiter": " "}, {"decimal": "-"}, [], "x"),
}  # fmt: skip
_KINDS = {
    "integer": "number",
    "number": "number",
    "date": "date",
    "datetime": "date",
    "category": "values",
    "boolean": "true",
}
_FITTING = {
    "number": ("range", "bins", "edges", "points", "fine", "fine_cells"),
    "date": ("range", "bins", "edges", "points", "format", "fine"),
    "values": ("values", "taxonomy"),
    "true": ("true", "false"),
}


def _set_key(draw: random.Random, document: Any) -> None:
    """Give a key of an attribute or of the table a value that someone might write there."""
    table, attributes = document.get("table"), document.get("attributes")
    if draw.random() < 0.25 and isinstance(table, dict):
        key = draw.choice(list(_TABLE_SETTINGS))
        table[key] = draw.choice(_TABLE_SETTINGS[key])
        return
    if not isinstance(attributes, dict) or not attributes:
        return
    body = attributes[draw.choice(list(attributes))]
    if not isinstance(body, dict):
        return
    fitting = _FITTING.get(_KINDS.get(str(body.get("kind")), ""), ())
    key = draw.choice([*fitting, *fitting, "missing", "other", "kind", "provenance", "confirm"])
    body[key] = draw.choice(_SETTINGS[key])
    if key == "edges":
        body.pop("range", None)
        body.pop("bins", None)


def _rename(draw: random.Random, document: Any) -> None:
    attributes = document.get("attributes")
    if isinstance(attributes, dict) and attributes:
        name = draw.choice(list(attributes))
        attributes[draw.choice(["", " ", "a.b", "ä", '"', "\x07", "age", "x" * 5000, "sex\n", "column_1"])] = (
            attributes.pop(name)
        )


def _replace_somewhere(draw: random.Random, node: Any) -> None:
    """Give one place of the parsed file another value, another name, or take it away."""
    odd: tuple[Any, ...] = (
        0, -1, 1, 2**31, 2**63 - 1, -(2**63), 2**53 + 1, 0.5, 1e308, -1e308, 5e-324, float("inf"), float("nan"), "", "x", "?",
        "missing", "%Y", "%", "%d.%m.%y", "%Y-%Y", "%H:%M", "%j", "a\x01b", "ä" * 500, True, False, [], {}, [[]], [{}], [0], [0, 0],
        [1, 0], ["a", "a"], [None] and ["x", 1], {"a": {"b": {"c": []}}}, {"N": ["Anders"], "S": ["Brae", "Anders"]},
        date(1, 1, 1), date(9999, 12, 31), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), time(1, 2),
        [date(1, 1, 1), date(9999, 12, 31)], [datetime(1, 1, 1), datetime(9999, 12, 31)], [0, 2**53], [0.0, 1e308], [-1e308, 1e308],
        [0, 1e-320], 65535, 65536, 10**6, "integer", "number", "date", "datetime", "boolean", "id", "drop", "category", "wavelet",
        "utf-7", "hex", "undefined", "idna", "public", "public (declared)", "add-remove", "replace-one", list(range(300)), ["v"] * 3,
    )  # fmt: skip
    keys = ("kind", "range", "edges", "bins", "points", "values", "true", "false", "missing", "other", "format", "fine",
            "fine_cells", "taxonomy", "provenance", "confirm", "rows", "rows_max", "rows_per_person", "csv", "header",
            "delimiter", "decimal", "encoding", "name", "account", "neighbours", "attributes", "table", "strange", "")  # fmt: skip
    while isinstance(node, dict) and node:
        key = draw.choice(list(node))
        if not isinstance(node[key], dict) or draw.random() < 0.25:
            break
        node = node[key]
    if not isinstance(node, dict) or not node:
        return
    way = draw.random()
    if way < 0.15:
        del node[key]
    elif way < 0.25:
        node[draw.choice(keys)] = node.pop(key)
    else:
        node[key if way < 0.7 else draw.choice(keys)] = draw.choice(odd)
