"""From a table to a signed release, through the pages, with a real run in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from fractions import Fraction

import pytest
from visitor import Visitor, write_table

from understudy.privacy.ledger import Ledger
from understudy.release import Release
from understudy.release.signing import checked
from understudy.studio.run_process import NotedProgress
from understudy.studio.texts import TEXTS

pytestmark = pytest.mark.costly  # every run is a process

FORM = {
    "schema": "schema.toml",
    "data": "people.csv",
    "epsilon": "2",
    "delta": "0",
    "method": "independent",
    "output": "o.csv",
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder in which one run was started and has ended, and its address on the page."""
    folder = tmp_path_factory.mktemp("published")
    write_table(folder)
    key = tmp_path_factory.mktemp("keys") / "key.pem"
    write_key(key)
    visitor = Visitor(folder, key=key)
    run = begin(visitor)
    return visitor, run, wait(visitor, run)


def write_key(path):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def begin(visitor, **changes):
    """Agree and start; the path of the run's page."""
    page = visitor.post("/publish/prepare", **FORM | changes)
    assert page.status_code == 200, page.text
    nonce = re.search(r'name="nonce" value="([^"]+)"', page.text)[1]
    done = visitor.post("/publish/start", nonce=nonce, epsilon_again=changes.get("epsilon", "2"))
    again = visitor.post("/publish/start", nonce=nonce, epsilon_again=changes.get("epsilon", "2"))
    assert done.status_code == 204, done.text
    assert again.headers["hx-redirect"] == done.headers["hx-redirect"]
    return done.headers["hx-redirect"].removeprefix(visitor.base)


def wait(visitor, run):
    """The page of a run that has ended."""
    ends = time.monotonic() + 300
    while TEXTS["run_running"] in (page := visitor.get(run).text):
        assert time.monotonic() < ends
        time.sleep(0.1)
    return page


def test_the_run_is_done_and_paid_for_once(published):
    visitor, _, page = published
    root = visitor.studio.folder.root
    assert TEXTS["run_done"] in page and (root / "o.csv").is_file() and (root / "o.report.html").is_file()
    release = Release.open(root / "o.release.zip")
    with Ledger(root / "understudy-ledger.db") as book:
        entries = book.entries("people")
        account = book.account("people")
    assert [e.kind for e in entries].count("reserve") == 1 and account.spent_epsilon == account.cap_epsilon == 2
    assert [e.body["release"] for e in entries if e.kind == "release"] == [release.hash]


def test_a_new_server_finds_the_run_again(published):
    visitor, run, _ = published
    later = Visitor(visitor.studio.folder.root)
    assert "o.csv" in later.get("/publish").text and TEXTS["run_done"] in later.get(run).text


def test_the_notes_say_nothing_about_rows(published):
    visitor, _, _ = published
    notes = [p for p in (visitor.studio.folder.root / ".understudy-studio").rglob("*") if p.is_file()]
    assert notes and all(p.stat().st_mode & 0o077 == 0 for p in notes)
    known = {"request.json", "progress.json", "result.json"}
    assert {p.name for p in notes} <= known
    result = json.loads(next(p for p in notes if p.name == "result.json").read_text())
    assert set(result) == {"release", "rows", "notes"}, "the row count is public here"


def test_the_report_is_framed_by_the_studio_alone_and_runs_nothing(published):
    visitor, _, page = published
    assert 'sandbox=""' in page
    report = visitor.get("/report", file="o.release.zip")
    policy = report.headers["content-security-policy"]
    assert policy.startswith("sandbox;") and "frame-ancestors 'self'" in policy and "script-src" not in policy
    assert "A stand-in for people" in report.text


def test_downloads_are_what_the_run_wrote_and_nothing_else(published):
    visitor, run, _ = published
    root = visitor.studio.folder.root
    for what, name in (("output", "o.csv"), ("release", "o.release.zip"), ("report", "o.report.html")):
        got = visitor.get(f"{run}/files/{what}")
        assert got.content == (root / name).read_bytes() and "attachment" in got.headers["content-disposition"]
    for what in ("people.csv", "schema", "..%2Fpeople.csv", "ledger"):
        assert visitor.get(f"{run}/files/{what}").status_code == 404
    (root / "o.csv").rename(root / "kept.csv")
    (root / "o.csv").symlink_to("/etc/passwd")
    try:
        assert visitor.get(f"{run}/files/output").status_code == 404
    finally:
        (root / "o.csv").unlink()
        (root / "kept.csv").rename(root / "o.csv")


def test_the_release_is_signed_with_the_key_of_the_command_line(published):
    visitor, run, page = published
    root = visitor.studio.folder.root
    assert TEXTS["sign_button"] in page
    without = Visitor(root)
    assert TEXTS["sign_button"] not in without.get(run).text and without.post(f"{run}/sign").status_code == 422
    assert visitor.post(f"{run}/sign", key="/etc/passwd").status_code == 204
    signature = checked(Release.open(root / "o.release.zip"), root / "o.release.zip.sig")
    assert signature.fingerprint.replace("+", "&#43;") in visitor.get(run).text.replace("+", "&#43;")
    assert visitor.get(f"{run}/files/signature").content == (root / "o.release.zip.sig").read_bytes()


def test_the_stream_of_an_ended_run_ends(published):
    visitor, run, _ = published
    stream = visitor.get(f"{run}/events")
    assert stream.headers["content-type"].startswith("text/event-stream") and "event: end" in stream.text
    assert visitor.get("/runs/" + "0" * 20 + "/events").status_code == 404


def test_taken_names_are_refused(published):
    visitor, _, _ = published
    for output in ("o.csv", "people.csv"):
        assert visitor.post("/publish/prepare", **FORM | {"output": output}).status_code == 422


