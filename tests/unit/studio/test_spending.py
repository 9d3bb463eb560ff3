"""A spend: the word that starts it, what it is bound to, and that caps cannot be moved from the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from visitor import Visitor, write_table

from understudy.errors import BudgetError, UsageError
from understudy.lock import ProcessLock
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.schema import Schema
from understudy.studio.folder import Folder
from understudy.studio.runs import LOCK, REQUEST, request_note, secret_note, write_note
from understudy.studio.source import TableSource
from understudy.studio.spending import NONCE_SECONDS, Confirmations, PlannedRun, refuse_change, run_name, spent_on

FORM = {
    "schema": "schema.toml",
    "data": "people.csv",
    "epsilon": "2",
    "delta": "0",
    "method": "auto",
    "output": "o.csv",
}


@pytest.fixture
def visitor(tmp_path):
    write_table(tmp_path)
    return Visitor(tmp_path)


@pytest.fixture
def started(monkeypatch, visitor):
    """What would be started, without starting it."""
    found = []

    def start(name, spend, note):
        found.append(spend)
        place = visitor.studio.folder.make_state("runs") / name
        place.mkdir()
        write_note(place / REQUEST, note)

    monkeypatch.setattr(visitor.studio.runs, "_start", start)
    return found


def prepared(visitor, **changes):
    done = visitor.post("/publish/prepare", **FORM | changes)
    assert done.status_code == 200, done.text
    return re.search(r'name="nonce" value="([^"]+)"', done.text)[1]


def start(visitor, nonce, epsilon="2", **more):
    return visitor.post("/publish/start", nonce=nonce, epsilon_again=epsilon, **more)


def spend_of(schema, **changes):
    source = TableSource("postgresql://me:Zaphod4711@h/db?table=people", "table people", False)
    values = {
        "schema_file": "schema.toml", "schema_text": schema.to_toml(), "schema_hash": schema.hash, "source": source,
        "fingerprint": "f", "account": "people", "budget": Budget(1), "method": "auto", "output": "o.csv",
        "spent_before": "new",
    }  # fmt: skip
    return PlannedRun(**values | changes)


# -- the word ------------------------------------------------------------------------------------------------------


def test_nothing_is_spent_or_started_before_the_word(visitor, started):
    page = visitor.post("/publish/prepare", **FORM)
    assert "epsilon 2" in page.text and "this epsilon becomes its cap" in page.text and not started
    assert not (visitor.studio.folder.root / "understudy-ledger.db").exists()


PRIVATE = '[table]\nname = "people"\nneighbours = "add-remove"\n'
OPEN = '[attributes.town]\nkind = "category"\nvalues = "discover"'
HISTORIES = """[person]
id = "town"
order = "age"
at_most = 3
[attributes.town]
kind = "id"
"""


@pytest.mark.parametrize("kind", ["rows", "persons", "open", "most"])
def test_a_private_number_of_rows_can_be_agreed_to(visitor, started, kind):
    path = visitor.studio.folder.root / "schema.toml"
    columns = path.read_text().split("\n\n", 1)[1]
    known, town = columns.split("[attributes.town]")
    more = {"persons": HISTORIES, "open": OPEN}.get(kind, f"[attributes.town]{town}")
    path.write_text(PRIVATE + ("rows_max = 60\n" if kind == "most" else "") + known + more)
    changes = {"epsilon": "8", "delta": "0.001"}
    page = visitor.post("/publish/prepare", **FORM | changes)
    assert page.status_code == 200, page.text
    assert ("How many rows there are is private" in page.text) == (kind != "most")
    assert start(visitor, prepared(visitor, **changes), "8").status_code == 204 and len(started) == 1


def test_a_double_click_is_one_run(visitor, started):
    nonce = prepared(visitor)
    first, second = start(visitor, nonce), start(visitor, nonce)
    assert first.status_code == second.status_code == 204 and len(started) == 1
    assert first.headers["hx-redirect"] == second.headers["hx-redirect"]


def test_epsilon_typed_wrong_starts_nothing_and_uses_nothing_up(visitor, started):
    nonce = prepared(visitor)
    for wrong in ("", "1", "20", "two", "2e9"):
        assert start(visitor, nonce, wrong).status_code == 422
    assert not started
    assert start(visitor, nonce, " 2.0 ").status_code == 204 and len(started) == 1


def test_a_made_up_word_starts_nothing(visitor, started):
    assert start(visitor, "guess").status_code == 422 and start(visitor, "").status_code == 422 and not started


def test_a_word_is_of_one_session_and_grows_old():
    now = [0.0]
    waiting = Confirmations(lambda: now[0])
    spend = spend_of(Schema.from_toml(SCHEMA))
    nonce = waiting.offer("mine", spend)
    assert waiting.take("another's", nonce, "1") is None
    now[0] = NONCE_SECONDS + 1
    assert waiting.take("mine", nonce, "1") is None
    nonce = waiting.offer("mine", spend)
    assert waiting.take("mine", nonce, "1") == spend and waiting.take("mine", nonce, "1") is None


SCHEMA = '[table]\nname = "people"\nrows = 9\n[attributes.ok]\nkind = "boolean"\n'


@pytest.mark.parametrize("change", ["schema_hash", "fingerprint", "account", "spent_before"])
def test_what_has_changed_since_is_refused(change):
    agreed = spend_of(Schema.from_toml(SCHEMA))
    refuse_change(agreed, agreed)
    with pytest.raises((UsageError, BudgetError), match="look again"):
        refuse_change(agreed, replace(agreed, **{change: "other"}))


def test_a_changed_schema_starts_nothing(visitor, started):
    nonce = prepared(visitor)
    path = visitor.studio.folder.root / "schema.toml"
    path.write_text(path.read_text().replace("Cormont", "Dunmere"))
    assert "schema was changed" in start(visitor, nonce).text and not started
    assert start(visitor, nonce).status_code == 422, "the word is used up"


def test_a_changed_table_starts_nothing(visitor, started):
    nonce = prepared(visitor)
    with (visitor.studio.folder.root / "people.csv").open("a") as file:
        file.write("1,Male,Brae\n")
    assert "table was changed" in start(visitor, nonce).text and not started


def test_of_two_windows_the_second_looks_again(visitor, started):
    one, two = prepared(visitor), prepared(visitor)
    assert start(visitor, one).status_code == 204
    schema = Schema.open(visitor.studio.folder.root / "schema.toml")
    with Ledger(visitor.studio.folder.root / "understudy-ledger.db") as book:  # what the first run does
        book.reserve(schema, Budget(2), {"method": "aim"}, fingerprint="f")._lock.release()
    late = start(visitor, two)
    assert late.status_code == 422 and "since you looked" in late.text and len(started) == 1


def test_two_runs_on_one_account_never_run_side_by_side(visitor, started):
    one, two = prepared(visitor), prepared(visitor, output="p.csv")
    assert start(visitor, one).status_code == 204
    lock = ProcessLock(visitor.studio.folder.state / "runs" / run_name(one) / LOCK)
    assert lock.acquire()
    try:
        late = start(visitor, two)
        assert late.status_code == 422 and "under way" in late.text and len(started) == 1
    finally:
        lock.release()


# -- caps ----------------------------------------------------------------------------------------------------------


def test_over_the_cap_nothing_can_be_agreed_to(visitor):
    schema = Schema.open(visitor.studio.folder.root / "schema.toml")
    with Ledger(visitor.studio.folder.root / "understudy-ledger.db") as book:
        book.reserve(schema, Budget(1), {"method": "x"}, cap="1", fingerprint="f").abandon("test")
        book.close_unfinished("people")
        left = book.account("people")
    done = visitor.post("/publish/prepare", **FORM)
    assert done.status_code == 422 and "short by" in done.text and "nonce" not in done.text
    assert (
        spent_on(visitor.studio.folder.root / "understudy-ledger.db", "people").endswith(" 1") and left.cap_epsilon == 1
    )


def test_no_field_moves_a_cap(visitor, started):
    more = {"cap": "100", "force": "yes", "resume": "yes", "unlimited": "1", "accept_large_epsilon": "yes"}
    assert start(visitor, prepared(visitor, **more), **more).status_code == 204
    assert not {"cap", "force"} & set(request_note(started[0], visitor.studio.folder.root / "l.db", False))
    assert visitor.post("/publish/prepare", **FORM | more | {"epsilon": "11"}).status_code == 422


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "0"},
        {"epsilon": "-1"},
        {"epsilon": "many"},
        {"epsilon": ""},
        {"delta": "2"},
        {"method": "magic"},
        {"data": ""},
    ],
)
def test_a_wrong_request_is_words(visitor, wrong):
    done = visitor.post("/publish/prepare", **FORM | wrong)
    assert done.status_code == 422 and 'class="bad"' in done.text


# -- what is written down ------------------------------------------------------------------------------------------


def test_an_address_is_in_no_note(tmp_path):
    spend = spend_of(Schema.from_toml(SCHEMA))
    note = json.dumps(request_note(spend, tmp_path / "ledger.db", False))
    assert "Zaphod" not in note + repr(spend) and "postgresql" not in note and "table people" in note
    assert "Zaphod" in json.dumps(secret_note(spend)), "the process is told"


def test_a_fingerprint_tells_nothing_without_the_key(tmp_path):
    write_table(tmp_path)
    source = TableSource.of(Folder.of(tmp_path), "people.csv")
    assert source.fingerprint() == source.fingerprint() != source.fingerprint(b"another key")
