"""A hostile look at the audit: every mistake that it is for, made on purpose, is seen by the part that is there for it."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from understudy.audit import broken_twins as twins
from understudy.audit.audit_page import audit_page
from understudy.audit.enumeration import World
from understudy.audit.findings import AuditReport, Control, Finding
from understudy.audit.mechanisms import MECHANISMS
from understudy.audit.replay import replayed, settings
from understudy.audit.whole_runs import fresh_ledgers
from understudy.privacy.accounting import PURE, ZCDP


def world(what: str, person: int = 1, accounting=PURE) -> World:
    return World(next(m for m in MECHANISMS if m.what == what), "replace-one", person, accounting)


@pytest.mark.parametrize("accounting", [PURE, ZCDP])
@pytest.mark.parametrize(
    ("what", "person", "twin"),
    [
        ("tables of counts", 1, twins.noise_halved),
        ("tables of counts", 1, twins.replaced_row_counted_once),
        ("tables of counts", 2, twins.rows_of_a_person_ignored),
        ("choice by score D", 1, twins.selection_quartered),
        ("choice by score D", 2, twins.rows_of_a_person_ignored),
    ],
)
def test_exact_laws_show_a_wrong_calibration(what, person, twin, accounting) -> None:
    sound = world(what, person, accounting).finding()
    assert sound.holds and sound.bound is not None and sound.bound > 0.8 * sound.claim
    with twin():
        broken = world(what, person, accounting).finding()
    assert not broken.holds and broken.bound > 1.5 * broken.claim


def test_a_scale_that_depends_on_the_rows_is_a_leak_by_itself(monkeypatch) -> None:
    from understudy.privacy.noise import Laplace
    from understudy.schema import Integers

    def draw(self: Laplace, values: Integers, source) -> Integers:
        return source.laplace(values.ravel(), self.scale * (1 + int(values.max()) / 1000)).reshape(values.shape)

    monkeypatch.setattr(Laplace, "draw", draw)
    found = world("tables of counts").finding()
    assert not found.holds and "depends on the rows" in found.says


@pytest.mark.parametrize(
    ("twin", "says"),
    [
        (None, "questions alike"),
        (twins.charged_after_counting, "counted before the charge"),
        (twins.question_from_the_rows, "on the neighbour"),
        (twins.price_from_the_rows, "on the neighbour"),
        (twins.figure_from_the_rows, "another release"),
        (twins.noise_halved, "more than its budget"),
    ],
)
def test_replay_shows_what_depends_on_the_rows(twin, says) -> None:
    setting = next(s for s in settings(long=False) if s.method == "privbayes")
    with fresh_ledgers() as ledgers:
        if twin is None:
            found = replayed(setting, ledgers)
        else:
            with twin():
                found = replayed(setting, ledgers)
    assert found.holds == (twin is None) and says in found.says


@pytest.mark.parametrize(
    ("twin", "says"),
    [
        (None, "questions alike"),
        (twins.one_level_of_tables_charged, "more than its budget"),
        (twins.tables_cut_by_the_rows_of_others, "more than its budget"),
        (twins.charged_after_counting, "counted before the charge"),
    ],
)
def test_replay_of_tables_with_foreign_keys_shows_what_is_charged_for_one_level_only(twin, says) -> None:
    setting = next(s for s in settings(long=False) if "foreign keys" in s.what)
    with twin() if twin else nullcontext(), fresh_ledgers() as ledgers:
        found = replayed(setting, ledgers)
    assert found.holds == (twin is None) and says in found.says
    assert twin is not None or found.bound > 0.9 * found.claim  # the comer has more than is used, everywhere


def test_a_report_of_a_broken_program_says_so() -> None:
    fine = Finding("replay", "a method", True, "as it should be", 1.0, 0.9, "epsilon")
    caught, missed = (Control("replay", "a <twin>", seen, "found or not") for seen in (True, False))
    good, bad = (AuditReport(False, (fine,), (control,), ("a limit",), {"replay": 1.0}) for control in (caught, missed))
    assert good.holds and "Every claim stands" in audit_page(good) and "1 of 1 broken twins" in good.text()
    assert not bad.holds and "MISSED" in audit_page(bad) and "!!" in bad.text()
    assert "a &lt;twin&gt;" in audit_page(good) and "http" not in audit_page(good).replace("http-equiv", "")
    assert bad.as_json()["controls"][0]["caught"] is False
