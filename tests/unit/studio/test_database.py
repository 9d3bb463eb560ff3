"""A table in a real database through the pages: checked and published by its address, whose password is kept nowhere."""

from __future__ import annotations

import logging
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import ClassVar

import pyarrow.csv
import pytest
from test_journey import begin, wait
from visitor import SCHEMA, Visitor, write_table

from servers import PASSWORD
from understudy.privacy.ledger import Ledger
from understudy.release import Release
from understudy.studio.texts import TEXTS

pytestmark = pytest.mark.engines
WRONG = "an0ther-canary"


class Witness(Visitor):
    """A visitor who keeps every answer, with its headers."""

    def __init__(self, folder: Path) -> None:
        self.answers: list[str] = []
        super().__init__(folder)
        plain = self.client.send

        def send(*arguments, **options):
            answer = plain(*arguments, **options)
            self.answers.append(f"{answer.headers}{answer.text}")
            return answer

        self.client.send = send


@pytest.fixture
def witness(tmp_path, monkeypatch):
    """A visitor of a folder that holds a schema and no table; whatever this machine's programs keep is beside it."""
    for name in ("clinic", "home", "tmp"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "clinic" / "schema.toml").write_text(SCHEMA)
    return Witness(tmp_path / "clinic")


@pytest.fixture
def address(postgresql, tmp_path):
    """The address of the table that the schema is about, with its password."""
    (tmp_path / "source").mkdir()
    write_table(tmp_path / "source")
    made = postgresql.load("people", pyarrow.csv.read_csv(tmp_path / "source" / "people.csv"))
    return made.replace("reader@", f"reader:{PASSWORD}@")


def kept(folder: Path) -> bytes:
    """Everything on disk below a folder: names, contents, and the insides of archives."""
    found = []
    for path in folder.rglob("*"):
        found.append(str(path).encode())
        if path.is_file():
            found.append(path.read_bytes())
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                found += [archive.read(name) for name in archive.namelist()]
    return b"\n".join(found)


class WatchedProcess(subprocess.Popen):
    """A process whose arguments and environment are remembered: others can read the former."""

    started: ClassVar[list[str]] = []

    def __init__(self, arguments, **options):
        self.started.append(f"{arguments} {options.get('env')}")
        super().__init__(arguments, **options)


def test_a_table_is_checked_and_published_by_its_address(
    witness, address, postgresql, tmp_path, capfd, caplog, monkeypatch
):
    monkeypatch.setattr(subprocess, "Popen", WatchedProcess)
    caplog.set_level(logging.DEBUG)
    logged = len(postgresql.log())
    root = witness.studio.folder.root
    checked = witness.post("/schema/check", schema="schema.toml", address=address)
    assert checked.status_code == 200 and TEXTS["fits"] in checked.text and "table people" in checked.text
    page = wait(witness, begin(witness, data="", address=address))
    assert TEXTS["run_done"] in page and "table people" in page
    assert Release.open(root / "o.release.zip").rows == 60
    with Ledger(root / "understudy-ledger.db") as book:
        assert [e.kind for e in book.entries()].count("reserve") == 1 and book.account("people").spent_epsilon == 2
    for path in ("/schema/edit", "/budget", "/publish"):
        assert witness.get(path, schema="schema.toml").status_code == 200
    assert witness.get("/explore/release", file="o.release.zip").status_code == 200
    written, said = kept(tmp_path), capfd.readouterr()
    assert b"o.release.zip" in written and b"request.json" in written
    assert any("run_process" in started for started in WatchedProcess.started)
    told = [*witness.answers, said.out, said.err, caplog.text, postgresql.log()[logged:], repr(witness.studio)]
    assert PASSWORD.encode() not in written and PASSWORD not in "\n".join([*told, *WatchedProcess.started])
    for path in (root / ".understudy-studio").rglob("*"):
        assert f":{postgresql.port}".encode() not in (path.read_bytes() if path.is_file() else b""), "nor its address"


def test_a_wrong_password_or_table_is_words_and_costs_nothing(witness, address, tmp_path, capfd):
    root = witness.studio.folder.root
    for at, wrong in enumerate((address.replace(PASSWORD, WRONG), address.replace("table=people", "table=nowhere"))):
        done = witness.post("/schema/check", schema="schema.toml", address=wrong)
        assert done.status_code == 422 and 'class="bad"' in done.text
        page = wait(witness, begin(witness, data="", address=wrong, output=f"o{at}.csv"))
        assert TEXTS["run_failed"] in page and not (root / f"o{at}.csv").exists()
    if (root / "understudy-ledger.db").exists():
        with Ledger(root / "understudy-ledger.db") as book:
            assert "reserve" not in [e.kind for e in book.entries()]
    said = capfd.readouterr()
    told = "\n".join([*witness.answers, said.out, said.err]).encode() + kept(tmp_path)
    assert PASSWORD.encode() not in told and WRONG.encode() not in told
