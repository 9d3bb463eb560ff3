"""Gaussian DP: the lemmas of privacy/PROOF.md against exact laws, and what books are kept in which unit."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from conftest import schema_of
from understudy.federation.roster import Owner, Roster
from understudy.privacy.accounting import (
    GDP,
    PURE,
    ZCDP,
    accounting_of,
    gaussian_scale,
    gdp_delta,
    gdp_mu_squared,
    total_cost,
)
from understudy.privacy.budget import Budget, exact
from understudy.privacy.ledger import Ledger
from understudy.privacy.sensitivity import Sensitivity

Floats = NDArray[np.float64]
SCALES = (0.58, 0.6, 0.75, 1.0, 1.4, 2.0, 5.0, 17.3, 60.0)


def step(scale: float) -> float:
    """c of the lemma: c² − c⁴/12 = 1/σ²."""
    return math.sqrt(6 * (1 - math.sqrt(max(0.0, 1 - 1 / (3 * scale**2)))))


def law(scale: float, reach: int) -> Floats:
    """P(Z = k) of the discrete Gaussian for k from −reach to reach."""
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2))
    return np.asarray(weights / weights.sum())


# -- noise -------------------------------------------------------------------------------------------------------


def largest_step(scale: float) -> float:
    """The largest Φ⁻¹(F(j)) − Φ⁻¹(F(j − 1)) as far as the tail is above 1e-280; the right half mirrors the left."""
    reach = math.ceil(40 * scale) + 40
    below = np.cumsum(law(scale, reach))[: reach + 1]
    points = ndtri(below[below > 1e-280])
    return float(max(np.diff(points).max(), 2 * ndtri(below[-1])))


@pytest.mark.parametrize("scale", SCALES)
def test_a_step_of_the_discrete_gaussian_is_at_most_c(scale: float) -> None:
    assert largest_step(scale) <= step(scale) * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1.0, 2.0, 5.0])
def test_a_step_is_more_than_that_of_the_continuous_one(scale: float) -> None:
    """The twin: without Sheppard's term the noise would be too small."""
    assert largest_step(scale) > 1 / scale * (1 + 1e-4)


@pytest.mark.parametrize("cost", ["1e-9", "0.001", "0.3", "2", "11", "100"])
@pytest.mark.parametrize("l2_squared", [1, 2, 7])
def test_the_scale_is_the_least_one_by_exact_arithmetic(cost: str, l2_squared: int) -> None:
    m = min(Fraction(6), Fraction(cost) / l2_squared)
    scale = gaussian_scale(Sensitivity(l2_squared, l2_squared), Fraction(cost))
    assert Fraction(scale) ** 2 * (m - m * m / 12) >= 1
    assert Fraction(scale * (1 - 1e-12)) ** 2 * (m - m * m / 12) < 1
    assert GDP.noise_for(Sensitivity(l2_squared, l2_squared), Fraction(cost)).scale == scale


def largest_gap(here: Floats, there: Floats) -> float:
    """The largest Φ⁻¹(power) − Φ⁻¹(size) over the best tests of one law against another."""
    order = np.argsort(-(np.log(here) - np.log(there)), kind="stable")
    size, power = np.cumsum(there.ravel()[order]), np.cumsum(here.ravel()[order])
    seen = (size > 1e-12) & (power < 1 - 1e-12)
    return float((ndtri(power[seen]) - ndtri(size[seen])).max())


@pytest.mark.parametrize("moved", [(1, 0), (1, 1), (2, 0), (1, -1), (3, 1)])
@pytest.mark.parametrize("scale", [0.8, 1.3, 2.5])
def test_a_vector_moves_by_c_times_its_length(moved: tuple[int, int], scale: float) -> None:
    reach = 14
    one = np.log(law(scale, reach + 3))

    def table(first: int, second: int) -> Floats:
        middle = np.arange(3, 2 * reach + 4)
        return np.asarray(np.exp(one[middle - first][:, None] + one[middle - second][None, :])).ravel()

    gap = largest_gap(table(*moved), table(0, 0))
    mu = math.hypot(*moved) * step(scale)
    assert mu / 2 < gap <= mu * (1 + 1e-6)


