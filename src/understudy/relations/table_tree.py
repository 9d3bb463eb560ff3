"""A tree of tables: what is derived from tables with foreign keys, as public schemas.

Of the root, a row for each of its rows: its attributes, and how many rows belong to it in each child table. Of a child,
a row for each of its rows that is used: what is known of the rows it belongs to, its own attributes, and how many rows
belong to it. One row of the root has one row in the first, and in a child as many as the product of `at_most` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from understudy.relations.panel import numbered
from understudy.schema import Attribute, Schema
from understudy.schema.children import ChildTable, charged, path_to


@dataclass(frozen=True)
class Branch:
    """A table of the tree: how it is read, and how it is counted.

    Args:
        name: of the table.
        child: what `[tables.NAME]` says of it; None for the root.
        schema: of its rows, with bins for every attribute.
        derived: of what is counted.
        given: the attributes of `derived` that are known before a row is drawn.
    """

    name: str
    child: ChildTable | None
    schema: Schema
    derived: Schema
    given: tuple[str, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """Return the attributes of `derived` that are drawn."""
        return tuple(name for name in self.derived.names if name not in self.given)


@dataclass(frozen=True)
class TableTree:
    """What follows from a schema with `[tables.NAME]`; `schema` is that of the root, with bins for every attribute."""

    schema: Schema

    @staticmethod
    def of(declared: Schema) -> TableTree:
        """Return the tree of a schema, in which bins that nobody declared are public ones."""
        assert declared.tables
        children = tuple(replace(c, schema=replace(c.schema, text=None).with_public_bins()) for c in declared.tables)
        return TableTree(replace(declared, tables=children, text=None).with_public_bins())

    @property
    def root(self) -> Branch:
        return self.branches[self.schema.name]

    @cached_property
    def branches(self) -> dict[str, Branch]:
        """Return the tables by name, each after its parent."""
        found = {self.schema.name: self._branch(self.schema.name, None)}
        for child in sorted(self.schema.tables, key=lambda c: len(path_to(self.schema, c.name))):
            found[child.name] = self._branch(child.name, child)
        return found

    def children(self, name: str) -> tuple[ChildTable, ...]:
        """Return the tables whose rows belong to rows of this one, in the order of the schema."""
        return tuple(child for child in self.schema.tables if child.parent == name)

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return the tables that rows of this one belong to, the nearest first."""
        path = path_to(self.schema, name)
        return tuple(child.parent for child in reversed(path))

    def _schema_of(self, name: str) -> Schema:
        return self.schema if name == self.schema.name else next(c.schema for c in self.schema.tables if c.name == name)

    def _own(self, name: str) -> tuple[Attribute, ...]:
        """Return what a row of a table is counted by: its attributes, and how many rows belong to it."""
        counts = tuple(numbered(count_of(child.name), 0, child.at_most) for child in self.children(name))
        return (*self._schema_of(name).modelled, *counts)

    def _branch(self, name: str, child: ChildTable | None) -> Branch:
        own = self._own(name)
        given = tuple(
            replace(a, name=given_name(a.name, table)) for table in self.ancestors(name) for a in self._own(table)
        )
        plain = tuple(replace(a, read_from=None) for a in (*given, *own))
        rows, account = charged(self.schema, name), self.schema.account
        derived = Schema(f"{self.schema.name}@{name}", plain, None, "add-remove", rows, account)
        return Branch(name, child, self._schema_of(name), derived, tuple(a.name for a in given))


def count_of(child: str) -> str:
    """Return what the number of rows in a child table is called."""
    return f"@{child}"


def spoken_column(name: str) -> str:
    """Return a column or axis of `derived` in words for people: its own name is for files.

    >>> spoken_column("price"), spoken_column("region@accounts"), spoken_column("age@accounts@1")
    ('price', 'accounts.region', 'accounts.age, coarsely')
    >>> spoken_column("@items"), spoken_column("@items@orders")
    ('number of items', 'number of items of orders')
    """
    own, *marks = name.split("@")
    tables = [mark for mark in marks if not mark.isdigit()]
    if not own:
        return " of ".join(["number", *tables])
    words = f"{tables[0]}.{own}" if tables else own
    return f"{words}, coarsely" if marks and marks[-1].isdigit() else words


def given_name(attribute: str, table: str) -> str:
    """Return what an attribute of a table is called in tables whose rows belong to it."""
    return f"{attribute}@{table}"
