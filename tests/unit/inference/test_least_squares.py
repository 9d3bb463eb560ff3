"""Least squares over noisy tables: unbiased, of the variance it claims, and no worse than the best single table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import schema_of
from understudy.inference.least_squares import Pooled, laplace_reach, measured_together, normal_reach
from understudy.inference.linear import Linear
from understudy.inference.student import student_reach, tail
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.query.evaluation import Evaluated
from understudy.query.queries import Query
from understudy.schema import Axis

SIZES = {"a": 3, "b": 4, "c": 2}
TABLES = (("a",), ("a", "b"), ("b", "c"), ("a", "b", "c"))
SCALES = (5.0, 9.0, 4.0, 12.0)


def drawn(truth, schema, noise: type[Noise], generator) -> list[Measurement]:
    found = []
    for names, scale in zip(TABLES, SCALES):
        exact = truth.sum(axis=tuple(i for i, n in enumerate(SIZES) if n not in names))
        draw = generator.laplace if noise is Laplace else generator.normal
        noisy = np.rint(exact + draw(0, scale, exact.shape)).astype(np.int64)
        found.append(Measurement(tuple(Axis(n) for n in names), noisy, noise(scale)))
    return found


@pytest.mark.costly
@pytest.mark.parametrize("noise", [Gaussian, Laplace])
@pytest.mark.parametrize("rows", [600, None])
def test_a_weighted_sum_is_unbiased_and_its_variance_is_known(noise, rows):
    generator = np.random.default_rng(1)
    truth = generator.multinomial(600, generator.dirichlet(np.ones(24))).reshape(3, 4, 2).astype(float)
    schema = schema_of(SIZES, rows, "replace-one" if rows else "add-remove")
    weights = [np.array([1.0, 0, 1]), np.array([0.0, 1, 1, 0.5])]
    exact = float(np.einsum("abc,a,b->", truth, *weights))
    errors, inside, reaches = [], [], []
    for _ in range(400):
        pooled = Pooled.of(drawn(truth, schema, noise, generator), schema, ("a", "b"))
        assert pooled is not None
        value, deviation = pooled.combined([(1.0, weights)])
        errors.append(value - exact)
        inside.append(abs(errors[-1]) <= pooled.reach([(1.0, weights)], 0.9) * deviation)
        reaches.append(deviation)
    assert abs(np.mean(errors)) < 4 * np.std(errors) / 20
    assert np.std(errors) == pytest.approx(reaches[0], rel=0.15)
    assert 0.84 < np.mean(inside) < 0.955  # 0.9, by four standard deviations
    single = SCALES[1] * np.sqrt(sum(float((w**2).sum()) for w in [np.outer(*weights)]))
    assert reaches[0] < single  # the table itself is one of those that are pooled


def test_a_share_of_a_noisy_number_of_rows_is_a_ratio():
    """Noise in all rows is in both; taken as a count over a fixed number, the broken twin, a share seems a third worse."""
    generator = np.random.default_rng(4)
    truth = generator.multinomial(600, np.repeat([0.04, 0.48, 0.48], 8) / 8).reshape(3, 4, 2).astype(float)
    schema = schema_of(SIZES, None, "add-remove")
    pair, exact = truth.sum(axis=2), float(truth[1:].sum()) / 600
    query = Query.of_text("share where a != '0'", schema, 600, {})
    errors, claimed, alone = [], [], []
    for _ in range(300):
        tables = drawn(truth, schema, Gaussian, generator)
        rows = round(pair.sum() + generator.normal(0, 10))
        linear = Linear(query, Evaluated(pair.sum(axis=1) / pair.sum(), ("a",)), rows)
        pooled = Pooled.of(tables, schema, ("a",))
        assert pooled is not None
        value, deviation = pooled.combined(linear.terms(0))
        counts = pooled.table
        errors.append(linear.centre(0, value) - exact)
        assert errors[-1] + exact == pytest.approx(counts[1:].sum() / counts.sum(), abs=4e-3)
        claimed.append(deviation)
        alone.append(pooled.combined(linear.terms(0)[:1])[1])
    assert np.std(errors) == pytest.approx(np.mean(claimed), rel=0.15)
    assert np.mean(alone) > 1.3 * np.std(errors)


def test_least_squares_is_the_one_of_linear_algebra():
    """All cells against the normal equations, with the total known: the closed form is exact."""
    generator = np.random.default_rng(2)
    schema = schema_of(SIZES, 500)
    truth = generator.multinomial(500, np.ones(24) / 24).reshape(3, 4, 2).astype(float)
    tables = drawn(truth, schema, Gaussian, generator)
    rows, values, weights = [np.ones(24)], [500.0], [1e12]
    cells = np.indices((3, 4, 2)).reshape(3, -1)
    for names, m in zip(TABLES, tables):
        own = [list(SIZES).index(n) for n in names]
        for index in np.ndindex(*m.values.shape):
            rows.append(np.all([cells[i] == k for i, k in zip(own, index)], axis=0).astype(float))
            values.append(float(m.values[index]))
            weights.append(1 / m.variance)
    a, w = np.asarray(rows), np.sqrt(np.asarray(weights))
    best = np.linalg.lstsq(a * w[:, None], np.asarray(values) * w, rcond=None)[0].reshape(3, 4, 2)
    pooled = Pooled.of(tables, schema, ("a", "b", "c"))
    assert pooled is not None
    assert np.allclose(pooled.table, best, atol=1e-4)
    assert np.allclose(pooled.table.sum(), 500)


@pytest.mark.parametrize("rows", [600, None])
def test_the_kurtosis_is_that_of_all_noises_that_enter(rows):
    """Against the coefficient of every noisy count in the estimate, found by raising it."""
    schema = schema_of(SIZES, rows, "replace-one" if rows else "add-remove")
    tables = drawn(np.full((3, 4, 2), 25.0), schema, Laplace, np.random.default_rng(3))
    terms = [
        (1.0, [np.array([1.0, 0, 1]), np.array([0.0, 1, 1, 0.5])]),
        (-0.3, [np.array([0.0, 1, 0]), np.ones(4)]),
    ]

    def estimate(some):
        pooled = Pooled.of(some, schema, ("a", "b"))
        assert pooled is not None
        return pooled, pooled.combined(terms)[0]

    pooled, base = estimate(tables)
    second = fourth = 0.0
    for i, m in enumerate(tables):
        for cell in np.ndindex(*m.values.shape):
            raised = m.values.copy()
            raised[cell] += 1
            entering = estimate([*tables[:i], replace(m, values=raised), *tables[i + 1 :]])[1] - base
            second, fourth = second + m.variance * entering**2, fourth + 3 * m.variance**2 * entering**4
    assert pooled.combined(terms)[1] == pytest.approx(np.sqrt(second))
    assert pooled.kurtosis(terms) == pytest.approx(fourth / second**2)


def test_one_cell_of_pooled_tables_is_nearer_to_normal_than_one_laplace_noise():
    """The broken twin took the number of cells asked for as the number of noises: one, and intervals 4 % too wide."""
    schema = schema_of(SIZES, None, "add-remove")
    tables = drawn(np.full((3, 4, 2), 25.0), schema, Laplace, np.random.default_rng(3))
    pooled, alone = Pooled.of(tables, schema, ("a", "b")), Pooled.of(tables[:1], schema, ("a",))
    assert pooled is not None and alone is not None
    reach = pooled.reach([(1.0, [np.array([1.0, 0, 0]), np.array([1.0, 0, 0, 0])])], 0.95)
    assert normal_reach(0.95) < reach < 0.97 * laplace_reach(1, 0.95)
    assert alone.reach([(1.0, [np.array([1.0, 0, 0])])], 0.95) == laplace_reach(1, 0.95)


def test_what_no_table_holds_is_not_claimed():
    schema = schema_of(SIZES, 500)
    tables = drawn(np.full((3, 4, 2), 20.0), schema, Gaussian, np.random.default_rng(0))[:3]
    assert Pooled.of(tables, schema, ("a", "c")) is None
    assert measured_together(tables, ("a", "b")) and not measured_together(tables, ("a", "c"))


def test_reaches():
    assert normal_reach(0.95) == pytest.approx(1.96, abs=1e-3)
    assert laplace_reach(1, 0.95) == pytest.approx(np.log(20) / np.sqrt(2), abs=0.02)
    assert laplace_reach(10**6, 0.95) == normal_reach(0.95)
    assert student_reach(19, 0.95) == pytest.approx(2.0930, abs=1e-3)
    assert student_reach(4, 0.99) == pytest.approx(4.6041, abs=1e-3)
    assert tail(7, 2.3646) == pytest.approx(0.05, abs=1e-4)