# -- selections --------------------------------------------------------------------------------------------------


def worst_selection(epsilon: float, options: int) -> float:
    """The largest Φ⁻¹(p) − Φ⁻¹(q) over sets of options, scores and neighbours whose scores move by one unit each."""
    worst = 0.0
    for scores in product(range(3), repeat=options):
        weights = np.exp(np.array(scores) * epsilon / 2)
        for moves in product((-1, 0, 1), repeat=options):
            moved = weights * np.exp(np.array(moves) * epsilon / 2)
            for several in (list(s) for k in range(1, options) for s in combinations(range(options), k)):
                q, p = weights[several].sum() / weights.sum(), moved[several].sum() / moved.sum()
                worst = max(worst, float(ndtri(p) - ndtri(q)))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("cost", [0.01, 0.5, 3.0])
def test_a_selection_is_no_worse_than_a_logistic_shift(cost: float) -> None:
    epsilon = GDP.selection_epsilon(cost)
    worst = max(worst_selection(epsilon, 2), worst_selection(epsilon, 3))
    assert 0.9 * math.sqrt(cost) < worst <= math.sqrt(cost) * (1 + 1e-9)


@pytest.mark.parametrize("cost", [1e-18, 1e-6, 0.3, 7.9, 8.1, 60.0, 1e6])
def test_the_epsilon_of_a_selection_keeps_its_digits(cost: float) -> None:
    epsilon = GDP.selection_epsilon(cost)
    assert 2 * ndtri(1 / (1 + math.exp(-epsilon / 2))) == pytest.approx(math.sqrt(cost), rel=1e-9) or cost > 50
    assert epsilon > 0 and ndtri(1 / (1 + math.exp(epsilon / 2))) >= -math.sqrt(cost) / 2 * (1 + 1e-9)
    scale = GDP.selection_scale(3, exact(cost))
    assert Fraction(6) / Fraction(scale) <= Fraction(epsilon) * (1 + Fraction(1, 10**12))


def test_a_selection_at_the_price_of_zcdp_is_seen() -> None:
    """The twin: 2ρ = ε²/4 is too little for one selection; two options that are level show it."""
    assert worst_selection(ZCDP.selection_epsilon(0.5 / 2), 2) > math.sqrt(0.5) * 1.2


def test_the_worst_shift_is_in_the_middle() -> None:
    """h = Φ⁻¹∘logistic is concave above 0: van Zwet's order."""
    x = np.linspace(0, 30, 3001)
    h = -ndtri(1 / (1 + np.exp(x)))  # by symmetry, without loss of digits
    assert (np.diff(h, 2) <= 1e-12).all()


# -- composition -------------------------------------------------------------------------------------------------

HALF = np.arange(-90, 91)
BUDGET = 1.0


def shifted(centre: int, cost: float) -> Floats:
    """The law of a count that one person moves by 1, at this price in mu squared."""
    scale = gaussian_scale(Sensitivity(1, 1), exact(cost))
    weights = np.exp(-((HALF - centre) ** 2) / (2 * scale**2))
    return np.asarray(weights / weights.sum())


def hockey_stick(epsilon: float, late: float) -> float:
    """Of a run that pays all it has left, and `late` more, where its first answer looks large, and else little."""
    first = BUDGET / 2
    total = 0.0
    for p, q, answer in zip(shifted(1, first), shifted(0, first), HALF.tolist()):
        second = BUDGET - first + late if answer > 0 else first / 4
        excess = p * shifted(1, second) - math.exp(epsilon) * q * shifted(0, second)
        total += np.maximum(excess, 0).sum()
    return float(total)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0])
def test_prices_that_follow_from_answers_add_up(epsilon: float) -> None:
    assert hockey_stick(epsilon, 0.0) <= gdp_delta(math.sqrt(BUDGET), epsilon)


def test_a_filter_that_stops_too_late_is_seen() -> None:
    assert hockey_stick(1.0, BUDGET) > gdp_delta(math.sqrt(BUDGET), 1.0)


