"""Budgets are exact; the conversion from zCDP is tight and on the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from understudy.errors import UsageError
from understudy.privacy.accounting import PURE, accounting_of, purse, zcdp_delta, zcdp_rho
from understudy.privacy.budget import Budget, exact
from understudy.privacy.noise import Laplace
from understudy.privacy.sensitivity import Sensitivity


def test_a_float_means_its_shortest_decimal() -> None:
    assert Budget(0.1).epsilon == Fraction(1, 10)
    assert Budget("0.3").epsilon + Budget(0.1).epsilon == Fraction(4, 10)
    assert exact(1e-9) == Fraction(1, 10**9)


@pytest.mark.parametrize(
    "bad", [0, "-0", -1, "x", "0x1", "1/0", float("nan"), float("inf"), None, 1e6, "1e400", "1e-400", 1e-13]
)
def test_bad_epsilons(bad: object) -> None:
    with pytest.raises(UsageError):
        Budget(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1e-9, 1, 2, 1e-20])
def test_bad_deltas(bad: float) -> None:
    with pytest.raises(UsageError):
        Budget(1, bad)


def test_pure_budget_is_its_own_purse() -> None:
    assert accounting_of(Budget(1)) == PURE
    assert purse(Budget(1)) == 1


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.4, 1.0, 1.6, 5.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-9, 1e-6, 1e-3])
def test_the_conversion_is_tight_and_safe(epsilon: float, delta: float) -> None:
    rho = float(zcdp_rho(exact(epsilon), exact(delta)))
    assert zcdp_delta(rho, epsilon) <= delta
    assert zcdp_delta(rho * 1.001, epsilon) > delta
    loose = (math.sqrt(epsilon + math.log(1 / delta)) - math.sqrt(math.log(1 / delta))) ** 2
    assert rho > loose  # better than rho + 2√(rho ln 1/delta)


def test_the_gain_over_the_loose_conversion_is_as_published() -> None:
    """+27 % rho at (1, 1e-9), +78 % at (0.1, 1e-6)."""
    for epsilon, delta, gain in ((1.0, 1e-9, 1.27), (0.1, 1e-6, 1.78)):
        loose = (math.sqrt(epsilon + math.log(1 / delta)) - math.sqrt(math.log(1 / delta))) ** 2
        assert float(zcdp_rho(exact(epsilon), exact(delta))) / loose == pytest.approx(gain, abs=0.01)


def test_delta_agrees_with_opendp() -> None:
    """opendp's own conversion of a Gaussian's rho must not promise less than ours claims."""
    import opendp.combinators

    from understudy.privacy.random_source import gaussian_measurement

    measurement = opendp.combinators.make_zCDP_to_approxDP(gaussian_measurement(10.0))
    profile = measurement.map(1.0)
    rho = 1 / 200
    for epsilon in (0.05, 0.1, 0.3):
        assert zcdp_delta(rho, epsilon) == pytest.approx(profile.delta(epsilon), rel=1e-6)


def test_delta_by_a_grid_of_alpha() -> None:
    rho, epsilon = 0.05, 1.0
    grid = [1 + 10 ** (k / 200) for k in range(-600, 400)]
    best = min(math.exp((a - 1) * (a * rho - epsilon)) / (a - 1) * (1 - 1 / a) ** a for a in grid)
    assert zcdp_delta(rho, epsilon) == pytest.approx(best, rel=1e-3)
    assert zcdp_delta(0.0, 1.0) == 0


def test_the_smallest_epsilon_still_has_a_scale_and_a_variance() -> None:
    """However the budget is split: noise that is too large for the usual formula has a variance too."""
    cost = Budget("1e-12").epsilon / 10**6
    scale = PURE.noise.for_cost(Sensitivity(2, 2), cost).scale
    assert scale == pytest.approx(2e18) and Laplace(scale).variance == pytest.approx(8e36)
    assert Laplace(1e8 * 1.0000001).variance == pytest.approx(Laplace(1e8).variance, rel=1e-3)
