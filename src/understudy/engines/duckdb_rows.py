"""Rows in DuckDB: a table of a database file, or a Parquet file. Coded once into a private temporary table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from understudy.engines.addresses import Address, duckdb_pattern
from understudy.engines.scratch import Scratch
from understudy.engines.sql import KEPT, Integers
from understudy.engines.sql_coding import Column
from understudy.engines.sql_dialects import DuckDBSyntax
from understudy.engines.trust import Types
from understudy.errors import DataError, UnderstudyError, UsageError, import_extra
from understudy.schema.scales.sql_types import Type, type_of
from understudy.undo import undone_on_error


class DuckDBRows:
    """One read-only connection, one transaction."""

    name = "duckdb"

    def __init__(self, source: Address | Path, trust: Types = "declared") -> None:
        duckdb = _driver()
        self.syntax = DuckDBSyntax()
        self.trust = trust
        self._source = source
        self._scratch = Scratch()
        self._connection: Any = None
        with undone_on_error(self.close), self._told("opened"):
            file = ":memory:"
            if isinstance(source, Address):
                if not Path(source.place).is_file():
                    raise UsageError(f"there is no DuckDB file {source.place!r}")
                file = str(Path(source.place).absolute())  # md:x and :memory: are names of files here
            self._connection = duckdb.connect(file, read_only=isinstance(source, Address))
            for setting, value in (("temp_directory", str(self._scratch.path)), ("TimeZone", "UTC")):
                self._connection.execute(f"SET {setting} = {self.syntax.text(value)}")
            self._connection.execute("SET enable_progress_bar = false")
            self._connection.execute("BEGIN TRANSACTION")
            if isinstance(source, Path):
                self._check_name(source)

    @property
    def relation(self) -> str:
        if isinstance(self._source, Path):
            return f"read_parquet({self.syntax.text(self._pattern(self._source))}, hive_partitioning = false)"
        return ".".join(map(self.syntax.quoted, self._source.table))

    def _pattern(self, path: Path) -> str:
        return duckdb_pattern(str(path.absolute()))

    def _check_name(self, path: Path) -> None:
        """Refuse a file that no pattern of DuckDB means alone: one with a backslash and a wildcard in its name."""
        found = self._connection.execute("SELECT file FROM glob(?)", [self._pattern(path)]).fetchall()
        if [name for (name,) in found] != [str(path.absolute())]:
            raise UsageError(
                f"DuckDB cannot be told to read the file {path.name!r} and no other: rename it or its folder, or leave "
                "--engine out"
            )

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        with self._told("described"):
            found = self._connection.execute(f"DESCRIBE SELECT * FROM {self.relation}").fetchall()
        return tuple(Column(name, _type(declared), declared) for name, declared, *_ in found)

    def beside(self, address: Address) -> DuckDBRows:
        """Return another table of the same file, in the same transaction."""
        other = copy(self)
        other._source = address
        other.__dict__.pop("columns", None)
        return other

    def keep(self, coded: str, name: str = KEPT) -> str:
        with self._told("coded"):
            self._connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {coded}")
        return name

    def row(self, sql: str) -> tuple[int | None, ...]:
        with self._told("counted"):
            found: tuple[int | None, ...] = self._connection.execute(sql).fetchone()
        return found

    def counts(self, sql: str) -> tuple[Integers, Integers]:
        with self._told("counted"):
            found = self._connection.execute(sql).fetchnumpy()
        return np.asarray(found["k"], dtype=np.int64), np.asarray(found["n"], dtype=np.int64)

    def texts(self, sql: str) -> list[tuple[str, int]]:
        with self._told("counted"):
            return [(text, int(count)) for text, count in self._connection.execute(sql).fetchall()]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._scratch.close()

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Pass on only the kind of a driver's error: its text may hold a cell."""
        duckdb = _driver()
        try:
            yield
        except duckdb.CatalogException:
            name = ".".join(self._source.table) if isinstance(self._source, Address) else self._source.name
            raise UsageError(f"the database has no table or view {name!r}") from None
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            kind = type(error).__name__
            if what in ("opened", "described"):
                raise DataError(
                    f"the data cannot be opened by DuckDB ({kind}): it is damaged, of another format, or another "
                    "process is writing to it"
                ) from None
            raise UnderstudyError(f"the data could not be {what} by DuckDB ({kind}); is the disk full?") from None
        except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
            raise DataError(
                f"DuckDB could not code a column of the data ({type(error).__name__}): look at times and numbers "
                "beyond the range of its types"
            ) from None
        except duckdb.Error as error:
            raise UnderstudyError(f"the data could not be {what} by DuckDB ({type(error).__name__})") from None


def _type(declared: str) -> Type | None:
    if declared.startswith("DECIMAL"):
        return "decimal"
    return "text" if declared.startswith("ENUM") else type_of("duckdb", declared)


def _driver() -> Any:
    return import_extra("duckdb", "duckdb", "the engine duckdb needs one more package")
