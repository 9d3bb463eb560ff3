"""The shape inside bins: shares from noisy details, draws from it, and what a sum takes from the noisy numbers."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.within_bins import Shape, placed_rows, placed_schema, shape_of
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.questions.details import Details, detailed
from understudy.schema import Attribute, Intervals, Schema
from understudy.schema.fine_grid import FineGrid

DOMAIN = Intervals("integer", (-0.5, 7.5, 20.5, 22.5, 39.5), (3, 10, 21))
ATTRIBUTE = Attribute("v", DOMAIN, missing=("",), fine="wavelet")


def exact_shape(counts: np.ndarray, depth: int, attribute: Attribute = ATTRIBUTE) -> Shape:
    """From details with hardly any noise; `counts` are of values 0 … 39, and missing last."""
    domain = attribute.domain
    assert isinstance(domain, Intervals)
    grid = FineGrid(domain, depth)
    codes = np.append(grid.fine.encode_numbers(np.arange(40.0)), grid.fine.size)
    fine = np.bincount(codes, weights=counts, minlength=grid.fine.size + 1).astype(np.int64)
    coarse = np.bincount(np.append(domain.encode_numbers(np.arange(40.0)), domain.size), weights=counts)
    return shape_of(attribute, Details("v", depth, detailed(fine, grid, depth), Laplace(1e-3)), coarse)


def test_without_noise_the_shape_is_the_rows_shape() -> None:
    counts = np.random.default_rng(1).integers(1, 50, 41)
    shape = exact_shape(counts, 4)
    for value in range(40):
        code = int(shape.fine.domain.encode_numbers(np.asarray([float(value)]))[0])  # type: ignore[union-attr]
        home = int(DOMAIN.encode_numbers(np.asarray([float(value)]))[0])
        of_home = counts[:40][DOMAIN.encode_numbers(np.arange(40.0)) == home].sum()
        held = counts[:40][shape.fine.domain.encode_numbers(np.arange(40.0)) == code].sum()  # type: ignore[union-attr]
        assert shape.home[code] == home and shape.shares[code] == pytest.approx(held / of_home)


def test_shares_add_up_in_every_bin_whatever_the_noise() -> None:
    generator = np.random.default_rng(2)
    for depth in (1, 2, 4):
        grid = FineGrid(DOMAIN, depth)
        noisy = generator.integers(-500, 500, grid.coefficients)
        counts = generator.integers(0, 100, ATTRIBUTE.size).astype(float)
        counts[DOMAIN.bin_codes[1]] = 0  # a bin that the model leaves empty
        shape = shape_of(ATTRIBUTE, Details("v", depth, noisy, Laplace(3.0)), counts)
        assert (shape.shares >= 0).all()
        assert np.bincount(shape.home, weights=shape.shares) == pytest.approx(np.ones(ATTRIBUTE.size))
        empty = shape.shares[shape.home == DOMAIN.bin_codes[1]]
        assert empty == pytest.approx(grid.values[grid.bin == 1] / grid.values[grid.bin == 1].sum())


def test_noise_alone_leaves_bins_nearly_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flat rows under heavy noise: splits believed as they come would be far off; pulled back, they are less so."""
    generator = np.random.default_rng(3)
    attribute = Attribute("v", Intervals("integer", tuple(np.arange(0, 321, 20) - 0.5)), fine="wavelet")
    grid, scale = FineGrid(attribute.domain, 3), 60.0  # type: ignore[arg-type]
    draws = [np.rint(generator.laplace(0, scale, grid.coefficients)).astype(np.int64) for _ in range(20)]

    def off() -> float:
        shapes = [
            shape_of(attribute, Details("v", 3, noisy, Laplace(scale)), np.full(attribute.size, 200.0))
            for noisy in draws
        ]
        return float(np.mean([abs(shape.shares - grid.values / 20).sum() / 32 for shape in shapes]))

    pulled = off()
    monkeypatch.setattr("understudy.models.within_bins._kept", lambda above, whole, variance: np.ones_like(above))
    assert pulled < 0.5 * off()


