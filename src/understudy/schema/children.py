"""Child tables: rows that belong to a row of another table by a key, `[tables.NAME]` of a schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.errors import SchemaError, did_you_mean
from understudy.schema.scales.scale import check_keys

if TYPE_CHECKING:
    from understudy.schema.table import Schema

CHILD_KEYS = ("parent", "key", "references", "at_most", "file", "csv", "attributes")
MAX_CHILDREN = 1000  # of one row in one table: beyond it the noise drowns any table
MAX_TABLES = 50


@dataclass(frozen=True)
class ChildTable:
    """A table whose rows belong to rows of another one.

    Args:
        name: of the table.
        parent: the name of the table that its rows belong to; the schema's own name is that of the root.
        key: the column of kind "id" that says which row of the parent each row belongs to.
        references: the column of the parent that it is compared with.
        at_most: how many rows of one parent are used.
        schema: its columns, and how its file is written.
        file: the name of its file in the folder; the default is the table's name with any suffix that is read.
    """

    name: str
    parent: str
    key: str
    references: str
    at_most: int
    schema: Schema
    file: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the keys of the schema file, without `csv` and `attributes`."""
        body: dict[str, Any] = {"parent": self.parent, "key": self.key, "references": self.references}
        return body | {"at_most": self.at_most} | ({} if self.file is None else {"file": self.file})


def read_child(name: str, body: Any, schema_of: Callable[[str, Mapping[str, Any]], Schema]) -> ChildTable:
    """Return what `[tables.NAME]` says; `schema_of` reads its `csv` and `attributes`."""
    where = f"[tables.{name}]"
    check_keys(body, CHILD_KEYS, where)
    for key in ("parent", "key"):
        if not isinstance(body.get(key), str):
            of = "the table that its rows belong to" if key == "parent" else "the column that says to which row of it"
            raise SchemaError(f"{where} needs `{key}`, {of}")
    for key in ("references", "file"):
        if key in body and not isinstance(body[key], str):
            raise SchemaError(f"`{key}` in {where} must be a text")
    most = body.get("at_most")
    if type(most) is not int or not 1 <= most <= MAX_CHILDREN:
        given = "" if most is None else f", and it is {most!r}"
        raise SchemaError(
            f"{where} needs `at_most`, how many rows of one row of its parent are used: a whole number from 1 to "
            f"{MAX_CHILDREN:,}{given}"
        )
    try:
        schema = schema_of(name, body)
    except SchemaError as error:
        raise SchemaError(f"{where}: {error.message}", attribute=error.attribute) from None
    references = body.get("references", body["key"])
    return ChildTable(name, body["parent"], body["key"], references, most, schema, body.get("file"))


def check_tables(schema: Schema) -> None:
    """Refuse child tables that do not hang together, or do not fit the rest of the schema."""
    if schema.file is not None and not schema.tables:
        raise SchemaError("`file` in [table] goes with [tables.NAME]: a single table is named on the command line")
    if not schema.tables:
        return
    _check_unit(schema)
    if len(schema.tables) > MAX_TABLES:
        raise SchemaError(f"the schema has more than {MAX_TABLES} tables")
    known: dict[str, Schema] = {schema.name: schema}
    for child in schema.tables:
        if child.name in known:
            raise SchemaError(f"two tables are called {child.name!r}")
        known[child.name] = child.schema
    for name, file in [(schema.name, schema.file), *((c.name, c.file) for c in schema.tables)]:
        _check_name(name, file)
    for child in schema.tables:
        _check_parent(child, known)
    paths = [path_to(schema, child.name) for child in schema.tables]  # a circle is refused before its keys
    for child in (path[-1] for path in paths):
        _check_key(child, known)
    for child in schema.tables:
        if charged(schema, child.name) > 10**6:
            raise SchemaError(
                f"the product of `at_most` down to {child.name!r} is more than 1,000,000: nothing is left"
            )
    for name, own in known.items():
        _check_columns(name, own)


def charged(schema: Schema, name: str) -> int:
    """Return how many rows of a table one row of the root can have: the product of `at_most` down to it."""
    return math.prod(child.at_most for child in path_to(schema, name))


def path_to(schema: Schema, name: str) -> tuple[ChildTable, ...]:
    """Return the child tables from below the root down to this one; refuse a circle of parents."""
    by_name, found = {child.name: child for child in schema.tables}, []
    while name != schema.name:
        child = by_name[name]
        if child in found:
            raise SchemaError(
                f"the parents of {child.name!r} lead round in a circle: every table belongs, in the end, to the rows "
                f"of {schema.name!r}, which is the table of [table]"
            )
        found.append(child)
        name = child.parent
    return tuple(reversed(found))


def _check_unit(schema: Schema) -> None:
    if schema.neighbours != "add-remove":
        raise SchemaError(
            f"with [tables.NAME] a neighbour is a row of {schema.name!r} that is there, with all that belongs to it, "
            'or not: write neighbours = "add-remove" in [table] and leave `rows` out'
        )
    if schema.rows_per_person != 1:
        raise SchemaError(
            f"with [tables.NAME] the promise is for one row of {schema.name!r}, and `at_most` of each table says how "
            "much belongs to it: leave `rows_per_person` out"
        )
    for given, what in ((schema.person, "[person]"), (schema.rules, "[[rules]]"), (schema.uses, "[[uses]]")):
        if given:
            raise SchemaError(f"{what} and [tables.NAME] do not go together: leave one of them out")


def _check_name(name: str, file: str | None) -> None:
    for text in (name, file or name):
        if not text.strip() or "@" in text or any(mark in text for mark in "/\\\0") or text.startswith("."):
            raise SchemaError(
                f"{text!r} cannot be the name of a table or its file: it has an @ or a slash, begins with a point, or "
                "is empty"
            )


def _check_parent(child: ChildTable, known: Mapping[str, Schema]) -> None:
    where = f"[tables.{child.name}]"
    if child.parent not in known:
        near = did_you_mean(child.parent, [name for name in known if name != child.name])
        raise SchemaError(f"`parent` of {where} is {child.parent!r}, and there is no such table. {near}")


def _check_key(child: ChildTable, known: Mapping[str, Schema]) -> None:
    where = f"[tables.{child.name}]"
    for column, table in ((child.key, child.name), (child.references, child.parent)):
        attribute = known[table].find(column)
        if attribute is None:
            near = did_you_mean(column, [a.name for a in known[table].attributes])
            raise SchemaError(f"{where} is joined by {column!r}, which {table!r} does not declare. {near}")
        if not attribute.is_id:
            raise SchemaError(
                f'{where} is joined by {column!r} of {table!r}, which must be of kind = "id": its values are compared, '
                "and never shown",
                attribute=column,
            )


def _check_columns(name: str, own: Schema) -> None:
    for attribute in own.attributes:
        if "@" in attribute.name:
            raise SchemaError(f"with [tables.NAME] no name of a column has an @: rename {attribute.name!r}")
        if attribute.fine:
            raise SchemaError(f"`fine` of {attribute.name!r} does not go with [tables.NAME]", attribute=attribute.name)
        if own.tables == () and attribute.name in own.id_patterns:
            raise SchemaError(
                f"ids of {name!r} are fresh whole numbers: leave `pattern` of {attribute.name!r} out. The root may "
                "have one",
                attribute=attribute.name,
            )
    own.check_discovered("a schema with [tables.NAME]")