# -- conversion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 2.5])
def test_delta_is_that_of_two_normal_distributions(epsilon: float, mu: float) -> None:
    plain = ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)
    assert gdp_delta(mu, epsilon) == pytest.approx(plain, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 0.1, 1.0, 4.0, 100.0, 1e4])
@pytest.mark.parametrize("delta", [1e-15, 1e-9, 1e-6, 0.5])
def test_the_conversion_is_tight_and_safe(epsilon: float, delta: float) -> None:
    squared = gdp_mu_squared(exact(epsilon), exact(delta))
    mu = math.sqrt(squared)
    assert gdp_delta(mu, epsilon) <= delta * (1 - 1e-7)
    assert gdp_delta(mu * 1.001, epsilon) > delta
    assert squared > 2 * total_cost(Budget(epsilon, delta).in_rho())  # better than zCDP


def test_delta_of_a_tiny_mu_keeps_its_digits() -> None:
    """Plain differences of probabilities would have none left."""
    assert gdp_delta(1e-9, 0.0) == pytest.approx(1e-9 / math.sqrt(2 * math.pi), rel=1e-9)
    assert gdp_delta(0.02, 1.0) < 1e-300 and gdp_delta(50.0, 1.0) == 1.0


def test_the_gain_is_as_decided() -> None:
    """Standard deviations of noise against zCDP (docs/decisions/0041): −4.9 % at (1, 1e-9), −6.8 % at (1, 1e-6)."""
    for delta, gain in (("1e-9", 0.951), ("1e-6", 0.932)):
        budget, one = Budget(1, delta), Sensitivity(1, 1)
        ours, theirs = (accounting_of(b).noise_for(one, total_cost(b) / 100).scale for b in (budget, budget.in_rho()))
        assert ours / theirs == pytest.approx(gain, abs=0.002)


# -- which books -------------------------------------------------------------------------------------------------


def test_which_accounting_a_budget_has() -> None:
    budget = Budget(1, "1e-6")
    assert accounting_of(budget) == GDP and accounting_of(budget.in_rho()) == ZCDP
    assert accounting_of(Budget(1)) == PURE == accounting_of(Budget(1).in_rho())
    assert accounting_of(budget.in_rho().shared(Fraction(1, 2)).setting_aside(Fraction(1, 10**7))) == ZCDP
    assert budget.in_rho() != budget and budget.in_rho().epsilon == budget.epsilon


def test_owners_who_share_noise_keep_theirs_in_rho() -> None:
    """What is proved of sums of shares is a Rényi divergence (federation/PROOF.md)."""
    owners = tuple(Owner(name, 10, "", name.encode()) for name in "abc")
    assert accounting_of(Roster(owners, "0" * 64, Budget(1, "1e-6")).budget) == ZCDP


def begun(folder: Path, budget: Budget, unit: Callable[[Budget], Budget]) -> str:
    """Begin a run in one unit, charge once, let go of it, take it up by the plain budget: the unit it goes on in."""
    schema, request = schema_of({"a": 2}, None, "add-remove"), {"method": "aim"}
    with Ledger(folder / "ledger.db") as ledger:
        first = ledger.reserve(schema, unit(budget), request, unlimited=True, fingerprint="x")
        first.charge("row count", first.total_cost / 10, "question").drawing()
        first._mark(0, "drawn", b"answer")
        first.abandon("killed")
    with Ledger(folder / "ledger.db") as ledger:
        again = ledger.reserve(schema, budget, request, fingerprint="x")
        assert again.resumed
        assert again.charge("row count", again.total_cost / 10, "question").outcome == b"answer"
        again.abandon("the test is over")
        return again.accounting.unit


def test_a_run_goes_on_in_the_unit_it_was_begun_in(tmp_path: Path) -> None:
    """An earlier version's run was kept in rho: what is left of it is counted in rho too."""
    for number, (unit, expected) in enumerate(((Budget.in_rho, "rho"), (lambda budget: budget, "mu^2"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert begun(folder, Budget(1, "1e-6"), unit) == expected
