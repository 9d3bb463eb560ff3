"""kill -9 at random moments over publish, sample and ledger: nothing under-counted, no account wedged, and every
interrupted run continued or closed by the next command."""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from command import write_people
from zygote import Zygote

from understudy.privacy.entries import unfinished
from understudy.privacy.ledger import Ledger
from understudy.release import Release

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    made = Zygote()
    yield made
    made.close()


def publishing(folder: Path) -> list[object]:
    return ["publish", folder / "people.csv", "--schema", folder / "schema.toml", "--epsilon", "4", "--method",
            "privbayes", "-o", folder / "out.csv", "--quiet"]  # fmt: skip


def drawn_and_paid(path: Path) -> tuple[int, int]:
    """Draws that the journal knows of, begun or done, and charges in the ledger."""
    connection = sqlite3.connect(path)
    try:
        drawn = "SELECT COUNT(*) FROM journal WHERE state IN ('drawing', 'drawn')"
        return connection.execute(drawn).fetchone()[0], connection.execute(
            "SELECT COUNT(*) FROM entries WHERE kind = 'charge'"
        ).fetchone()[0]
    finally:
        connection.close()


def left_over(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.endswith((".part", ".lock"))]


def killed_publish(zygote: Zygote, folder: Path, moment: float) -> str:
    """Kill a run, look at the books, and run the same command again."""
    write_people(folder)
    ledger, release = folder / "understudy-ledger.db", folder / "out.release.zip"
    zygote.run(*publishing(folder), kill_after=moment)
    spent = Fraction(0)
    if ledger.exists() and ledger.stat().st_size:
        with Ledger(ledger) as book:
            book.verify()
            account = book.account("people")
            spent = Fraction(0) if account is None else account.spent_epsilon
        drawn, paid = drawn_and_paid(ledger)
        assert drawn <= paid, "noise was drawn that is not in the ledger"
        assert not (drawn or release.exists()) or spent == 4
    else:
        assert not release.exists() and not (folder / "out.csv").exists()
    again, _ = zygote.run(*publishing(folder))
    with Ledger(ledger) as book:
        book.verify()
        entries = book.entries()
        assert not unfinished(entries), "an interrupted run was neither continued nor closed"
        account = book.account("people")
        assert account is not None and account.spent_epsilon == 4
    if again == 3:  # it had come to its end, or a draw was lost
        ended = entries[-1].kind
        assert ended in ("release", "close")
        assert zygote.run("ledger", "cap", ledger, "people", "8", "--reason", "once more")[0] == 0
        assert zygote.run(*publishing(folder), "--force")[0] == 0, "the account is wedged"
        what = "over before" if ended == "release" else "closed"
    else:
        assert again == 0
        resumed = sum(e.kind == "reserve" for e in entries) == 1 and spent == 4
        what = "continued" if resumed else "begun anew"
    with Ledger(ledger) as book:
        assert Release.open(release).hash in {e.body["release"] for e in book.entries() if e.kind == "release"}
    assert (folder / "out.csv").exists() and not left_over(folder)
    return what


def killed_sample(zygote: Zygote, folder: Path, moment: float) -> str:
    """A table that is being drawn is there whole, or not at all; the next command leaves nothing of the first."""
    out = folder / "sample.csv"
    command = ["sample", folder / "r.release.zip", "--rows", "20000", "-o", out]
    zygote.run(*command, kill_after=moment)
    what = "over before" if out.exists() else "nothing written"
    if out.exists():
        assert out.read_text().count("\n") == 20_001
    assert zygote.run(*command)[0] == 0 and out.read_text().count("\n") == 20_001
    assert not left_over(folder)
    return what


def killed_cap(zygote: Zygote, folder: Path, moment: float) -> str:
    """A cap is changed or it is not."""
    ledger = folder / "understudy-ledger.db"
    with Ledger(ledger) as book:
        before = book.verify()
    zygote.run("ledger", "cap", ledger, "people", "7", "--reason", "to be killed", kill_after=moment)
    with Ledger(ledger) as book:
        after = book.verify(before)
        what = "over before" if after.seq > before.seq else "nothing written"
    assert zygote.run("ledger", "cap", ledger, "people", "9", "--reason", "again")[0] == 0
    with Ledger(ledger) as book:
        account = book.account("people")
        assert account is not None and account.cap_epsilon == 9
    return what


def campaign(zygote: Zygote, folder: Path, publishes: int, samples: int, caps: int, seed: int) -> Counter[str]:
    choose = random.Random(seed)
    whole = folder / "whole"
    whole.mkdir()
    write_people(whole)
    lasts = {}
    code, lasts["publish"] = zygote.run(*publishing(whole))
    assert code == 0
    (whole / "out.release.zip").rename(whole / "r.release.zip")
    _, lasts["sample"] = zygote.run("sample", whole / "r.release.zip", "--rows", "20000", "-o", whole / "sample.csv")
    (whole / "sample.csv").unlink()
    _, lasts["cap"] = zygote.run("ledger", "cap", whole / "understudy-ledger.db", "people", "9", "--reason", "first")
    ends: Counter[str] = Counter()
    for number in range(publishes):
        own = folder / f"publish-{number}"
        own.mkdir()
        ends["publish: " + killed_publish(zygote, own, choose.uniform(0, 1.1 * lasts["publish"]))] += 1
    for _ in range(samples):
        (whole / "sample.csv").unlink(missing_ok=True)
        ends["sample: " + killed_sample(zygote, whole, choose.uniform(0, 1.1 * lasts["sample"]))] += 1
    for _ in range(caps):
        ends["cap: " + killed_cap(zygote, whole, choose.uniform(0, 1.1 * lasts["cap"]))] += 1
    return ends


def test_ten_kills(zygote, tmp_path):
    assert sum(campaign(zygote, tmp_path, 6, 2, 2, seed=1).values()) == 10


@pytest.mark.long
def test_seven_hundred_and_fifty_kills(zygote, tmp_path):
    """With the 250 of the federation, a thousand."""
    ends = campaign(zygote, tmp_path, 550, 100, 100, seed=2)
    print(dict(ends))
    assert sum(ends.values()) == 750
    assert ends["publish: continued"] > 50 and ends["publish: begun anew"] > 10
