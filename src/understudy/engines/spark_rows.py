"""Rows in Spark: a Parquet path or a catalog table, coded once into a private Parquet copy that every scan reads.

The copy is the snapshot: a cached frame would be computed again from the source after a worker is lost.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from understudy.engines.addresses import names_of
from understudy.engines.scratch import Scratch
from understudy.engines.sql import KEPT, Integers
from understudy.engines.sql_coding import Column
from understudy.engines.sql_dialects import SparkSyntax
from understudy.engines.trust import Types
from understudy.errors import DataError, UnderstudyError, UsageError, import_extra
from understudy.schema.scales.sql_types import Type, type_of
from understudy.undo import undone_on_error

FOLDER = "spark.understudy.folder"
_CONFIGURATION = {
    "spark.ui.showConsoleProgress": "false", "spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true", "spark.sql.variable.substitute": "false", "spark.sql.shuffle.partitions": "16",
    "spark.sql.parser.escapedStringLiterals": "false",
}  # fmt: skip


class SparkRows:
    """A session of its own; an application that runs already is used and left running."""

    name = "spark"

    def __init__(self, data: str, master: str | None, types: Types | None = None) -> None:
        self.syntax = SparkSyntax()
        self.trust: Types = types or ("inferred" if _is_path(data) else "declared")
        self._data = data
        self._copy: tuple[Any, Any] | None = None
        self._scratch: Scratch | None = None
        self._owned = False
        self._session: Any = None
        with undone_on_error(self.close):
            with self._told("started"):
                self._owned, self._session = _session(master)
            self._frame = self._read()

    def _read(self) -> Any:
        session = self._session
        if _is_path(self._data):
            if self._data.lower().endswith((".csv", ".tsv", ".gz")):
                raise UsageError(
                    "Spark reads Parquet files and catalog tables here: convert the file, or leave --engine"
                )
            if "://" not in self._data and not Path(self._data).exists():
                raise UsageError(f"there is no file {self._data!r}")
            with self._told("opened"):
                frame = session.read.parquet(_one_path(self._data))
        else:
            with self._told("opened"):
                frame = session.table(".".join(map(self.syntax.quoted, names_of(self._data))))
        frame.createOrReplaceTempView(self.relation)
        return frame

    relation = "understudy_source"

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        declared = [(field.name, field.dataType.simpleString()) for field in self._frame.schema.fields]
        return tuple(Column(name, _type(type), type) for name, type in declared)

    def keep(self, coded: str, name: str = KEPT) -> str:
        """Write the codes, counting the rows that are written; a copy that other machines cannot see is noticed."""
        from pyspark.sql import Observation
        from pyspark.sql.functions import count, lit

        written = Observation("written")
        folder = self._folder()
        with self._told("coded"):
            frame = self._session.sql(f"SELECT * FROM {coded}").observe(written, count(lit(1)).alias("rows"))
            frame.write.mode("error").option("compression", "zstd").parquet(f"{folder}/coded")
            self._session.read.parquet(f"{folder}/coded").createOrReplaceTempView(name)
            (found,) = self.row(f"SELECT count(*) FROM {name}")
        if found != written.get["rows"]:
            raise UnderstudyError(
                f"the workers do not share this machine's folders, so the coded copy is not whole: set {FOLDER} to a "
                "folder that all of them reach (hdfs://…, or a mounted one)"
            )
        return name

    def _folder(self) -> str:
        """Return a private folder where the configuration says, else a scratch folder of this machine."""
        shared = self._session.conf.get(FOLDER, None)
        if shared is None:
            self._scratch = Scratch()
            return self._scratch.path.as_uri()
        jvm = self._session._jvm
        with self._told("coded"):
            path = jvm.org.apache.hadoop.fs.Path(f"{shared.rstrip('/')}/understudy-{os.urandom(8).hex()}")
            system = path.getFileSystem(self._session._jsc.hadoopConfiguration())
            private = jvm.org.apache.hadoop.fs.permission.FsPermission("700")
            system.mkdirs(path, private)
            system.setPermission(path, private)  # mkdirs is subject to the umask
            self._copy = system, path
            return str(path.toString())

    def row(self, sql: str) -> tuple[int | None, ...]:
        with self._told("counted"):
            return tuple(self._session.sql(sql).collect()[0])

    def counts(self, sql: str) -> tuple[Integers, Integers]:
        with self._told("counted"), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of pandas' version, which is not used here
            found = self._session.sql(sql).toArrow()
        keys, counts = (found.column(name).to_numpy().astype(np.int64) for name in ("k", "n"))
        return keys, counts

    def texts(self, sql: str) -> list[tuple[str, int]]:
        with self._told("counted"):
            return [(str(row["k"]), int(row["n"])) for row in self._session.sql(sql).collect()]

    def close(self) -> None:
        if self._copy is not None:
            system, path = self._copy
            with suppress(Exception):  # a cluster that is gone cannot remove its folder
                system.delete(path, True)
            self._copy = None
        if self._session is not None:
            with suppress(Exception):
                for view in ("understudy_source", KEPT):
                    self._session.catalog.dropTempView(view)
            if self._owned:
                with suppress(Exception):
                    self._session.stop()
            self._session = None
        if self._scratch is not None:
            self._scratch.close()

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Pass on only the kind of Spark's errors: their text may hold a cell or an address."""
        try:
            yield
        except UnderstudyError:
            raise
        except Exception as error:
            condition = getattr(error, "getCondition", lambda: None)() or type(error).__name__
            if what == "started":
                raise UsageError(
                    f"Spark cannot be started ({condition}): it needs Java 17 or newer (JAVA_HOME) and a master that "
                    "answers"
                ) from None
            if what == "opened":
                raise UsageError(
                    f"Spark cannot open the data ({condition}): name a Parquet path or a catalog table"
                ) from None
            if what == "coded" and _full(error):
                raise UsageError(
                    "the coded copy of the table has no room in its folder: the disk is full. Nothing was charged. "
                    f"Make room, or name a folder on a larger disk: {FOLDER} in Spark's configuration, else TMPDIR"
                ) from None
            if "CAST" in condition or "ARITHMETIC" in condition:
                raise DataError(f"Spark could not code a column of the data ({condition})") from None
            raise UnderstudyError(
                f"the data could not be {what} by Spark ({condition}). Nothing was released; run the same command to "
                "go on"
            ) from None


