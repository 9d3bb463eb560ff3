"""The audit's own arithmetic, against definitions and scipy: laws, confidence limits, mu, chi-squared."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from understudy.audit import sampler_laws
from understudy.audit.lower_bounds import TradeOff, at_least, at_most, binomial_tail, smallest_caught
from understudy.audit.observation import Observed
from understudy.audit.selection_laws import exponential_log_law, permute_and_flip_log_law
from understudy.audit.small_tables import SmallTables, all_cells
from understudy.audit.trials import LATTICE, claimed_mu
from understudy.privacy.budget import Budget


def test_permute_and_flip_by_its_definition() -> None:
    scores, scale = [0, 3, 5, 5], 2.5
    accept = [math.exp((s - 5) / scale) for s in scores]
    law = np.zeros(4)
    for order in itertools.permutations(range(4)):
        left = 1 / math.factorial(4)
        for option in order:
            law[option] += left * accept[option]
            left *= 1 - accept[option]
    assert np.exp(permute_and_flip_log_law(np.array([scores]), scale)[0]) == pytest.approx(law)


def test_the_exponential_mechanism_by_its_definition() -> None:
    weights = np.exp(np.array([0, 3, 5, 5]) / 2.5)
    assert np.exp(exponential_log_law(np.array([[0, 3, 5, 5]]), 2.5)[0]) == pytest.approx(weights / weights.sum())


@pytest.mark.parametrize(("hits", "runs"), [(0, 10), (3, 10), (10, 10), (7, 400), (390, 400), (40, 4000)])
def test_confidence_limits_are_clopper_and_pearsons(hits: int, runs: int) -> None:
    upper = 1.0 if hits == runs else stats.beta.ppf(1 - 1e-6, hits + 1, runs - hits)
    lower = 0.0 if hits == 0 else stats.beta.ppf(1e-6, hits, runs - hits + 1)
    assert at_most(hits, runs, 1e-6) == pytest.approx(upper, abs=1e-9)
    assert at_least(hits, runs, 1e-6) == pytest.approx(lower, abs=1e-9)
    assert binomial_tail(hits, runs, 0.3) == pytest.approx(stats.binom.cdf(hits, runs, 0.3), rel=1e-9)


def test_mu_of_a_trade_off() -> None:
    normal = NormalDist()
    assert TradeOff(normal.cdf(0.7), normal.cdf(-0.6)).mu == pytest.approx(1.3)
    assert TradeOff(0.5, 0.25).epsilon() == pytest.approx(math.log(2))
    assert claimed_mu(Budget(2)) == pytest.approx(2 * normal.inv_cdf(math.e**2 / (1 + math.e**2)))


@pytest.mark.parametrize("scale", [1.0, 2.0, 10.0])
def test_the_discrete_gaussian_is_hardly_above_the_continuous_one(scale: float) -> None:
    """LATTICE is enough: the best threshold on the integers, for a shift of one and for two cells that shift."""
    law = sampler_laws.gaussian_law(scale)
    for cells in (1, 2):
        one = law if cells == 1 else np.convolve(law, law)
        tail = np.cumsum(one[::-1])[::-1]
        power, alarms = tail[:-cells], tail[cells:]
        inside = (power < 1 - 1e-12) & (alarms > 1e-12)
        mu = stats.norm.isf(alarms[inside]) - stats.norm.isf(power[inside])
        assert mu.max() <= LATTICE * math.sqrt(cells) / scale


def test_the_chi_squared_limit_is_never_passed_by_luck() -> None:
    for degrees in (1, 3, 10, 100):
        assert stats.chi2.sf(sampler_laws.chi_squared_limit(degrees), degrees) <= sampler_laws.UNLIKELY


@pytest.mark.costly
def test_fewer_runs_see_less() -> None:
    assert 1 < smallest_caught(2, 4000) < smallest_caught(2, 400) < 2


@pytest.mark.parametrize(("neighbours", "person"), [("replace-one", 1), ("add-remove", 1), ("replace-one", 2)])
def test_neighbours_by_brute_force(neighbours: str, person: int) -> None:
    from conftest import schema_of

    known = {"rows_max": 3} if neighbours == "add-remove" else {}
    rows = 3 if neighbours == "replace-one" else None
    schema = schema_of({"a": 2, "b": 2}, rows, neighbours, rows_per_person=person, **known)
    tables = SmallTables.of(schema, all_cells(schema), 3)
    found = set(zip(*(side.tolist() for side in tables.neighbours())))
    for i, j in itertools.product(range(len(tables)), repeat=2):
        moved = tables.counts[i] - tables.counts[j]
        gone, come = int(moved.clip(0).sum()), int((-moved).clip(0).sum())
        near = gone + come <= person if neighbours == "add-remove" and 0 in (gone, come) else gone == come <= person
        assert ((i, j) in found) == (near and i != j and (neighbours == "replace-one" or 0 in (gone, come)))


def test_the_order_of_paying_counting_and_drawing() -> None:
    right = ["charge", "commit", "count", "drawing", "commit", "draw", "draw", "journal", "commit"]
    assert Observed(events=right * 2).disorder is None
    late = ["count", *right]
    assert "counted before" in (Observed(events=late).disorder or "")
    unsynced = ["charge", "count", "commit", "drawing", "commit", "draw", "journal", "commit"]
    assert "counted before" in (Observed(events=unsynced).disorder or "")
    early = ["charge", "commit", "count", "draw", "drawing", "commit", "journal", "commit"]
    assert "drawn before" in (Observed(events=early).disorder or "")
