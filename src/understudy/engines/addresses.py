"""An address: where a table is, as postgresql://host/db?table=schema.people or duckdb:///file.db?table=people.

It may hold a password, so it has no text of its own: an error names the table at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from understudy.errors import UsageError

_SCHEME = re.compile("([A-Za-z][A-Za-z0-9+.-]+)://")
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
SCHEMES = {"postgresql": "postgresql", "postgres": "postgresql", "duckdb": "duckdb"}


@dataclass(frozen=True)
class Address:
    """A table, and what a driver needs to reach it."""

    engine: str
    table: tuple[str, ...]
    place: str = field(repr=False)  # a connection string without the table, or a file's path


def scheme_of(data: Any) -> str | None:
    """Return `postgresql` of postgresql://…, None for paths and frames."""
    found = _SCHEME.match(data) if isinstance(data, str) else None
    return found[1].lower() if found else None


def address_of(data: str) -> Address:
    """Split the address into parts, or refuse it without repeating it."""
    scheme = scheme_of(data)
    engine = SCHEMES.get(scheme or "")
    if engine is None:
        raise UsageError(f"no engine reads {scheme}:// addresses; known: postgresql://, duckdb://")
    try:
        parts = urlsplit(data)
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        raise UsageError(f"this {scheme}:// address cannot be read: is a character in it that needs a %?") from None
    tables = [value for key, value in query if key == "table"]
    if len(tables) != 1 or not tables[0]:
        raise UsageError(f"a {scheme}:// address names one table: {scheme}://…?table=people, or …?table=schema.people")
    rest = [(key, value) for key, value in query if key != "table"]
    if engine == "duckdb":
        if rest or parts.netloc or not parts.path.strip("/"):
            raise UsageError("a DuckDB address is duckdb:///file.db?table=people, with four slashes for a path from /")
        return Address(engine, names_of(tables[0]), unquote(parts.path[1:]))
    more = "?" + urlencode(rest, quote_via=quote) if rest else ""
    return Address(engine, names_of(tables[0]), f"postgresql://{parts.netloc}{parts.path}{more}")


def table_addresses(data: str, names: Iterable[str]) -> dict[str, str]:
    """Return the address of each of several tables of a database, which is named without a table or as `schema.*`."""
    scheme, (base, _, rest) = scheme_of(data), data.partition("?")
    query = parse_qsl(rest, keep_blank_values=True)
    tables = [value for key, value in query if key == "table"]
    place = names_of(tables[0]) if len(tables) == 1 and tables[0] else ("*",)
    if len(tables) > 1 or place[-1] != "*":
        raise UsageError(
            f"the schema has several tables, which are found by their names: leave `table` out of the {scheme}:// "
            "address, or name the schema that they are in: ?table=sales.*"
        )
    more = [(key, value) for key, value in query if key != "table"]
    quoted = {name: ".".join('"' + part.replace('"', '""') + '"' for part in (*place[:-1], name)) for name in names}
    return {name: f"{base}?{urlencode([*more, ('table', table)], quote_via=quote)}" for name, table in quoted.items()}


def names_of(table: str) -> tuple[str, ...]:
    """Split people, schema.people or "odd.name" into its parts."""
    found, at = [], 0
    while match := _PART.match(table, at):
        found.append(match[1].replace('""', '"') if match[1] is not None else match[2])
        at = match.end()
        if at == len(table):
            return tuple(found)
        if table[at] != ".":
            break
        at += 1
    raise UsageError(f'{table!r} is no table\'s name; write people, schema.people or "odd name".people')


def duckdb_pattern(path: str) -> str:
    """Return a pattern that DuckDB matches with this file alone: it takes *, ? and [ in a file's name for wildcards."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in path)
