"""Accounts kept in Gaussian DP: what a pure run costs there, the exact law of runs that follow from runs, the ledger."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri

from conftest import schema_of
from understudy.errors import BudgetError, LedgerError, UsageError
from understudy.formats import GAUSSIAN_LEDGER_FORMAT, LEDGER_FORMAT
from understudy.privacy import ledger_file
from understudy.privacy.accounting import gaussian_scale, gdp_delta, gdp_epsilon, gdp_mu_squared, pure_mu_squared
from understudy.privacy.budget import Budget, exact
from understudy.privacy.entries import Account
from understudy.privacy.ledger import Ledger
from understudy.privacy.refusals import refuse_early
from understudy.privacy.sensitivity import Sensitivity

SCHEMA = schema_of({"a": 2, "b": 3}, rows=100)
REQUEST = {"method": "test", "options": {}}
EPSILONS = ("1e-12", "1e-6", "1e-3", "0.1", "1", "4", "20", "29.9", "31", "700", "10000")
Floats = NDArray[np.float64]


# -- what a pure epsilon is in mu --------------------------------------------------------------------------------


def at_the_kink(epsilon: float, mu: float) -> float:
    """How far, in standard deviations, the normal trade-off function is above the one of a pure epsilon at its kink.

    That one is two straight lines from (0, 1) and (1, 0) to (a, a), a = 1 / (1 + e^ε); the other is convex between the
    same ends, so it is below both lines if it is at most a there.
    """
    return 2 * -float(ndtri(1 / (1 + math.exp(epsilon)))) - mu


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_pure_run_is_no_further_than_its_normal_pair(epsilon: str) -> None:
    mu = math.sqrt(pure_mu_squared(exact(epsilon)))
    if float(epsilon) < 700:
        assert at_the_kink(float(epsilon), mu) <= 1e-15
    else:  # Φ(−t) ≤ e^(−t²/2), at which t² = 2·ln(1 + e^ε) ≤ 2ε + 2e^(−ε); and half of mu is such a t
        assert (mu / 2) ** 2 >= 2 * float(epsilon)


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-3", "0.1", "1", "4", "20"])
def test_no_more_is_charged_than_that(epsilon: str) -> None:
    assert at_the_kink(float(epsilon), math.sqrt(pure_mu_squared(exact(epsilon))) * (1 - 1e-5)) > 0


@pytest.mark.parametrize("level", [0.0, 0.2, 0.5, 1.0, 1.3])
def test_every_order_of_randomized_response_is_within_it(level: float) -> None:
    """Randomized response is the worst of all pure mechanisms; the twin charges it what a selection costs."""
    epsilon = 1.4
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    excess = max(0.0, truth - math.exp(level) * (1 - truth)) + max(0.0, (1 - truth) - math.exp(level) * truth)
    assert excess <= gdp_delta(math.sqrt(pure_mu_squared(exact(epsilon))), level)
    selection = 2 * -float(ndtri(1 / (1 + math.exp(epsilon / 2))))
    assert level > 0.2 or excess > gdp_delta(selection, level)


@pytest.mark.parametrize("delta", ["1e-15", "1e-12", "1e-6", "0.1", "0.999999"])
@pytest.mark.parametrize(
    "epsilon", [*map(str, (0.001, 0.1, 1, 10, 500)), pytest.param("10000", marks=pytest.mark.costly), "25000"]
)
def test_epsilon_comes_back_from_mu(epsilon: str, delta: str) -> None:
    found = gdp_epsilon(gdp_mu_squared(exact(epsilon), exact(delta)), exact(delta))
    assert float(found) == pytest.approx(float(epsilon), rel=1e-5)
    assert gdp_delta(math.sqrt(gdp_mu_squared(exact(epsilon), exact(delta))), float(found)) <= float(delta)


@pytest.mark.parametrize("mu", [0.01, 1.0, 40.0, 149.9, 150.1, 400.0, 3000.0])
@pytest.mark.parametrize("tail", [-5.0, -1.0, 0.0, 2.0, 6.0])
def test_the_curve_is_that_of_normal_tails(mu: float, tail: float) -> None:
    """Also where many runs add up to far more than a run may have."""
    epsilon = mu * (tail + mu / 2)
    a = epsilon / mu - mu / 2
    if epsilon > 0:
        expected = ndtr(-a) - math.exp(epsilon + log_ndtr(-a - mu))
        assert gdp_delta(mu, epsilon) == pytest.approx(expected, rel=1e-6, abs=1e-14)


def test_nothing_spent_is_nothing() -> None:
    assert gdp_epsilon(Fraction(0), Fraction(1, 10**6)) == 0


# -- runs that follow from runs ----------------------------------------------------------------------------------

COUNTS = np.arange(-90, 91)
WHOLE = 1.0  # mu squared


def counted(centre: int, cost: float) -> Floats:
    """The law of a noisy count at this price in mu squared."""
    weights = np.exp(-((COUNTS - centre) ** 2) / (2 * gaussian_scale(Sensitivity(1, 1), exact(cost)) ** 2))
    return np.asarray(weights / weights.sum())


def excess(level: float, price: Callable[[Fraction], Fraction]) -> float:
    """E_γ, γ = e^level, of a pure run (randomized response at 0.6) and a run after it that takes all that is left where
    the first one answered "yes", and little where it did not."""
    epsilon, total = 0.6, 0.0
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    left = WHOLE - float(price(exact(epsilon)))
    for p, q, second in ((truth, 1 - truth, left), (1 - truth, truth, left / 16)):
        total += np.maximum(p * counted(1, second) - math.exp(level) * q * counted(0, second), 0).sum()
    return float(total)


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0, 2.0, 3.0])
def test_runs_that_follow_from_runs_are_within_the_cap(level: float) -> None:
    assert excess(level, pure_mu_squared) <= gdp_delta(math.sqrt(WHOLE), level)


def test_a_pure_run_that_is_not_counted_is_seen() -> None:
    assert excess(2.0, lambda epsilon: Fraction(0)) > gdp_delta(math.sqrt(WHOLE), 2.0)


# -- the ledger --------------------------------------------------------------------------------------------------


def opened(ledger: Ledger, epsilon: str = "2", delta: str = "1e-6", lists: str = "0") -> Account:
    return ledger.open_account(SCHEMA, epsilon, delta, lists)


def state_of(ledger: Ledger) -> Account:
    state = ledger.account("people")
    assert state is not None
    return state


def test_ten_runs_come_to_far_less_than_their_sum(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    fresh = opened(ledger)
    assert (fresh.spent_epsilon, fresh.spent_delta, fresh.left_epsilon) == (0, 0, pytest.approx(2))
    for _ in range(10):
        ledger.reserve(SCHEMA, Budget("0.5", "1e-9"), REQUEST).finish("r")
    state = state_of(ledger)
    assert state.gaussian is not None and state.gaussian.summed == 5
    assert 1.2 < state.spent_epsilon < 1.3 and state.spent_delta == Fraction(1, 10**6)
    assert state.spent_epsilon == gdp_epsilon(
        10 * gdp_mu_squared(Fraction(1, 2), Fraction(1, 10**9)), state.spent_delta
    )
    said = state.as_json()
    assert said["kept_in"] == "mu^2" and said["sum_of_epsilons"] == 5 and said["more_like_the_last"] > 10
    for _ in range(said["more_like_the_last"]):
        ledger.reserve(SCHEMA, Budget("0.5", "1e-9"), REQUEST).finish("r")
    with pytest.raises(BudgetError, match="At most epsilon 0.* at delta 1e-09 still fits. Nothing was read"):
        ledger.reserve(SCHEMA, Budget("0.5", "1e-9"), REQUEST)


def test_what_is_said_to_fit_fits_and_no_more(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    ledger.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST).finish("r")
    left = state_of(ledger).left_epsilon
    assert left is not None and left > 1  # of 2, after 1: squares add up
    with pytest.raises(BudgetError):
        ledger.reserve(SCHEMA, Budget(left * Fraction(1001, 1000), "1e-6"), REQUEST)
    ledger.reserve(SCHEMA, Budget(left * Fraction(999, 1000), "1e-6"), REQUEST).finish("r")


def test_the_whole_cap_can_be_spent_in_one_run(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    ledger.reserve(SCHEMA, Budget(2, "1e-6"), REQUEST).finish("r")
    assert float(state_of(ledger).spent_epsilon) == pytest.approx(2)
    assert state_of(ledger).left_epsilon == 0


def test_the_largest_cap_holds_the_largest_runs(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger, "10000")
    total = state_of(ledger).gaussian
    assert total is not None and float(total.equal_runs(Fraction(10_000), 1)) == pytest.approx(10_000)
    assert 5_000 < total.equal_runs(Fraction(10_000), 2) < 5_200
    ledger.reserve(SCHEMA, Budget(10_000, "1e-6"), REQUEST).finish("r")
    assert float(state_of(ledger).spent_epsilon) == pytest.approx(10_000) and state_of(ledger).left_epsilon == 0
    with pytest.raises(BudgetError, match="Nothing more fits. Nothing was read"):
        ledger.reserve(SCHEMA, Budget("0.1", "1e-6"), REQUEST)
    with pytest.raises(UsageError, match="no privacy at all"):
        ledger.cap("people", 10_001, "more")
    ledger.cap("people", None, "without end")
    for _ in range(3):
        ledger.reserve(SCHEMA, Budget(10_000), REQUEST).finish("r")
    assert 100_000 < state_of(ledger).spent_epsilon < 300_000 and state_of(ledger).as_json()["epsilon"]


@pytest.mark.parametrize(("asked", "delta"), [("3", "1e-9"), ("3", "1e-6"), ("3", "0.001")])
def test_what_a_refusal_says_to_fit_fits(asked: str, delta: str, ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger, lists="0.001")
    ledger.reserve(SCHEMA, Budget("0.7", "1e-9"), REQUEST).finish("r")

    def budget(epsilon: str) -> Budget:
        return Budget(epsilon, delta).setting_aside(exact(delta) / 2)

    with pytest.raises(BudgetError) as refused:
        ledger.reserve(SCHEMA, budget(asked), REQUEST)
    said = re.search(r"At most epsilon (\S+) at delta", refused.value.message)
    assert said is not None
    ledger.reserve(SCHEMA, budget(said[1]), REQUEST).abandon("it fits")
    with pytest.raises(BudgetError):
        ledger.reserve(SCHEMA, budget(str(float(said[1]) * 1.0001)), REQUEST)


def test_pure_runs_are_counted_too(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    ledger.reserve(SCHEMA, Budget("0.1"), REQUEST).finish("r")
    assert state_of(ledger).spent_epsilon == gdp_epsilon(pure_mu_squared(Fraction(1, 10)), Fraction(1, 10**6))


def test_what_was_not_drawn_is_given_back(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    ledger.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST).abandon("it failed")
    assert state_of(ledger).spent_epsilon == 0


def begun(ledger: Ledger, **more: bool) -> None:
    reservation = ledger.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST, fingerprint="x", **more)
    reservation.charge("tables", Fraction(1, 1000), "question").drawing()
    reservation._mark(0, "drawn", b"answer")
    reservation.abandon("killed")


def test_an_interrupted_run_goes_on_and_is_paid_once(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    begun(ledger)
    spent = state_of(ledger).spent_epsilon
    again = ledger.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST, fingerprint="x")
    assert again.resumed and state_of(ledger).spent_epsilon == spent > 0
    again.abandon("the test is over")


def test_a_run_from_a_seed_is_not_taken_up_as_a_private_one(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    begun(ledger, private=False)
    private = ledger.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST, fingerprint="x")
    assert not private.resumed
    private.abandon("the test is over")


def test_the_cap_can_be_changed_and_the_delta_cannot(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    with pytest.raises(UsageError, match="whose delta stays as it was opened with"):
        ledger.cap("people", 3, "the board agreed", delta="1e-5")
    ledger.cap("people", 3, "the board agreed")
    ledger.reserve(SCHEMA, Budget("2.5", "1e-9"), REQUEST).finish("r")
    ledger.cap("people", None, "no cap any more")
    state = state_of(ledger)
    assert state.left_epsilon is None and state.as_json()["more_like_the_last"] is None
    ledger.reserve(SCHEMA, Budget(10, "1e-3"), REQUEST).finish("r")
    ledger.cap("people", 0, "stopped")
    with pytest.raises(BudgetError, match="the cap is 0"):
        ledger.reserve(SCHEMA, Budget("0.01", "1e-9"), REQUEST)


def test_lists_have_a_delta_of_their_own(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger, lists="2e-9")
    with_lists = Budget(1, "1e-8").setting_aside(Fraction(1, 10**9))
    for _ in range(2):
        ledger.reserve(SCHEMA, with_lists, REQUEST).finish("r")
    state = state_of(ledger)
    assert state.spent_delta == Fraction(1, 10**6) + Fraction(2, 10**9) == state.cap_delta
    with pytest.raises(BudgetError, match="aside for lists of values, and of the 2e-09 .* 0 is left"):
        ledger.reserve(SCHEMA, with_lists, REQUEST)
    ledger.reserve(SCHEMA, Budget("0.1", "1e-9"), REQUEST).finish("r")


def test_owners_of_a_federation_are_refused(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    with pytest.raises(BudgetError, match="choose an account of sums for federations .*`account = "):
        ledger.reserve(SCHEMA, Budget(1, "1e-9").in_rho(), REQUEST)
    ledger.reserve(SCHEMA, Budget("0.1").in_rho(), REQUEST).finish("r")  # a pure one is the same in any unit


@pytest.mark.parametrize("unfinished", [False, True])
def test_owners_are_refused_before_the_data_is_opened_and_nothing_is_written(
    unfinished: bool, ledger_path: Path
) -> None:
    with Ledger(ledger_path) as ledger:
        opened(ledger)
        if unfinished:
            begun(ledger)
    before = ledger_path.read_bytes()
    for attempt in (
        lambda: refuse_early(ledger, SCHEMA, Budget(1, "1e-9").in_rho()),
        lambda: ledger.reserve(SCHEMA, Budget(1, "1e-9").in_rho(), REQUEST | {"federation": "f"}),
    ):
        with Ledger(ledger_path) as ledger, pytest.raises(BudgetError, match="account of sums for federations"):
            attempt()
        assert ledger_path.read_bytes() == before


def test_a_program_that_adds_sums_and_has_the_file_open_is_refused_too(
    ledger_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes no price in Gaussian DP, without which nothing on the account could be added up."""
    with Ledger(ledger_path) as earlier:
        with Ledger(ledger_path) as ledger:
            opened(ledger)
        before = earlier.entries()
        with monkeypatch.context() as patch:
            patch.setattr("understudy.privacy.ledger.run_parts", lambda budget: {})
            with pytest.raises(LedgerError, match="kept in Gaussian DP and this program only adds sums: upgrade it"):
                earlier.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST)
        assert earlier.entries() == before
        other = schema_of({"a": 2}, rows=10, account="others")
        earlier.reserve(other, Budget(1, "1e-9"), REQUEST).finish("r")
        earlier.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST).finish("r")
        assert state_of(earlier).spent_epsilon > 0


