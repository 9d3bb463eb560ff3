"""The ledger's file: its format number, older and newer ones, and files of somebody else."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from conftest import schema_of
from understudy.errors import LedgerError
from understudy.formats import GAUSSIAN_LEDGER_FORMAT, LEDGER_FORMAT
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger

SCHEMA = schema_of({"a": 2, "b": 3}, rows=100)
FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0.1"
# what version 0.1 executes first of all when it spends
OLD_INSERT = "INSERT INTO entries VALUES (9, '', 'reserve', 'people', '{}', '', '')"


def execute(path: Path, statement: str) -> list[tuple]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_a_new_ledger_has_a_format_number_and_an_old_program_cannot_spend_from_it(ledger_path):
    with Ledger(ledger_path) as ledger:
        ledger.reserve(SCHEMA, Budget(1), {"method": "test"}).finish("r")
    assert execute(ledger_path, "PRAGMA user_version") == [(LEDGER_FORMAT,)]
    with pytest.raises(sqlite3.OperationalError, match="columns"):
        execute(ledger_path, OLD_INSERT)


def test_a_newer_ledger_is_refused(ledger_path):
    Ledger(ledger_path).close()
    execute(ledger_path, f"PRAGMA user_version = {GAUSSIAN_LEDGER_FORMAT + 1}")
    before = ledger_path.read_bytes()
    with pytest.raises(LedgerError, match="newer understudy"):
        Ledger(ledger_path)
    assert ledger_path.read_bytes() == before


def test_an_old_ledger_is_read_as_it_is_and_brought_up_to_date_when_it_is_written_to(tmp_path):
    path = Path(shutil.copy(FIXTURES / "plain.db", tmp_path))
    with Ledger(path, create=False) as ledger:
        ledger.verify()
        before = ledger.entries()
        assert ledger.show()["accounts"][0]["epsilon"] == 6 and ledger.kept.list() == []
    assert execute(path, "PRAGMA user_version") == [(0,)]
    with Ledger(path) as ledger:
        ledger.cap("people", 9, reason="more")
        ledger.verify()
        assert ledger.entries()[:-1] == before
    assert execute(path, "PRAGMA user_version") == [(LEDGER_FORMAT,)]
    with pytest.raises(sqlite3.OperationalError, match="columns"):
        execute(path, OLD_INSERT)


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("create", [False, True])
def test_a_database_of_somebody_else_is_not_touched(tmp_path, mode, create):
    """The attack: `ledger show` on a foreign SQLite file made it a ledger."""
    path = tmp_path / "photos.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    before, beside = path.read_bytes(), sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(LedgerError, match="something else"):
        Ledger(path, create=create)
    assert path.read_bytes() == before and sorted(p.name for p in tmp_path.iterdir()) == beside


def test_a_look_makes_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="no ledger"):
        Ledger(tmp_path / "absent.db", create=False)
    (tmp_path / "empty.db").touch()
    with pytest.raises(LedgerError, match="holds nothing"):
        Ledger(tmp_path / "empty.db", create=False)
    assert [p.name for p in tmp_path.iterdir()] == ["empty.db"] and (tmp_path / "empty.db").stat().st_size == 0


def test_a_name_with_special_characters_is_a_name(tmp_path):
    path = tmp_path / "a b?mode=memory#%41.db"
    Ledger(path).close()
    Ledger(path, create=False).close()
    assert path.exists()


def test_fingerprints_and_outcomes_do_not_stay_in_the_file(ledger_path):
    with Ledger(ledger_path) as ledger:
        reservation = ledger.reserve(SCHEMA, Budget(1), {"method": "test"}, fingerprint="f1n9e2p2int")
        reservation.charge("one", reservation.total_cost, "ask").journal(b"an outcome of the draw")
        reservation.finish("r")
        ledger.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = ledger_path.read_bytes()
    assert b"f1n9e2p2int" not in content and b"an outcome of the draw" not in content