def _session(master: str | None) -> tuple[bool, Any]:
    SparkSession = import_extra("pyspark.sql", "spark", "the engine spark needs one more package").SparkSession
    active = SparkSession.getActiveSession()
    if active is not None:
        if master is not None and active.sparkContext.master != master:
            raise UsageError("another Spark application runs in this process: stop it, or leave the master out")
        session = active.newSession()
        for key, value in _CONFIGURATION.items():
            if key.startswith("spark.sql."):
                session.conf.set(key, value)
        return False, session
    builder = SparkSession.builder.appName("understudy")
    builder = builder if master is None else builder.master(master)
    for key, value in _CONFIGURATION.items():
        builder = builder.config(key, value)
    with _own_interrupt():
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    for name in (None, "py4j.clientserver", "py4j.java_gateway"):  # a filter is not asked for what a child logs
        logging.getLogger(name).addFilter(_not_of_py4j)
    return True, session


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Put back the handler of Ctrl-C that was there: PySpark's would break the line to Java that `close` needs."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if before is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """Return whether a record is not Py4J's, which logs, by its own loggers or at the root, what is raised as well."""
    return record.module not in ("java_gateway", "clientserver")


def _full(error: Exception) -> bool:
    """Return whether a write failed for want of room, on a disk or by a quota.

    The text is looked at and never passed on.
    """
    return any(words in str(error) for words in ("No space left on device", "uota exceeded", "QuotaExceeded"))


def _one_path(data: str) -> str:
    """Return a file or folder as Spark takes it, without a character that would make its name a pattern."""
    name = data if "://" in data else f"file://{Path(data).resolve().as_posix()}"
    return re.sub(r"([\\*?\[\]{},])", r"\\\1", name)


def _is_path(data: str) -> bool:
    return "/" in data or data.lower().endswith((".parquet", ".pq", ".csv", ".tsv", ".gz"))


def _type(declared: str) -> Type | None:
    if declared.startswith("decimal"):
        return "decimal"
    return "text" if declared.startswith(("char", "varchar", "string")) else type_of("spark", declared)
