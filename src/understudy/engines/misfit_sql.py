"""Finding: the SQL a custodian runs on their own database to see the cells that do not fit an attribute.

PostgreSQL and DuckDB both read it. It is built from the schema alone; its result is private to the custodian.
"""

from __future__ import annotations

from understudy.engines.addresses import duckdb_pattern
from understudy.errors import UsageError
from understudy.schema import Attribute, Schema
from understudy.schema.delimited_names import has_tabs, is_delimited


def finding_sql(attribute: str, schema: Schema, table: str | tuple[str, ...] | None = None) -> str:
    """Return a SELECT of the distinct offending cells, most frequent first.

    `table` is a name, its parts, or a file's path.
    """
    found = schema[attribute]
    if not found.modelled:
        raise UsageError(f"{attribute!r} is kind {found.kind!r}: its cells are never read", attribute=attribute)
    column = _name(attribute)
    cell = f"COALESCE(CAST({column} AS VARCHAR), '')"
    cell = f"TRIM({cell})" if schema.csv.trim else cell
    return (
        f"SELECT {column}, COUNT(*) AS cells\nFROM {_table(table or schema.name, schema)}\n"
        f"WHERE {_offends(found, cell, schema.csv.decimal)}\nGROUP BY {column}\nORDER BY cells DESC;"
    )


def _offends(attribute: Attribute, cell: str, decimal: str) -> str:
    if attribute.other is not None:
        return "FALSE"  # `other` takes every undeclared cell: none can offend
    if (domain := attribute.intervals) is None:
        return _not_in(cell, attribute.domain.texts + attribute.missing)
    pattern = domain.scale.cell_pattern(domain.format, decimal)
    wrong = f"TRY_STRPTIME({cell}, {_text(domain.format or '')}) IS NULL"  # a format only DuckDB can check
    if pattern is not None:
        wrong = f"NOT ({cell} ~ {_text(pattern)})"
    return f"{wrong}\n  AND {_not_in(cell, attribute.missing)}" if attribute.missing else wrong


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
    if is_delimited(name):
        tabs = has_tabs(name) and dialect.delimiter == ","
        delimiter = "\\t" if tabs or dialect.delimiter == "\t" else dialect.delimiter
        encoding = "" if dialect.encoding.lower().startswith("utf") else f", encoding = {_text(dialect.encoding)}"
        names = "" if dialect.header else f", names = [{', '.join(map(_text, schema.columns))}]"
        header = f"header = {str(dialect.header).lower()}{names}"
        file = _text(duckdb_pattern(table))
        return f"read_csv({file}, {header}, all_varchar = true, delim = {_text(delimiter)}{encoding})"
    if name.endswith(".pq"):
        return f"read_parquet({_text(duckdb_pattern(table))})"
    return _text(duckdb_pattern(table)) if name.endswith(".parquet") else _name(table)
