"""Combining rules: right for rows drawn as they say, and wrong when they are mixed."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.errors import UsageError
from understudy.inference import combine
from understudy.inference.combining import Combined

TRIES, TABLES, ROWS, POSTERIOR = 400, 20, 400, 0.03


def tried(rows_by: str, rule: str) -> tuple[float, float]:
    """Return how often the 95 % interval of a share holds its truth, and its root mean squared standard error.

    The truth lies about each model as the models lie about each other. Systematic rows repeat a model's share exactly.
    """
    generator = np.random.default_rng(5)
    hits, errors = [], []
    for _ in range(TRIES):
        middle = 0.4
        truth = middle + POSTERIOR * generator.standard_normal()
        models = middle + POSTERIOR * generator.standard_normal(TABLES)
        shares = generator.binomial(ROWS, models) / ROWS if rows_by == "multinomial" else np.rint(models * ROWS) / ROWS
        found = combine(shares.tolist(), (shares * (1 - shares) / ROWS).tolist(), rule)
        low, high = found.interval(0.95)
        hits.append(low <= truth <= high)
        errors.append(found.stderr)
    return float(np.mean(hits)), float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize("rows_by", ["multinomial", "systematic"])
def test_the_rule_that_belongs_to_the_rows_covers(rows_by):
    coverage, error = tried(rows_by, rows_by)
    assert 0.915 < coverage <= 0.995
    assert error == pytest.approx(POSTERIOR * np.sqrt(1 + 1 / TABLES), rel=0.1)


def test_mixed_rules_are_seen_to_be_wrong():
    """The broken twin: systematic rows with the rule that subtracts a sampling variance which is not there."""
    assert tried("systematic", "multinomial")[1] < 0.85 * POSTERIOR
    assert tried("multinomial", "systematic")[1] > 1.15 * POSTERIOR


def test_an_estimate_without_spread_keeps_its_sampling_variance():
    found = combine([1.0, 1.0, 1.0], [0.04, 0.04, 0.04])
    assert found.stderr == pytest.approx(0.04**0.5 * (1 + 1 / 3) ** 0.5)  # of the real rows, and of the synthetic ones
    assert found.p_value(1.0) == pytest.approx(1.0)
    assert combine([0.0, 2.0, 4.0], [0.0] * 3).p_value(2.0) == pytest.approx(1.0)


NOISE = {0.0: 0.80, 0.36: 0.67, 3.0: 0.29}  # over the sampling variance, and the power of who knows the noise


def rejected(effect: float, noise: float, rule) -> float:
    """Return how often a rule finds an effect, in standard errors of the real rows: models spread by sampling and
    noise, and so does the release; synthetic rows are as many as the real ones."""
    generator, found = np.random.default_rng(11), []
    for _ in range(1500):
        release = effect + np.sqrt(1 + noise) * generator.standard_normal()
        models = release + np.sqrt(1 + noise) * generator.standard_normal(TABLES)
        found.append(rule((models + generator.standard_normal(TABLES)).tolist(), [1.0] * TABLES).p_value() < 0.05)
    return float(np.mean(found))


def bounded(q, v):
    return combine(q, v, population="sample")


@pytest.mark.parametrize("noise", NOISE)
def test_a_sample_of_a_population_is_at_least_as_uncertain_as_its_rows(noise):
    """Nulls are rejected as seldom as they should be, and effects found more often than without the bound."""
    assert rejected(0.0, noise, bounded) < 0.07
    power, before = rejected(2.8, noise, bounded), rejected(2.8, noise, combine)
    assert before < power < NOISE[noise] + 0.03
    assert power > 0.75 * NOISE[noise]


def test_who_takes_synthetic_rows_as_real_rejects_too_often():
    """The broken twin: the sampling variance of one table alone."""
    assert rejected(0.0, 1.0, lambda q, v: Combined(q[0], v[0] ** 0.5, 4998.0, 1)) > 0.2


def test_the_bound_is_of_the_real_rows_whatever_the_number_of_synthetic_ones():
    estimates = [1.0, 1.1, 0.9, 1.0] * 2
    few = combine(estimates, [0.4] * 8, part=0.5, population="sample")
    many = combine(estimates, [0.1] * 8, part=2.0, population="sample")
    by_model = combine(estimates, [0.2] * 8, models=4, population="sample")
    assert few.stderr == pytest.approx(
        np.sqrt(0.2 * 9 / 8 + 0.4 / 8)
    )  # the real rows' part, and that of their own rows
    assert many.stderr == pytest.approx(np.sqrt(0.2 * 9 / 8 + 0.1 / 8))
    assert by_model.stderr == pytest.approx(np.sqrt(0.2 * 5 / 4 + 0.1 / 4))
    assert combine([1.0] * 3, [0.0] * 3, population="sample").p_value(2.0) == 0


@pytest.mark.parametrize(
    ("q", "v"), [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 1.0]), ([1.0, 2.0], [-1.0, 1.0])]
)
def test_nonsense_is_refused(q, v):
    with pytest.raises(UsageError):
        combine(q, v)


def test_more_tables_than_models_are_averaged_by_model():
    """Rows of one model only blur it: the models are what there are twenty of."""
    generator = np.random.default_rng(8)
    hits, freedoms = [], []
    for _ in range(300):
        truth, models = 0.4 + POSTERIOR * generator.standard_normal(), 0.4 + POSTERIOR * generator.standard_normal(10)
        shares = generator.binomial(ROWS, np.tile(models, 6)) / ROWS
        found = combine(shares.tolist(), (shares * (1 - shares) / ROWS).tolist(), models=10)
        low, high = found.interval(0.95)
        hits.append(low <= truth <= high)
        freedoms.append(found.freedom)
        assert found.tables == 60
    assert 0.91 < np.mean(hits) < 0.99
    assert (
        5 < np.mean(freedoms) < 9
    )  # below the nine that ten models have, and above what one table of each would leave


def test_tables_of_models_without_spread_keep_the_sampling_variance_of_one_table():
    assert combine([1.0] * 6, [0.04] * 6, models=3).stderr == pytest.approx((0.04 + 0.02 / 3) ** 0.5)


@pytest.mark.parametrize("population", ["sample", "finite"])
@pytest.mark.parametrize("part", [1.0, 0.1, 0.01])
def test_few_synthetic_rows_do_not_reject_true_nulls(part: float, population: str) -> None:
    """Tables far smaller than the real one: their own sampling is most of what the estimates spread by. A bound without
    it rejected up to a fifth of all nulls."""
    generator, m = np.random.default_rng(5), 20
    spread = part if population == "sample" else 0.0
    rejected = 0
    for _ in range(1_000):
        centre = generator.normal(0, np.sqrt(spread))
        estimates = centre + generator.normal(0, np.sqrt(spread), m) + generator.normal(0, 1, m)
        rejected += combine(estimates.tolist(), [1.0] * m, part=part, population=population).p_value(0.0) < 0.05
    assert rejected <= 75