def test_the_budget_shows_what_was_spent(published):
    visitor, _, _ = published
    page = visitor.get("/budget", schema="schema.toml").text
    assert "epsilon 2 spent of 2; 0 left" in page and "Account opened, cap 2" in page
    over = visitor.post("/publish/prepare", **FORM | {"output": "p.csv"})
    assert over.status_code == 422 and "understudy ledger cap" in over.text, "and the cap stays"


# -- Explore -------------------------------------------------------------------------------------------------------


def test_explore_needs_the_release_alone(published, tmp_path):
    (tmp_path / "o.release.zip").write_bytes((published[0].studio.folder.root / "o.release.zip").read_bytes())
    visitor = Visitor(tmp_path)
    page = visitor.get("/explore/release", file="o.release.zip")
    assert page.status_code == 200 and " style=" not in page.text and "epsilon 2" in page.text
    assert "Cormont" in visitor.get("/explore/column", file="o.release.zip", column="town").text
    answer = visitor.get("/explore/query", file="o.release.zip", question="share by sex", confidence="0.9").text
    assert "Female" in answer and " to " in answer and "The interval covers" in answer
    assert visitor.get("/explore/query", file="o.release.zip", question="share by shoes").status_code == 404
    rows = visitor.get("/explore/rows", file="o.release.zip", given="sex = Female").text
    assert rows.count("<td>Female</td>") == 12 and "<td>Male</td>" not in rows
    sample = visitor.get("/explore/sample", file="o.release.zip", rows="7")
    assert len(sample.text.splitlines()) == 8 and "attachment" in sample.headers["content-disposition"]
    assert visitor.get("/explore/sample", file="o.release.zip", rows="9999999").status_code == 404
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o.release.zip"], "looking writes nothing"


def test_a_damaged_release_is_words(published, tmp_path):
    (tmp_path / "x.release.zip").write_bytes(b"PK nonsense")
    visitor = Visitor(tmp_path)
    for path in ("/explore/release", "/report", "/explore/query"):
        done = visitor.get(path, file="x.release.zip")
        assert done.status_code == 404 and "x.release.zip" in done.text


# -- what goes wrong -----------------------------------------------------------------------------------------------


def test_a_run_that_does_not_fit_says_so_and_gives_the_budget_back(tmp_path):
    write_table(tmp_path)
    with (tmp_path / "people.csv").open("a") as file:
        file.write("1,Zaphod,Brae\n")
    visitor = Visitor(tmp_path)
    page = wait(visitor, begin(visitor))
    assert TEXTS["run_failed"] in page and "Zaphod" not in page
    with Ledger(tmp_path / "understudy-ledger.db") as book:
        account = book.account("people")
    assert account is None or account.spent_epsilon == 0


def test_a_note_that_could_not_be_written_is_made_up_for(published):
    """A full disk: the release is there, the ledger knows it, and only the last note is missing."""
    visitor, run, _ = published
    note = visitor.studio.folder.root / ".understudy-studio" / "runs" / run.split("/")[-1] / "result.json"
    text = note.read_text()
    note.unlink()
    try:
        assert TEXTS["run_done"] in visitor.get(run).text
        NotedProgress(note.parent / "absent", Fraction(1), "epsilon 1", True)("tables", 1, 2, Fraction(0))
    finally:
        note.write_text(text)
        note.chmod(0o600)


def test_a_table_that_is_changed_after_the_agreement_is_not_read(tmp_path, monkeypatch):
    write_table(tmp_path)
    visitor = Visitor(tmp_path)
    start = visitor.studio.runs._start

    def late(name, spend, note):
        with (tmp_path / "people.csv").open("a") as file:
            file.write("1,Male,Brae\n")
        return start(name, spend, note)

    monkeypatch.setattr(visitor.studio.runs, "_start", late)
    page = wait(visitor, begin(visitor))
    assert "between the agreement and the run" in page and not (tmp_path / "understudy-ledger.db").exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="a small disk needs root")
def test_a_full_disk_loses_nothing(tmp_path, request):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    request.addfinalizer(lambda: subprocess.run(["umount", "-l", str(disk)], check=True))
    write_table(disk)
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(b"x" * (free.f_bavail * free.f_bsize - (28 << 10)))
    visitor = Visitor(disk, ledger=tmp_path / "ledger.db")
    page = wait(visitor, begin(visitor))
    assert TEXTS["run_done"] not in page
    (disk / "filler").unlink()
    assert TEXTS["run_done"] in wait(visitor, begin(visitor))
    with Ledger(tmp_path / "ledger.db") as book:
        account, kinds = book.account("people"), [e.kind for e in book.entries("people")]
    assert account.spent_epsilon == 2 and kinds.count("release") == 1
    assert kinds.count("reserve") - kinds.count("void") == 1


def processes(word):
    """Ids of the processes whose arguments hold a word."""
    found = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    return [int(line.split()[0]) for line in found.splitlines() if word in line and "ps -eo" not in line]


@pytest.mark.slow
def test_a_killed_run_is_found_and_goes_on_without_paying_twice(tmp_path):
    write_table(tmp_path)
    visitor = Visitor(tmp_path)
    run = begin(visitor)
    ids = processes(run.split("/")[-1])
    for pid in ids:
        os.kill(pid, signal.SIGKILL)
    later = Visitor(tmp_path)  # another server
    page = wait(later, run)
    if TEXTS["run_interrupted"] in page:  # else it was faster than the signal
        assert TEXTS["run_done"] in wait(later, begin(later))
    with Ledger(tmp_path / "understudy-ledger.db") as book:
        account = book.account("people")
        released = [e for e in book.entries("people") if e.kind == "release"]
    assert account.spent_epsilon == 2 and len(released) == 1
