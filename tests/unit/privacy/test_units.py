"""The unit of an account: what is spent on a person with one row does not add up with what is spent on one with thirty."""

from __future__ import annotations

import math
import shutil
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from conftest import schema_of
from understudy.errors import BudgetError
from understudy.privacy.budget import Budget
from understudy.privacy.entries import group_privacy
from understudy.privacy.ledger import Ledger
from understudy.privacy.refusals import refuse_early

REQUEST = {"method": "test", "options": {}}
FIXTURES = Path(__file__).parents[2] / "fixtures" / "v0.1"


def with_rows_per_person(k: int):
    return schema_of({"a": 2, "b": 3}, rows=100, rows_per_person=k)


def test_one_account_has_one_unit(ledger_path):
    """The attack: runs of 3, 1 and 30 rows a person were accepted, and the card said epsilon 3 where it was 41."""
    ledger = Ledger(ledger_path)
    ledger.reserve(with_rows_per_person(3), Budget(1), REQUEST, unlimited=True).finish("r")
    for k in (1, 30):
        with pytest.raises(BudgetError, match="does not add up"):
            ledger.reserve(with_rows_per_person(k), Budget(1), REQUEST)
        with pytest.raises(BudgetError, match="rows_per_person = 3"):
            refuse_early(ledger, with_rows_per_person(k), Budget(1))
    ledger.reserve(with_rows_per_person(3), Budget(1), REQUEST).finish("r")
    account = ledger.account("people")
    assert account is not None and (account.spent_epsilon, account.rows_per_person, account.mixed) == (2, 3, False)


def test_a_run_that_was_given_back_fixes_no_unit(ledger_path):
    ledger = Ledger(ledger_path)
    ledger.reserve(with_rows_per_person(3), Budget(1), REQUEST, unlimited=True).abandon("DataError")
    ledger.reserve(with_rows_per_person(1), Budget(1), REQUEST).finish("r")


def test_an_old_account_of_mixed_units_is_converted_and_closed_to_other_units(tmp_path):
    ledger = Ledger(Path(shutil.copy(FIXTURES / "mixed-units.db", tmp_path)))
    account = ledger.account("people")
    assert account is not None and account.mixed
    assert (account.spent_epsilon, account.rows_per_person) == (41, 30)  # 10 times 1, 30 times 1, and 1
    for k in (1, 3, 31):
        with pytest.raises(BudgetError, match="up to 30 rows"):
            ledger.reserve(with_rows_per_person(k), Budget(1), REQUEST)
    ledger.reserve(with_rows_per_person(30), Budget(1), REQUEST).finish("r")
    account = ledger.account("people")
    assert account is not None and account.spent_epsilon == 42


def test_group_privacy_holds_for_randomised_response_in_groups():
    """The law: (epsilon, delta) for one, measured over all outcomes of m people's answers together."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 50)
    leak = float(delta)  # with this probability the answer is shown as it is
    truth = leak + (1 - leak) * math.exp(0.5) / (1 + math.exp(0.5))
    for m in (1, 2, 3):
        total_epsilon, total_delta = group_privacy(epsilon, delta, m)
        gap = 0.0
        for outcome in product((0, 1), repeat=m):
            p = math.prod(truth if o else 1 - truth for o in outcome)
            q = math.prod(1 - truth if o else truth for o in outcome)
            gap += max(0.0, p - math.exp(float(total_epsilon)) * q)
        assert gap <= float(total_delta) + 1e-12
        naive = m * delta  # the broken twin: deltas that only add up
        if m == 3:
            assert total_delta > naive


def test_group_privacy_in_figures():
    assert group_privacy(Fraction(1), Fraction(0), 10) == (10, 0)
    epsilon, delta = group_privacy(Fraction(1), Fraction(1, 10**9), 3)
    assert epsilon == 3 and 3 * math.exp(2) * 1e-9 <= delta <= 3 * math.exp(2) * 1e-9 * (1 + 1e-6)
    assert group_privacy(Fraction(2000), Fraction(1, 10**300), 2) == (4000, 1)
