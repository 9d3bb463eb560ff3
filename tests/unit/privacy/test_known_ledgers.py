"""Which ledgers this user has spent from: a copied schema does not open a second ledger unnoticed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import understudy
from understudy.demo import write_demo
from understudy.errors import BudgetError
from understudy.privacy.known_ledgers import other_ledgers, remember
from understudy.testing import publish_seeded

ROWS = 300


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.delenv("UNDERSTUDY_LEDGER", raising=False)
    return tmp_path / "state"


def first(tmp_path: Path) -> tuple[Path, Path]:
    import numpy as np

    return write_demo(tmp_path / "first", np.random.default_rng(1), rows=ROWS)


def copied(tmp_path: Path, schema: Path) -> Path:
    (tmp_path / "second").mkdir()
    return Path(shutil.copy(schema, tmp_path / "second"))


def publish(data: Path, schema: Path, **more):
    return understudy.publish(str(data), str(schema), epsilon=1, method="privbayes", **more)


def test_a_copy_of_the_schema_does_not_open_a_second_ledger(tmp_path, home):
    data, schema = first(tmp_path)
    publish(data, schema)
    copy = copied(tmp_path, schema)
    with pytest.raises(BudgetError, match="first"):
        publish(data, copy)
    assert not (tmp_path / "second" / "understudy-ledger.db").exists()  # and nothing was made


def test_an_edited_copy_of_the_schema_is_known_by_its_source(tmp_path, home):
    data, schema = first(tmp_path)
    publish(data, schema)
    copy = copied(tmp_path, schema)
    copy.write_text(copy.read_text().replace("bins = ", "bins = 1"))
    with pytest.raises(BudgetError, match="first"):
        publish(data, copy)


@pytest.mark.costly
def test_a_ledger_that_is_named_is_obeyed_and_noted(tmp_path, home, monkeypatch):
    from understudy.privacy.budget import Budget
    from understudy.publishing import run
    from understudy.schema import Schema

    data, schema = first(tmp_path)
    publish(data, schema)
    copy = copied(tmp_path, schema)
    named = tmp_path / "second" / "other.db"
    done = run(str(data), Schema.open(copy), Budget(1), "privbayes", {}, ledger=named)
    assert "first" in done.notes[0] and not any("ledger" in note for note in done.notes[1:])
    assert other_ledgers("census", named, "", None) == []  # used once, it is known itself
    monkeypatch.setenv("UNDERSTUDY_LEDGER", str(tmp_path / "third.db"))
    publish(data, copy)
    assert (tmp_path / "third.db").exists()


def test_a_ledger_that_is_gone_stands_in_nobodys_way(tmp_path, home):
    data, schema = first(tmp_path)
    publish(data, schema)
    copy = copied(tmp_path, schema)
    for old in (tmp_path / "first").glob("understudy-ledger.db*"):
        old.unlink()
    publish(data, copy)


@pytest.mark.costly
def test_seeded_runs_and_an_unwritable_home_remember_nothing(tmp_path, home, monkeypatch):
    data, schema = first(tmp_path)
    publish_seeded(str(data), str(schema), seed=1, epsilon=1, method="privbayes")
    assert not home.exists()
    monkeypatch.setenv("XDG_STATE_HOME", str(data))  # a file: nothing can be written there
    monkeypatch.setenv("LOCALAPPDATA", str(data))
    publish(data, schema, ledger=tmp_path / "one.db")
    publish(data, copied(tmp_path, schema))


def test_the_memory_is_private_and_holds_no_source(tmp_path, home):
    remember("people", tmp_path / "l.db", "hash", "postgresql://user:hunter2@host/db")
    file = home / "understudy" / "known-ledgers.json"
    assert "hunter2" not in file.read_text() and "host/db" not in file.read_text()
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    file.write_text("{broken")
    assert other_ledgers("people", tmp_path / "m.db", "hash", None) == []
    remember("people", tmp_path / "l.db", "hash", None)
