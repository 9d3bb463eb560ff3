"""Finding: the SQL a custodian runs on their own database to see the cells that do not fit an attribute.

PostgreSQL and DuckDB both read it. It is built from the schema alone; its result is private to the custodian.
"""

from __future__ import annotations

import re

from understudy.engines.addresses import duckdb_pattern
from understudy.errors import UsageError
from understudy.schema import Attribute, Booleans, Categories, Intervals, Schema

_SPACE = "[[:space:]]*"
# a year, a month and a day, month lengths and leap years included: (year, month, day) of each kind of day
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_CALENDAR = (
    ("[0-9]{4}", "(0?[13578]|1[02])", "(0?[1-9]|[12][0-9]|3[01])"),
    ("[0-9]{4}", "(0?[469]|11)", "(0?[1-9]|[12][0-9]|30)"),
    ("[0-9]{4}", "0?2", "(0?[1-9]|1[0-9]|2[0-8])"),
    (_LEAP, "0?2", "29"),
)
_CLOCK = {"H": "([01]?[0-9]|2[0-3])", "M": "[0-5]?[0-9]", "S": "[0-5]?[0-9]"}
_ISO_CLOCK = "([T ]([01][0-9]|2[0-3])(:[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,9})?)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"


def finding_sql(attribute: str, schema: Schema, table: str | tuple[str, ...] | None = None) -> str:
    """A SELECT of the distinct offending cells, most frequent first; `table` is a name, its parts, or a file's path."""
    found = schema[attribute]
    if not found.modelled:
        raise UsageError(f"{attribute!r} is kind {found.kind!r}: its cells are never read", attribute=attribute)
    column = _name(attribute)
    cell = f"COALESCE(CAST({column} AS VARCHAR), '')"
    return (
        f"SELECT {column}, COUNT(*) AS cells\nFROM {_table(table or schema.name, schema)}\n"
        f"WHERE {_offends(found, cell, schema.csv.decimal)}\nGROUP BY {column}\nORDER BY cells DESC;"
    )


def _offends(attribute: Attribute, cell: str, decimal: str) -> str:
    domain = attribute.domain
    if attribute.other is not None:
        return "FALSE"  # `other` takes every undeclared cell: none can offend
    if isinstance(domain, Categories):
        return _not_in(cell, domain.values + attribute.missing)
    if isinstance(domain, Booleans):
        return _not_in(cell, domain.true + domain.false + attribute.missing)
    assert isinstance(domain, Intervals)
    pattern = cell_pattern(domain, decimal)
    wrong = f"TRY_STRPTIME({cell}, {_text(domain.format or '')}) IS NULL"  # a format only DuckDB can check
    if pattern is not None:
        wrong = f"NOT ({cell} ~ {_text(pattern)})"
    return f"{wrong}\n  AND {_not_in(cell, attribute.missing)}" if attribute.missing else wrong


def cell_pattern(domain: Intervals, decimal: str) -> str | None:
    """A regular expression for the cells that fit, or None for a format that has names or two-digit years in it."""
    if domain.kind == "integer":
        return f"^{_SPACE}[+-]?[0-9]+({_literal(decimal)}0*)?{_SPACE}$"
    if domain.kind == "number":
        point = _literal(decimal)
        return f"^{_SPACE}[+-]?([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?{_SPACE}$"
    if domain.format is None:
        days = "|".join("-".join(parts).replace("0?", "0") for parts in _CALENDAR)
        return f"^({days}){_ISO_CLOCK if domain.kind == 'datetime' else ''}$"
    if not {"Y", "m", "d"} <= set(parts := re.findall("%(.)", domain.format)) <= {"Y", "m", "d", *_CLOCK}:
        return None
    if len(set(parts)) != len(parts):
        return None
    return f"^({'|'.join(_rendered(domain.format, *day) for day in _CALENDAR)})$"


def _rendered(format: str, year: str, month: str, day: str) -> str:
    parts = {"Y": year, "m": month, "d": day, **_CLOCK}
    pieces = re.split("%(.)", format)
    return "".join(parts[piece] if at % 2 else "".join(map(_literal, piece)) for at, piece in enumerate(pieces))


def _literal(character: str) -> str:
    return f"\\{character}" if character in r"\.^$*+?()[]{}|" else character


def _not_in(cell: str, texts: tuple[str, ...]) -> str:
    return f"{cell} NOT IN ({', '.join(map(_text, dict.fromkeys(texts)))})"


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _table(table: str | tuple[str, ...], schema: Schema) -> str:
    dialect = schema.csv
    if isinstance(table, tuple):
        return ".".join(map(_name, table))
    name = table.lower()
    if name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        tabs = ".tsv" in name[-7:] and dialect.delimiter == ","
        delimiter = "\\t" if tabs or dialect.delimiter == "\t" else dialect.delimiter
        encoding = "" if dialect.encoding.lower().startswith("utf") else f", encoding = {_text(dialect.encoding)}"
        names = "" if dialect.header else f", names = [{', '.join(map(_text, schema.columns))}]"
        header = f"header = {str(dialect.header).lower()}{names}"
        file = _text(duckdb_pattern(table))
        return f"read_csv({file}, {header}, all_varchar = true, delim = {_text(delimiter)}{encoding})"
    if name.endswith(".pq"):
        return f"read_parquet({_text(duckdb_pattern(table))})"
    return _text(duckdb_pattern(table)) if name.endswith(".parquet") else _name(table)
