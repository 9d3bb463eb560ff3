"""The tests' own watch over connections and marks: it sees a leak, and leaves tests alone that do as they should."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connections import closed_connections, is_open
from servers import Running, needs_mark
from understudy.privacy.ledger import Ledger

LEAKS = "import sqlite3\ndef careless(path):\n    kept.append(sqlite3.connect(path))\n"
CLOSES = "import sqlite3\ndef careful(path):\n    sqlite3.connect(path).close()\n"
FAILS = (
    "def refused(path):\n    from understudy.privacy.ledger import Ledger\n    kept.append(Ledger(path))\n    1 / 0\n"
)


def program(source: str, name: str) -> tuple[Callable[..., None], list[Any]]:
    """A function of the program, as far as its module's name tells, and what it keeps."""
    kept: list[Any] = []
    module: dict[str, Any] = {"__name__": "understudy.imagined", "kept": kept}
    exec(source, module)
    return module[name], kept


def test_a_connection_that_the_program_leaves_open_is_named_and_closed(tmp_path: Path) -> None:
    careless, kept = program(LEAKS, "careless")
    with pytest.raises(AssertionError, match=r"never closed by understudy\.imagined\.careless"), closed_connections():
        careless(tmp_path / "a.db")
    assert not is_open(kept[0])


def test_a_ledger_that_the_program_leaves_open_after_an_error_is_seen(tmp_path: Path) -> None:
    refused, kept = program(FAILS, "refused")
    seen = pytest.raises(AssertionError, match=r"understudy\.imagined\.refused")
    with seen, closed_connections(), pytest.raises(ZeroDivisionError):
        refused(tmp_path / "a.db")
    assert not is_open(kept[0].connection)


def test_the_programs_closed_and_the_tests_own_connections_are_fine(tmp_path: Path) -> None:
    careful, _ = program(CLOSES, "careful")
    with closed_connections():
        careful(tmp_path / "a.db")
        mine, book = sqlite3.connect(tmp_path / "b.db"), Ledger(tmp_path / "c.db")
        assert is_open(mine) and is_open(book.connection)
    assert not is_open(mine) and not is_open(book.connection)


@pytest.mark.parametrize("marked", [True, False])
def test_a_test_that_starts_a_server_says_so(marked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    running = SimpleNamespace(get_closest_marker=lambda name: name if marked and name == "engines" else None)
    monkeypatch.setattr(Running, "test", running)
    if marked:
        needs_mark()
    else:
        with pytest.raises(pytest.fail.Exception, match=r"pytest\.mark\.engines"):
            needs_mark()
