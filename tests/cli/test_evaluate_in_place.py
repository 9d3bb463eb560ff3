"""`understudy evaluate` of a table that stays in its database: the figures of counts, no row, no other privilege."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest
from command import Outcome, run, write_people
from pyarrow import csv
from test_evaluate import shuffled

from servers import PASSWORD, PostgreSQL
from understudy.privacy.ledger import Ledger

ROW_BY_ROW = {"numeric", "matches"}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    data, schema = write_people(tmp_path)
    return data, shuffled(data, tmp_path / "other.csv"), schema


def table(data: Path) -> pa.Table:
    return csv.read_csv(data, convert_options=csv.ConvertOptions(column_types={"smokes": pa.string()}))


@pytest.fixture(params=["duckdb", "postgresql"])
def address(request: pytest.FixtureRequest, files: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch) -> str:
    loaded = table(files[0])
    if request.param == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        path = files[0].with_suffix(".duckdb")
        with duckdb.connect(str(path)) as connection:
            connection.register("loaded", loaded)
            connection.execute("CREATE TABLE people AS SELECT * FROM loaded")
        return f"duckdb:///{path}?table=people"
    server: PostgreSQL = request.getfixturevalue("postgresql")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return server.load("evaluated", loaded)


def evaluate(original: object, files: tuple[Path, Path, Path], *more: object) -> Outcome:
    return run("evaluate", original, files[1], "--schema", files[2], "--json", *more)


def test_the_figures_are_those_of_the_file(address: str, files: tuple[Path, Path, Path]) -> None:
    there, here = evaluate(address, files).json, evaluate(files[0], files).json
    assert set(here) - set(there) == ROW_BY_ROW
    assert here["correlation"].pop("pearson") and there["correlation"].pop("pearson") is None
    assert there == {key: part for key, part in here.items() if key not in ROW_BY_ROW}
    assert there["tvd"]["2"]["mean"] > 0 and there["rows"]["original"] == 120


def test_bought_figures_and_a_page(address: str, files: tuple[Path, Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "page.custodian.html"
    assert evaluate(address, files, "--report", page).code == 0 and page.exists()
    done = evaluate(address, files, "--epsilon", 2, "--ledger", tmp_path / "l.db")
    assert done.code == 0 and done.json["stamp"].startswith("DIFFERENTIALLY PRIVATE — epsilon 2")
    book = Ledger(tmp_path / "l.db")
    assert [e.kind for e in book.entries()].count("release") == 1
    book.close()


@pytest.mark.parametrize("more", [("--measure", "matches"), ("--measure", "numeric"), ("--classify", "sex"),
                                  ("--classify", "sex", "--epsilon", 1)])  # fmt: skip
def test_what_needs_rows_is_refused(address: str, files: tuple[Path, Path, Path], more: tuple[object, ...]) -> None:
    refused = evaluate(address, files, *more)
    assert refused.code == 2 and "row by row" in refused.error["message"]
    assert "127.0.0.1" not in refused.text and str(files[0].parent) not in refused.text
    assert not list(files[0].parent.glob("*ledger*"))


def test_only_counts_leave_the_server(
    postgresql: PostgreSQL, files: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    address = postgresql.load("evaluated", table(files[0]))
    before = len(postgresql.log())
    assert evaluate(address, files).code == 0
    said = re.findall(r"LOG:  (?:statement|execute [^:]*): (.*)", postgresql.log()[before:])
    reading = [s for s in said if '"evaluated"' in s and not s.endswith("LIMIT 0")]
    assert reading and all(re.match(r"SELECT count\(\*\), max|COPY \(SELECT .* count\(\*\) AS n", s) for s in reading)
    with postgresql.connect() as connection:
        connection.execute("DELETE FROM evaluated WHERE id = 'P7'")
    refused = evaluate(address, files)
    assert refused.code == 4 and refused.error["message"].startswith("original table: ")
    missing = evaluate(address.replace("table=evaluated", "table=nowhere"), files)
    assert missing.code == 2 and PASSWORD not in missing.text
