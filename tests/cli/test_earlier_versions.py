"""Files of earlier versions open, mean what they meant, and an interrupted run or session of theirs is finished."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from servers import free_port
from understudy.errors import BudgetError
from understudy.privacy.ledger import Ledger
from understudy.release import Release

FIXTURES = Path(__file__).parents[1] / "fixtures" / "v0.1"
RELEASES = sorted(path.name for path in (FIXTURES / "releases").glob("*.zip"))
FACTS = json.loads((FIXTURES / "releases" / "facts.json").read_text(encoding="utf-8"))


def copied(name: str, folder: Path) -> Path:
    """A copy to work on: the fixture itself is never written to."""
    return Path(shutil.copy(FIXTURES / name, folder / name))


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_opens_and_draws_the_same_rows(tmp_path, name):
    release = Release.open(FIXTURES / "releases" / name)
    facts = FACTS[name.removesuffix(".release.zip")]
    assert release.hash == facts["hash"] and release.rows == facts["rows"]
    assert list(release.columns) == facts["columns"]
    release.write(tmp_path / "sample.csv", 50, seed=7)
    drawn = (tmp_path / "sample.csv").read_bytes().replace(b"\r\n", b"\n")
    assert hashlib.sha256(drawn).hexdigest() == facts["sample of 50, seed 7"]


def test_every_kind_of_model_and_every_format_is_there():
    assert {f["kind"] for f in FACTS.values()} == {"bayesian-network", "junction-tree", "wavelet", "mixture"}
    assert {f["format"] for f in FACTS.values()} == {1, 2}
    assert len(FACTS) == len(RELEASES)


@pytest.mark.parametrize(("name", "spent"), [("plain", 6), ("interrupted", 4), ("lost-draw", 4)])
def test_a_ledger_opens_and_adds_up(tmp_path, name, spent):
    ledger = Ledger(copied(f"{name}.db", tmp_path))
    try:
        ledger.verify()
        account = ledger.account("people")
        assert account is not None and account.spent_epsilon == spent
    finally:
        ledger.close()


def test_a_federation_session_is_finished(tmp_path):
    pytest.importorskip("cryptography")
    from federation_session import Town, actors, check, play
    from pyarrow import parquet

    from understudy.federation.roster import Roster

    with zipfile.ZipFile(FIXTURES / "federation-session.zip") as archive:
        archive.extractall(tmp_path)
    names = ["o0", "o1", "o2"]
    tables = {name: parquet.read_table(tmp_path / f"{name}.parquet") for name in names}
    town = Town(tmp_path, names, Roster.open(tmp_path / "roster.toml"), tables)
    with pytest.raises(BudgetError, match="--resume"):  # before the curator is called: it does not say what it read
        town.party("o0", free_port(), 1.0).take_part()
    town.resume = True
    played = play(town, *actors(names))
    check(played)
    assert played.released and played.curator.outcome.resumed
    assert all(owner.outcome.resumed for owner in played.owners.values())