def test_a_clear_shape_comes_through_noise() -> None:
    """Rows that lie in the left halves of their bins, twenty times the noise."""
    grid, scale = FineGrid(DOMAIN, 3), 10.0
    counts = np.zeros(grid.fine.size + 1, dtype=np.int64)
    for first, middle, _ in grid.levels[:1]:
        for a, m in zip(first, middle):
            counts[grid.fine.bin_codes[a:m]] = 2000 // (m - a)
    noise = np.rint(np.random.default_rng(4).laplace(0, scale, grid.coefficients)).astype(np.int64)
    shape = shape_of(
        ATTRIBUTE, Details("v", 3, detailed(counts, grid, 3) + noise, Laplace(scale)), np.full(ATTRIBUTE.size, 2000.0)
    )
    for first, middle, _ in grid.levels[:1]:
        for a, m in zip(first, middle):
            assert shape.shares[grid.fine.bin_codes[a:m]].sum() > 0.98


def test_draws_follow_the_shares_and_stay_in_their_code() -> None:
    shape = exact_shape(np.random.default_rng(5).integers(1, 50, 41), 4)
    schema = Schema("t", (ATTRIBUTE,), rows=1)
    codes = np.repeat(np.arange(ATTRIBUTE.size, dtype=np.uint8), 20_000)
    generator = np.random.default_rng(6)
    rows, placed = placed_rows({"v": codes}, {"v": shape}, generator), placed_schema(schema, {"v": shape})
    assert (shape.home[rows["v"]] == codes).all()
    seen = np.bincount(rows["v"], minlength=shape.fine.size) / 20_000
    assert abs(seen - shape.shares).max() < 5 * np.sqrt(0.25 / 20_000)
    values, absent = placed["v"].decode(rows["v"], generator)
    assert (ATTRIBUTE.encode_numbers(values.astype(float), absent) == codes)[~absent].all()
    assert (codes[absent] == ATTRIBUTE.missing_code).all() and absent.sum() == 20_000


@pytest.mark.parametrize("kind", ["number", "date", "datetime"])
def test_other_kinds_stay_in_their_code_too(kind: str) -> None:
    domain = Intervals(kind, (0.0, 40.0, 44.0, 1000.0), (0, 41))  # type: ignore[arg-type]
    attribute = Attribute("v", domain, fine="wavelet")
    grid = FineGrid(domain, 3 if kind == "number" else 2)
    noisy = np.random.default_rng(7).integers(-80, 80, grid.coefficients)
    shape = shape_of(attribute, Details("v", grid.depth, noisy, Gaussian(5.0)), np.full(attribute.size, 100.0))
    codes = np.repeat(np.arange(attribute.size), 3000)
    values, _ = shape.fine.decode(shape.cells(codes, np.random.default_rng(8)), np.random.default_rng(9))
    assert (domain.encode_numbers(values.astype(float)) == codes).all()


def test_a_share_of_zero_is_never_drawn() -> None:
    counts = np.zeros(41, dtype=np.int64)
    counts[[0, 8, 30]] = 100
    shape = exact_shape(counts, 4)
    codes = DOMAIN.bin_codes[[0, 1, 3]].repeat(5000)
    drawn = shape.cells(codes, np.random.default_rng(10))
    assert (shape.shares[drawn] > 0).all()


def test_what_a_sum_takes_from_the_noisy_numbers() -> None:
    """Against an explicit inverse: cells from counts and details, unknown shares and all."""
    generator = np.random.default_rng(11)
    shape = exact_shape(generator.integers(1, 50, 41), 4)
    grid, fine = shape.grid, shape.fine.domain
    assert isinstance(fine, Intervals)
    weights = generator.random(shape.fine.size)
    forward = np.concatenate([
        np.stack([detailed(row, grid, 4) for row in np.eye(shape.fine.size, dtype=np.int64)], axis=1),
        np.stack([shape.home == code for code in range(ATTRIBUTE.size)]).astype(np.int64),
    ])  # fmt: skip
    taken = weights @ np.linalg.inv(forward)
    coarse, squares = shape.adjoint(weights)
    assert coarse == pytest.approx(taken[grid.coefficients :])
    assert squares.sum() == pytest.approx((taken[: grid.coefficients] ** 2).sum())


def test_weights_gathered_by_the_shape() -> None:
    shape = exact_shape(np.random.default_rng(12).integers(1, 50, 41), 3)
    weights = np.random.default_rng(13).random((shape.fine.size, 2))
    found = shape.gathered(weights)
    for code in range(ATTRIBUTE.size):
        own = shape.home == code
        assert found[code] == pytest.approx((weights[own] * shape.shares[own, None]).sum(axis=0))
