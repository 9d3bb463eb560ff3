"""The types of database columns that scales read, and what each database calls them.

A new database is an entry of `NATIVE`; a kind with a type of its own is a word in each.
"""

from __future__ import annotations

from typing import Literal

Type = Literal["text", "integer", "real", "double", "decimal", "boolean", "date", "timestamp", "instant", "time"]
NUMBERS: tuple[Type, ...] = ("integer", "real", "double", "decimal")
MOMENTS: tuple[Type, ...] = ("date", "timestamp", "instant")
UNLISTED: tuple[Type, ...] = ("time",)  # the types whose cells no list of texts names

# PostgreSQL's are the numbers of its catalogue. Types with parameters (decimals, enums) are read by the engines
NATIVE: dict[str, dict[Type, tuple[str | int, ...]]] = {
    "duckdb": {
        "text": ("VARCHAR", '"NULL"'),
        "integer": (
            "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
        ),
        "real": ("FLOAT",),
        "double": ("DOUBLE",),
        "boolean": ("BOOLEAN",),
        "date": ("DATE",),
        "timestamp": ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
        "instant": ("TIMESTAMP WITH TIME ZONE",),
        "time": ("TIME",),
    },
    "postgresql": {
        "text": (25, 1042, 1043, 18, 19),
        "integer": (20, 21, 23),
        "real": (700,),
        "double": (701,),
        "decimal": (1700,),
        "boolean": (16,),
        "date": (1082,),
        "timestamp": (1114,),
        "instant": (1184,),
        "time": (1083,),
    },
    "spark": {
        "text": ("string", "void"),
        "integer": ("tinyint", "smallint", "int", "bigint"),
        "real": ("float",),
        "double": ("double",),
        "boolean": ("boolean",),
        "date": ("date",),
        "timestamp": ("timestamp_ntz",),
        "instant": ("timestamp",),
    },
}  # fmt: skip


def type_of(database: str, native: str | int) -> Type | None:
    """Return the type that a database calls so, None for one that nothing reads."""
    return next((type for type, names in NATIVE[database].items() if native in names), None)