def test_how_an_account_is_kept_is_fixed_at_its_beginning(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    ledger.reserve(SCHEMA, Budget(1), REQUEST).finish("r")
    with pytest.raises(UsageError, match="fixed at its beginning"):
        opened(ledger)


@pytest.mark.parametrize(
    ("epsilon", "delta", "lists", "why"),
    [
        ("2", "0", "0", "needs a delta"), ("2", "1", "0", "less than 1"), ("-1", "1e-6", "0", "0 or more"),
        ("2", "1e-6", "-1", "0 or more"), ("2", "1e-20", "0", "at least 1e-15"), ("x", "1e-6", "0", "must be a number"),
        ("2", "-1e-6", "0", "needs a delta"), ("2", "1e-6", "1", "less than 1"), ("2", "0.6", "0.4", "1 together"),
        ("2", "1e-6", "x", "must be a number"), ("10001", "1e-6", "0", "no privacy at all"),
        ("1e200", "1e-6", "0", "no privacy at all"), ("none", "1e-6", "0", "must be a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_is_refused(ledger_path: Path, epsilon: str, delta: str, lists: str, why: str) -> None:
    ledger = Ledger(ledger_path)
    with pytest.raises(UsageError, match=why):
        opened(ledger, epsilon, delta, lists)
    assert ledger.entries() == []


def test_it_is_refused_before_the_data_is_opened(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger, "0.5")
    with pytest.raises(BudgetError, match="Nothing was read"):
        refuse_early(ledger, SCHEMA, Budget(1, "1e-9"))


def test_a_program_that_adds_sums_refuses_the_file(ledger_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(ledger_path) as ledger:
        assert ledger.connection.execute("PRAGMA user_version").fetchone() == (LEDGER_FORMAT,)
        opened(ledger)
        ledger.verify()
    with Ledger(ledger_path) as ledger:
        ledger.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST).finish("r")
        assert ledger.connection.execute("PRAGMA user_version").fetchone() == (GAUSSIAN_LEDGER_FORMAT,)
    monkeypatch.setattr(ledger_file, "GAUSSIAN_LEDGER_FORMAT", LEDGER_FORMAT)  # as that program has it
    with pytest.raises(LedgerError, match="written by a newer understudy"):
        Ledger(ledger_path)


def test_an_account_of_sums_beside_it_is_as_before(ledger_path: Path) -> None:
    ledger = Ledger(ledger_path)
    opened(ledger)
    other = schema_of({"a": 2}, rows=10, account="others")
    ledger.reserve(other, Budget("0.5", "1e-9"), REQUEST, cap=2).finish("r")
    ledger.reserve(other, Budget("0.5", "1e-9"), REQUEST).finish("r")
    state = ledger.account("others")
    assert state is not None and state.gaussian is None and state.spent_epsilon == 1 and state.left_epsilon == 1
    assert state.as_json()["kept_in"] == "sums"


def test_a_body_that_was_changed_is_seen(ledger_path: Path) -> None:
    """The price that an entry says is in its hash."""
    with Ledger(ledger_path) as ledger:
        opened(ledger)
        ledger.reserve(SCHEMA, Budget(1, "1e-9"), REQUEST).finish("r")
    with sqlite3.connect(ledger_path) as connection:
        connection.execute(
            "UPDATE entries SET body = replace(body, '\"mu^2\": \"', '\"mu^2\": \"1') WHERE kind = 'reserve'"
        )
    connection.close()
    with Ledger(ledger_path) as ledger, pytest.raises(LedgerError, match="does not fit its hash"):
        ledger.verify()
