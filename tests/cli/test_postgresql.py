"""`publish` and `check` on a real PostgreSQL server: what it is asked, what it is not told, and what goes wrong."""

from __future__ import annotations

import re
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from command import Outcome, run, write_people

from servers import PASSWORD, PostgreSQL
from understudy.engines import sql
from understudy.engines.postgresql_rows import PostgreSQLRows
from understudy.privacy.ledger import Ledger
from understudy.schema import Schema
from understudy.testing import publish_seeded

CANARY = "unspeakable"


@pytest.fixture
def address(postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setattr(sql, "FEW_CELLS", 50)  # so that a small table takes several passes
    return postgresql.load("people", people(tmp_path))


def people(folder: Path) -> pa.Table:
    data, _ = write_people(folder)
    return pa.csv.read_csv(data, convert_options=pa.csv.ConvertOptions(column_types={"smokes": pa.string()}))


def publish(address: str, folder: Path, *more: object) -> Outcome:
    arguments = (
        "--schema", folder / "schema.toml", "--epsilon", 4, "--cap", 4, "--ledger", folder / "ledger.db",
        "-o", folder / "out.csv", "--method", "privbayes",
    )  # fmt: skip
    return run("publish", address, *arguments, "--json", *more)


def test_one_command_and_no_password_anywhere(postgresql: PostgreSQL, address: str, tmp_path: Path) -> None:
    """The password may stand in the address; it is in no file and no line that leaves the program."""
    secret = address.replace("reader@", f"reader:{PASSWORD}@")
    for wrong in (
        secret.replace("table=people", "table=nowhere"),
        secret.replace(PASSWORD, PASSWORD + "x"),
        secret + "&x=%",
    ):
        failed = publish(wrong, tmp_path)
        assert failed.code == 2 and PASSWORD not in failed.text and "127.0.0.1" not in failed.text
    done = publish(secret, tmp_path, "--report", tmp_path / "report.html")
    assert done.code == 0 and done.json["rows"] == 120
    with zipfile.ZipFile(tmp_path / "out.release.zip") as archive:
        inside = b"".join(archive.read(name) for name in archive.namelist())
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert PASSWORD.encode() not in inside + files + done.text.encode()
    assert not in_use(postgresql)
    refused = run("evaluate", tmp_path / "out.csv", secret, "--schema", tmp_path / "schema.toml")
    assert refused.code == 2 and PASSWORD not in refused.text
    for given in (secret, f"postgresql://reader:{PASSWORD}@127.0.0.1"):  # the latter has no / after the password
        refused = run("init", given, "-o", tmp_path / "draft.toml")
        assert refused.code == 2 and "--ddl" in refused.err and PASSWORD not in refused.text


def in_use(server: PostgreSQL) -> int:
    """How many connections are left when the server has had time to notice that one was closed."""
    deadline = time.monotonic() + 60
    with server.connect() as connection:
        while True:
            found = connection.execute("SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'").fetchone()[0]
            if not found or time.monotonic() > deadline:
                return int(found)
            time.sleep(0.01)


def test_only_aggregates_leave_the_server(postgresql: PostgreSQL, address: str, tmp_path: Path) -> None:
    """Its own statement log: one look at the columns, one aggregate over everything, counts by GROUP BY; no change."""
    before = len(postgresql.log())
    assert publish(address, tmp_path).code == 0
    said = re.findall(r"LOG:  (?:statement|execute [^:]*): (.*)", postgresql.log()[before:])
    kinds = {"settings": 0, "columns": 0, "types": 0, "check": 0, "counts": 0}
    for statement in said:
        if statement.startswith(("BEGIN", "SET ", "ROLLBACK")):
            kinds["settings"] += 1
        elif statement == 'SELECT * FROM "people" LIMIT 0':
            kinds["columns"] += 1
        elif "pg_catalog.pg_type" in statement:
            kinds["types"] += 1
        elif statement.startswith("SELECT count(*), max(CASE WHEN q0 = -1 THEN 1 ELSE 0 END)"):
            kinds["check"] += 1
        else:
            assert statement.startswith("COPY (SELECT CAST(k AS bigint), n FROM (SELECT k, count(*) AS n FROM (")
            assert statement.endswith("GROUP BY k) counted) TO STDOUT (FORMAT BINARY)")
            kinds["counts"] += 1
    assert kinds["columns"] == kinds["types"] == kinds["check"] == 1
    rounds = 4  # five attributes
    assert 1 <= kinds["counts"] <= 1 + rounds
    assert "READ ONLY" in "".join(said) and "REPEATABLE READ" in "".join(said)


def cut(server: PostgreSQL) -> None:
    with server.connect() as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")


def restart(server: PostgreSQL) -> None:
    server.stop()
    server.start()


@pytest.mark.parametrize("accident", [cut, restart])
@pytest.mark.parametrize("at", [1, 2])
def test_a_lost_connection_releases_nothing_and_the_run_goes_on_later(
    postgresql: PostgreSQL,
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    accident: Callable[[PostgreSQL], None],
    at: int,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(PostgreSQLRows, "counts", before_count(at, lambda: accident(postgresql)))
        failed = publish(address, tmp_path)
    assert failed.code == 1 and "connection to PostgreSQL was lost" in failed.error["message"]
    assert PASSWORD not in failed.text
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "out.release.zip").exists()
    again = publish(address, tmp_path)
    assert again.code == 0 and again.json["resumed"] == (at > 1)  # before the first draw the charge is given back
    ledger = Ledger(tmp_path / "ledger.db")
    state = ledger.account("people")
    assert state is not None and float(state.spent_epsilon) == 4
    ledger.close()


def before_count(at: int, accident: Callable[[], None]) -> Callable[..., Any]:
    """`counts` as it is, but something happens before the at-th of them."""
    counts, calls = PostgreSQLRows.counts, [0]

    def counted(rows: PostgreSQLRows, sql: str) -> Any:
        calls[0] += 1
        if calls[0] == at:
            accident()
        return counts(rows, sql)

    return counted


def test_a_table_that_changes_during_the_run_is_counted_as_it_was(
    postgresql: PostgreSQL, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, schema = people(tmp_path), Schema.open(tmp_path / "schema.toml")

    def change() -> None:
        with postgresql.connect() as connection:
            connection.execute("DELETE FROM people WHERE sex = 'Male'")
            connection.execute(f"UPDATE people SET town = '{CANARY}'")

    def members(data: Any, ledger: str) -> dict[str, bytes]:
        done = publish_seeded(
            data, schema, seed=1, epsilon=20, method="privbayes", ledger=tmp_path / ledger, cap="none"
        )
        return done.release.members

    expected = members(table, "1.db")
    monkeypatch.setattr(PostgreSQLRows, "counts", before_count(2, change))
    assert members(address, "2.db") == expected
    assert publish(address, tmp_path).error["attribute"] == "town"  # the next run sees the change


@pytest.mark.parametrize(
    ("change", "attribute"),
    [
        ("ALTER TABLE people DROP COLUMN town", "town"),
        ("ALTER TABLE people ADD COLUMN more integer", None),
        ("ALTER TABLE people ALTER COLUMN age TYPE text", None),
        ("ALTER TABLE people ALTER COLUMN age TYPE date USING DATE '2020-01-01' + age::integer", "age"),
        ("ALTER TABLE people ALTER COLUMN income TYPE point USING point(1, 1)", "income"),
        (f"UPDATE people SET town = '{CANARY}' WHERE id = 'P7'", "town"),
        ("UPDATE people SET smokes = NULL WHERE id = 'P7'", "smokes"),
        ("UPDATE people SET income = 'Infinity' WHERE id = 'P7'", "income"),
        ("DELETE FROM people WHERE id = 'P7'", None),
    ],
)
def test_what_does_not_fit_is_refused_before_any_charge(
    postgresql: PostgreSQL, address: str, tmp_path: Path, change: str, attribute: str | None
) -> None:
    with postgresql.connect() as connection:
        connection.execute(change)
    done = publish(address, tmp_path)
    if "TYPE text" in change:
        assert done.code == 0  # numbers written as text are numbers
        return
    assert done.code == 4 and done.error["attribute"] == attribute
    assert CANARY not in done.text and "P7" not in done.text
    assert not (tmp_path / "out.csv").exists()
    ledger = Ledger(tmp_path / "ledger.db")
    assert not ledger.entries()
    ledger.close()
    checked = run(
        "check", address.replace("reader@", f"reader:{PASSWORD}@"), "--schema", tmp_path / "schema.toml", "--json"
    )
    assert checked.code == 4 and attribute in {problem["attribute"] for problem in checked.json["problems"]}
    assert CANARY not in checked.text and PASSWORD not in checked.text
    if "UPDATE" in change:
        assert 'FROM "people"' in checked.json["problems"][0]["sql"]


def test_a_view_is_enough_and_writing_is_not_needed(postgresql: PostgreSQL, address: str, tmp_path: Path) -> None:
    with postgresql.connect() as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS open")
        connection.execute('CREATE OR REPLACE VIEW open."the people" AS SELECT * FROM people')
        connection.execute("REVOKE ALL ON people FROM reader; GRANT USAGE ON SCHEMA open TO reader")
        refused = publish(address, tmp_path)
        assert refused.code == 2 and "GRANT SELECT" in refused.error["message"]
        connection.execute('GRANT SELECT ON open."the people" TO reader')
        done = publish(postgresql.address("open.%22the people%22"), tmp_path)
        assert done.code == 0, done.text
        connection.execute('DROP VIEW open."the people"')
