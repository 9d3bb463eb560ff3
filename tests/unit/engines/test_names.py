"""Names are names: a file whose name looks like a pattern is read, and no other, by every engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from servers import need_spark
from understudy.engines.misfit_sql import finding_sql
from understudy.engines.opening import PrivateData, open_engine
from understudy.errors import UsageError
from understudy.schema import Attribute, Axis, Categories, Schema

NAMES = (
    "people[1].parquet", "people*.parquet", "people?.parquet", "**.parquet", "people{1,2}.parquet", "[!p]eople.parquet",
    "people 1.parquet", "people%201.parquet", "people'1.parquet", "~people.parquet", "people,1.parquet",
    "year=2024/people.parquet", "folder[1]/people.parquet", "p\u00e9ople.parquet", "$HOME.parquet", "#1.parquet",
)  # fmt: skip
DECOYS = ("people1.parquet", "people2.parquet", "eople.parquet", "people 1 .parquet", "folder1/people.parquet")
SCHEMA = Schema("people", (Attribute("a", Categories(("right", "wrong"))),), rows=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*NAMES, *DECOYS):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        parquet.write_table(pa.table({"a": ["wrong"] * 3}), tmp_path / name)
    return tmp_path


def counted(data: Any, engine: str | None, master: str | None = None) -> list[int]:
    opened = open_engine(PrivateData(data, engine, master), SCHEMA)
    try:
        assert opened.columns == ("a",)  # a folder's year=2024 is no column
        return next(iter(opened.engine.marginals([(Axis("a"),)]))).tolist()  # type: ignore[no-any-return]
    finally:
        opened.engine.close()


def only_right(folder: Path, name: str) -> Path:
    parquet.write_table(pa.table({"a": ["right"] * 3}), folder / name)
    return folder / name


@pytest.mark.parametrize("engine", ["memory", "mapped", "duckdb"])
def test_the_file_that_is_named_is_read(engine: str, folder: Path) -> None:
    for name in NAMES:
        path = only_right(folder, name)
        assert counted(path, engine) == [3, 0], name
        parquet.write_table(pa.table({"a": ["wrong"] * 3}), path)


@pytest.mark.slow
@pytest.mark.engines
def test_spark_reads_the_file_that_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_spark()
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    for name in ("people[1].parquet", "people 1.parquet", "people{1,2}.parquet", "folder[1]"):
        path = only_right(folder, name if name.endswith("t") else f"{name}/people.parquet")
        data = path if path.name == name else path.parent
        assert counted(str(data), "spark", "local[1]") == [3, 0], name
        assert counted(f"file://{data}", "spark", "local[1]") == [3, 0], name


def test_a_relative_name_is_that_of_a_file_here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB and Arrow take ~ for the home folder; here it is a name too."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    (folder / "~").mkdir()
    only_right(folder, "~/people.parquet")
    (folder / "~" / "people.csv").write_text("a\n" + "right\n" * 3)
    (folder / "people.csv").write_text("a\n" + "wrong\n" * 3)
    parquet.write_table(pa.table({"a": ["wrong"] * 3}), folder / "people.parquet")
    for engine in ("memory", "mapped", "duckdb"):
        assert counted(Path("~/people.parquet"), engine) == [3, 0], engine
    assert counted("~/people.csv", None) == [3, 0]


@pytest.mark.parametrize("name", ["people[1].db", "people 1.db", "md:people", ":memory:", "people%25.db"])
def test_a_database_file_is_the_one_that_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    monkeypatch.chdir(tmp_path)
    file = name.replace("%25", "%")
    for path, value in ((tmp_path / "people1.db", "wrong"), (tmp_path / file, "right")):
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE people AS SELECT '{value}' AS a FROM range(3)")
    assert counted(f"duckdb:///{name}?table=people", None) == [3, 0]


def test_a_name_that_duckdb_cannot_take_is_refused(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("a backslash is no part of a name there")
    path = tmp_path / "back\\[1].parquet"
    parquet.write_table(pa.table({"a": ["right"] * 3}), path)
    with pytest.raises(UsageError, match="rename it"):
        counted(path, "duckdb")
    assert counted(path, "memory") == [3, 0]


@pytest.mark.costly
def test_the_printed_sql_reads_that_file_too(folder: Path) -> None:
    import duckdb

    schema = Schema("people", (Attribute("a", Categories(("wrong",))),), rows=3)
    for name in NAMES:
        sql = finding_sql("a", schema, str(only_right(folder, name)))
        with duckdb.connect() as connection:
            assert connection.execute(sql).fetchall() == [("right", 3)], name
        parquet.write_table(pa.table({"a": ["wrong"] * 3}), folder / name)
    (folder / "people[1].csv").write_text("a\nright\n")
    (folder / "people1.csv").write_text("a\nother\n")
    (folder / "p[1].pq").write_bytes((folder / "people1.parquet").read_bytes())
    with duckdb.connect() as connection:
        found = connection.execute(finding_sql("a", schema, str(folder / "people[1].csv"))).fetchall()
        assert found == [("right", 1)]
        assert connection.execute(finding_sql("a", schema, str(folder / "p[1].pq"))).fetchall() == []
