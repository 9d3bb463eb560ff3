"""Fuzz: damaged, strange and hostile tables and schema files through the verbs that read them.

Every case ends in an exit code of the contract and words of ours; no cell is in what is printed or drafted; none hangs.
"""

from __future__ import annotations

import faulthandler
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest
from command import Outcome, run
from odd_input import CANARY, Odd, first_line, odd_csv, odd_parquet
from odd_schemas import odd_schema

from understudy.errors import BudgetError
from understudy.privacy.ledger import Ledger
from understudy.schema import Schema

CASES, MANY = 100, 10_000
LONGEST = 20  # seconds of CPU that one command may take
KINDS: dict[str, Callable[[int, Path], Odd]] = {"csv": odd_csv, "toml": odd_schema, "parquet": odd_parquet}


def attempt(what: str, *arguments: object) -> Outcome:
    """Run a verb that must not fail in an unforeseen way, hang, or print what is left of a cell."""
    faulthandler.dump_traceback_later(20 * LONGEST, exit=True)
    begun = time.process_time()
    done = run(*arguments)
    faulthandler.cancel_dump_traceback_later()
    assert time.process_time() - begun < LONGEST, f"{what}: slow"
    assert done.code in (0, 1, 2, 3, 4) and "unexpected" not in done.text, f"{what}: {done.text}"
    return done


def assert_silent(what: str, text: str) -> None:
    assert CANARY.search(text) is None, f"{what}: {text}"


def check_case(kind: str, number: int, folder: Path) -> None:
    odd, what = KINDS[kind](number, folder), f"{kind} {number}"
    draft = folder / "draft.toml"
    draft.unlink(missing_ok=True)
    if kind != "toml":
        done = attempt(f"{what} init", "init", odd.data, "-o", draft, *odd.init)
        check_draft(f"{what} init {odd.init}", odd, draft, done)
    if kind == "csv" and number % 10 == 0:  # its rows are read then, for a comparison
        flags = ("-o", folder / "d.toml", "--force", "--public", public_file(folder))
        shown = attempt(f"{what} init --public", "init", odd.data, *flags)
        assert_silent(what, shown.text if shown.code else "")
    as_json = ("--json",) if number % 2 else ()
    checked = attempt(f"{what} check", "check", odd.data, "--schema", odd.schema, *as_json)
    assert_silent(f"{what} check", checked.text)
    flags = ("--schema", odd.schema, "--epsilon", 1, "-o", folder / "out.csv", "--ledger", folder / "ledger.db")
    with mock.patch.object(Ledger, "reserve", side_effect=BudgetError("stopped before anything is reserved")):
        published = attempt(f"{what} publish", "publish", odd.data, *flags, *as_json)
    assert_silent(f"{what} publish", published.text)
    assert published.code != 0 and (checked.code, published.code) in ((0, 3), (0, 2), (4, 4), (2, 2), (4, 2)), what
    if kind == "toml":
        attempt(f"{what} plan", "plan", "--schema", odd.schema, "--epsilon", 1)


def public_file(folder: Path) -> Path:
    path = folder / "published.csv"
    path.write_text("age,sex,town\n" + "".join(f"{age},Female,Brae\n" for age in range(30)), encoding="utf-8")
    return path


def check_draft(what: str, odd: Odd, draft: Path, done: Outcome) -> None:
    """A canary is in a draft only if it is in the first line, and a person has said, or is asked, that those are names."""
    if not draft.exists():
        assert done.code == 2
        assert_silent(what, done.text)
        return
    text = draft.read_text(encoding="utf-8")
    asked = "--header" in odd.init or ("[table]", "header") in Schema.from_toml(text).unconfirmed
    named = odd.data.suffix.lower() in (".parquet", ".pq") or CANARY.search(first_line(odd.data)) is not None
    if not (asked and named and "--no-header" not in odd.init and "--names" not in odd.init):
        assert_silent(what, done.text + text)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_odd_input_is_refused_in_words_and_never_echoed(tmp_path, kind):
    for number in range(CASES):
        check_case(kind, number, tmp_path)


@pytest.mark.parametrize(
    ("kind", "number"), [("csv", 149), ("toml", 6123), ("parquet", 117), ("parquet", 1411), ("parquet", 7715)]
)
def test_what_the_long_run_found(tmp_path, kind, number):
    """A damaged gzip stream beside a codebook, cells of a bin up to 1e308, a time beyond the year 9999, a name that is
    no text, a number of no text."""
    check_case(kind, number, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_odd_input_many_times(tmp_path, kind):
    for number in range(CASES, MANY):
        check_case(kind, number, tmp_path)
