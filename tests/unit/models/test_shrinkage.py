"""Shrinkage: noise does not become dependence, dependence stands as it was measured, and the objective is as stated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from understudy.models.edition import Edition
from understudy.models.estimation import ENTROPY, MIN_GAP, fitted
from understudy.models.shrinkage import TAKEN, column_shares, entropy_weight
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.schema import Attribute, Axis, Categories, Schema
from understudy.schema.axis import MERGED

A, B, C = Axis("a"), Axis("b"), Axis("c")
SIZES = {"a": 4, "b": 5, "c": 3}
N = 4_000


def schema() -> Schema:
    return Schema("t", tuple(Attribute(n, Categories(tuple(map(str, range(k))))) for n, k in SIZES.items()), rows=N)


def joint(dependence: float, seed: int = 0) -> np.ndarray:
    """A table of shares over a, b and c: a mixture of the product of its columns and of something else."""
    rng = np.random.default_rng(seed)
    columns = [rng.dirichlet(np.full(k, 2.0)) for k in SIZES.values()]
    product = np.einsum("i,j,k->ijk", *columns)
    return (1 - dependence) * product + dependence * rng.dirichlet(np.full(product.size, 0.3)).reshape(product.shape)


def measured(shares: np.ndarray, scale: float, seed: int = 1) -> list[Measurement]:
    rng = np.random.default_rng(seed)
    found = []
    for axes in ((A,), (B,), (C,), (A, B), (B, C)):
        lost = tuple(i for i, axis in enumerate((A, B, C)) if axis not in axes)
        exact = N * shares.sum(axis=lost)
        values = np.rint(exact + rng.normal(0, scale, exact.shape)).astype(np.int64)
        found.append(Measurement(axes, values, Gaussian(scale)))
    return found


def dependence_of(pair: np.ndarray) -> float:
    return 0.5 * float(np.abs(pair - np.outer(pair.sum(axis=1), pair.sum(axis=0))).sum())


def test_noise_does_not_become_dependence() -> None:
    new, old = [], []
    for seed in range(10):
        tables = measured(joint(0.0), 60.0, seed)
        new.append(dependence_of(fitted(tables, schema(), N).tree.project("ab").table))
        old.append(dependence_of(fitted(tables, schema(), N, edition=Edition.POOLED_TAILS).tree.project("ab").table))
    assert np.mean(new) < 0.3 * np.mean(old)


@pytest.mark.parametrize("scale", [2.0, 20.0, 60.0])
def test_dependence_stands_as_it_was_measured(scale: float) -> None:
    shares = joint(0.7)
    truth = shares.sum(axis=2)
    errors: dict[Edition, list[float]] = {Edition.NEWEST: [], Edition.POOLED_TAILS: []}
    for seed in range(10):
        for edition, found in errors.items():
            model = fitted(measured(shares, scale, seed), schema(), N, edition=edition).tree
            found.append(float(np.abs(model.project("ab").table - truth).sum()))
    assert np.mean(errors[Edition.NEWEST]) < 1.02 * np.mean(errors[Edition.POOLED_TAILS])


@pytest.mark.parametrize("dependence", [0.02, 0.5])
def test_the_objective_is_the_one_that_is_stated(dependence: float) -> None:
    """Least squares, each table by its weight, and the relative entropy to the product: by a solver without a graph."""
    scale, known = 40.0, schema()
    tables = measured(joint(dependence), scale)
    columns = column_shares(tables, known, N)
    product = np.einsum("i,j,k->ijk", columns[A], columns[B], columns[C])
    variance = (scale / N) ** 2
    sums = {axes: tuple(i for i, axis in enumerate((A, B, C)) if axis not in axes) for axes in (m.axes for m in tables)}
    agreed = {m.axes: (m.values + (N - m.values.sum()) / m.values.size) / N for m in tables}
    weights = {
        axes: max(
            ENTROPY * N / scale,
            entropy_weight(shares.ravel(), product.sum(axis=sums[axes]).ravel(), variance, N) if len(axes) > 1 else 0,
        )
        for axes, shares in agreed.items()
    }
    one_way = {axes: weight for axes, weight in weights.items() if len(axes) == 1}
    assert set(one_way.values()) == {ENTROPY * N / scale}
    nearest = _agreeing(agreed, sums)

    def objective(theta: np.ndarray) -> float:
        p = np.exp(theta - theta.max())
        p = (p / p.sum()).reshape(product.shape)
        squares = sum(
            float(((p.sum(axis=sums[axes]) - own) ** 2).sum()) / (2 * weights[axes] * variance)
            for axes, own in nearest.items()
        )
        return squares + float((p * np.log(p / product)).sum())

    model = fitted(tables, known, N, tolerance=1e-8).tree.project("abc").table
    found = optimize.minimize(objective, np.log(product).ravel(), method="L-BFGS-B", options={"maxfun": 200_000})
    best = np.exp(found.x - found.x.max()).reshape(product.shape)
    nats = np.exp(np.mean(np.log(list(weights.values()))))  # of the measurements, for one of the objective
    assert objective(np.log(model).ravel()) <= found.fun + 2 * MIN_GAP / nats
    np.testing.assert_allclose(model, best / best.sum(), atol=2e-3)


def _agreeing(tables: dict[tuple[Axis, ...], np.ndarray], sums: dict[tuple[Axis, ...], tuple[int, ...]]) -> dict:
    """The nearest tables that agree, all noise alike: linear least squares over the joint."""
    shape = tuple(SIZES.values())
    cells = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    design = np.stack([np.concatenate([cell.sum(axis=sums[axes]).ravel() for axes in tables]) for cell in cells]).T
    answer, *_ = np.linalg.lstsq(design, np.concatenate([own.ravel() for own in tables.values()]), rcond=None)
    parts = np.split(design @ answer, np.cumsum([own.size for own in tables.values()])[:-1])
    return {axes: part.reshape(own.shape) for (axes, own), part in zip(tables.items(), parts)}


@pytest.mark.parametrize("rows", [20.0, 200.0, 1_000.0])
def test_the_weight_is_found_from_one_noisy_table(rows: float) -> None:
    """Cells that are off the product as a sample of so many rows of it would be: half of these rows is the weight."""
    rng, found = np.random.default_rng(3), []
    expected = rng.dirichlet(np.full(200, 3.0))
    for _ in range(30):
        shares = expected + rng.normal(0, np.sqrt(expected / rows)) + rng.normal(0, 0.001, 200)
        found.append(entropy_weight(shares, expected, 0.001**2, 10_000) / TAKEN)
    assert abs(np.log(np.median(found) / rows)) < np.log(1.3)


def test_columns_are_pooled_by_precision_and_never_zero() -> None:
    tables = [
        Measurement((A,), np.array([1000, 1000, 1000, 1000]), Gaussian(1.0)),
        Measurement((A,), np.array([4000, 0, 0, 0]), Gaussian(100.0)),
        Measurement((A, B), np.full((4, 5), 900), Gaussian(1.0)),
        Measurement((C, Axis("b", MERGED)), np.array([[4000, 0, 3], [-90, -3, 0], [0, 0, 0]]), Gaussian(5.0)),
    ]
    merged = schema().merged({"b": (0, 0, 1, 1, 2)})
    found = column_shares(tables, merged, N)
    np.testing.assert_allclose(found[A], 0.25, atol=1e-3)  # its own tables, the sharper one; not the pair
    np.testing.assert_allclose(found[B], 0.2, atol=1e-9)  # of the pair: it has no table of its own
    assert found[C].argmax() == 0 and 0 < found[C].min() < 0.001 and set(found) == {A, B, C}
