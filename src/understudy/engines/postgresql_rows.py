"""Rows in PostgreSQL: one connection, one read-only snapshot, nothing created on the server.

Every scan codes the rows again, since there is nowhere to keep codes; SELECT on the table is all the privilege needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from understudy.engines.addresses import Address
from understudy.engines.sql import KEPT, Integers
from understudy.engines.sql_coding import Column
from understudy.engines.sql_dialects import PostgreSQLSyntax
from understudy.engines.trust import Types
from understudy.errors import DataError, UnderstudyError, UsageError, import_extra
from understudy.schema.scales.sql_types import type_of
from understudy.undo import undone_on_error

# jit stays as the server has it: 95 tables of 1,000,000 rows cost it 17.9 to 18.5 s of CPU without and 14.6 to 17.7 s
# with it (three runs each, in turn); 100,000 rows the same either way
_SETTINGS = (
    "SET LOCAL TIME ZONE 'UTC'", "SET LOCAL standard_conforming_strings = on", "SET LOCAL work_mem = '64MB'",
    "SET LOCAL statement_timeout = 0", "SET LOCAL idle_in_transaction_session_timeout = 0",
)  # fmt: skip
_HEADER, _TRAILER = 19, 2  # bytes around the rows of a binary COPY
_RECORD = np.dtype([("fields", ">i2"), ("size_k", ">i4"), ("k", ">i8"), ("size_n", ">i4"), ("n", ">i8")])


class PostgreSQLRows:
    """The snapshot is taken by the first statement and lasts as long as the connection."""

    name = "postgresql"
    trust: Types = "declared"

    def __init__(self, address: Address) -> None:
        psycopg = _driver()
        self.syntax = PostgreSQLSyntax()
        self._name(address)
        self._connection: Any = None
        with undone_on_error(self.close), self._told():
            self._connection = psycopg.connect(address.place, application_name="understudy")
            self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            self._connection.read_only = True
            for setting in _SETTINGS:
                self._connection.execute(setting)

    def _name(self, address: Address) -> None:
        self.relation = ".".join(map(self.syntax.quoted, address.table))
        self._table = ".".join(address.table)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        with self._told():
            described = self._connection.execute(f"SELECT * FROM {self.relation} LIMIT 0").description
            oids = sorted({column.type_code for column in described})
            found = self._connection.execute(
                "SELECT oid, typname, typtype FROM pg_catalog.pg_type WHERE oid = ANY(%s)", (oids,)
            ).fetchall()
        names = {oid: name for oid, name, _ in found}
        texts = {oid for oid, name, kind in found if kind in ("e", b"e") or name == "citext"}
        types = {oid: "text" if oid in texts else type_of(self.name, oid) for oid in oids}
        return tuple(Column(c.name, types[c.type_code], names.get(c.type_code, "?")) for c in described)

    def beside(self, address: Address) -> PostgreSQLRows:
        """Return another table of the same database, in the same snapshot."""
        other = copy(self)
        other._name(address)
        other.__dict__.pop("columns", None)
        return other

    def keep(self, coded: str, name: str = KEPT) -> str:
        return coded

    def row(self, sql: str) -> tuple[int | None, ...]:
        with self._told():
            found: tuple[int | None, ...] = self._connection.execute(sql).fetchone()
        return found

    def counts(self, sql: str) -> tuple[Integers, Integers]:
        """Return keys and counts, read by a binary COPY as one array: there may be millions."""
        statement = f"COPY (SELECT CAST(k AS bigint), n FROM ({sql}) counted) TO STDOUT (FORMAT BINARY)"
        with self._told(), self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            data = b"".join(copy)
        found = np.frombuffer(data, dtype=_RECORD, offset=_HEADER, count=(len(data) - _HEADER) // _RECORD.itemsize)
        if len(data) - _HEADER - found.nbytes != _TRAILER or not (found["size_k"] == 8).all():
            raise UnderstudyError("PostgreSQL answered in an unknown form: nothing was released")
        return found["k"].astype(np.int64), found["n"].astype(np.int64)

    def texts(self, sql: str) -> list[tuple[str, int]]:
        with self._told():
            return [(text, int(count)) for text, count in self._connection.execute(sql).fetchall()]

    def close(self) -> None:
        if self._connection is not None:
            with suppress(Exception):  # a connection that was cut cannot be closed in good form
                self._connection.rollback()
            self._connection.close()
            self._connection = None

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Pass on only the kind of a driver's error: its text may hold a cell, a host or a password."""
        psycopg = _driver()
        errors = psycopg.errors
        try:
            yield
        except (errors.UndefinedTable, errors.InvalidSchemaName):
            raise UsageError(f"the database has no table or view {self._table!r}; is its schema named?") from None
        except errors.InsufficientPrivilege:
            raise UsageError(
                f"this user may not read {self._table!r}: GRANT SELECT on it is all that is needed"
            ) from None
        except errors.DataError as error:
            raise DataError(
                f"PostgreSQL could not code a column of {self._table!r} (SQLSTATE {error.sqlstate}): look at numbers "
                "beyond the range of double precision"
            ) from None
        except psycopg.OperationalError as error:
            if self._connection is None:
                raise UsageError(_unreachable(error)) from None
            raise UnderstudyError(
                f"the connection to PostgreSQL was lost{_state(error)}, and with it the snapshot. Nothing was released "
                "and what was drawn is in the ledger's journal. Run the same command to go on: drawn outcomes are "
                "replayed, and the rest is counted, if the table has the same rows then"
            ) from None
        except psycopg.Error as error:
            if self._connection is None:
                raise UsageError("this postgresql:// address cannot be read: look at its parameters") from None
            raise UnderstudyError(f"PostgreSQL refused a statement{_state(error)}; nothing was released") from None


def _state(error: Any) -> str:
    return f" (SQLSTATE {error.sqlstate})" if error.sqlstate else ""


def _unreachable(error: Any) -> str:
    password = "password" in str(error).lower() or "authentication" in str(error).lower()
    reason = "it refused this user or password" if password else "no server answered, or it has no such database"
    return (
        f"PostgreSQL cannot be reached: {reason}. Look at the address; a password comes from PGPASSWORD, ~/.pgpass or "
        "a service file"
    )


def _driver() -> Any:
    return import_extra("psycopg", "postgres", "the engine postgresql needs one more package")
