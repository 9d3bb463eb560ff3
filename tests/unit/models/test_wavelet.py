"""The wavelet model against plain linear algebra: answers, their exact variance, groups, non-negative tables, saving."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from understudy.errors import ReleaseError
from understudy.models.serialization import Arrays, model_from_parts, model_parts
from understudy.models.wavelet import WaveletModel
from understudy.models.wavelet_trees import inverted, non_negative
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.questions.wavelets import Wavelets, transformed, wavelet_dimensions
from understudy.query.queries import Query, answer
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema, Taxonomy

REGIONS = Categories(tuple("abcdefg"))
TREE = Taxonomy.of_groups({"North": ["a", "b", "c"], "South": {"East": ["d", "e"], "West": ["f", "g"]}}, REGIONS)
ATTRIBUTES = (
    Attribute("age", Intervals("integer", tuple(range(14)))),
    Attribute("region", REGIONS, TREE),
    Attribute("sex", Categories(("F", "M"))),
)
KINDS = {"age": "haar", "region": "nominal", "sex": "plain"}


def model_of(names: tuple[str, ...], total: int | None, noise: float = 4.0, seed: int = 0) -> tuple[WaveletModel, Any]:
    """A model of noisy counts, and the exact counts."""
    schema = Schema("people", tuple(a for a in ATTRIBUTES if a.name in names), rows=total or 500)
    axes, kinds = tuple(map(Axis, schema.names)), tuple(KINDS[n] for n in schema.names)
    dims = wavelet_dimensions(schema, axes, kinds, 10**6)
    generator = np.random.default_rng(seed)
    sizes = schema.sizes(axes)
    counts = generator.multinomial(total or 500, generator.dirichlet(np.full(math.prod(sizes), 0.3))).reshape(sizes)
    exact = transformed(counts, dims)
    values = exact + np.rint(generator.normal(0, noise, exact.shape)).astype(np.int64)
    return WaveletModel(schema, Wavelets(axes, kinds, "tight", values, Gaussian(noise)), total), counts  # type: ignore[arg-type]


SHAPES = [
    ("age",),
    ("region",),
    ("sex",),
    ("age", "region"),
    ("age", "sex"),
    ("region", "sex"),
    ("age", "region", "sex"),
]


def matrices(model: WaveletModel) -> tuple[np.ndarray, np.ndarray]:
    """The inverse transform as one matrix, and the row that adds up the total."""
    shape = model.wavelets.values.shape
    size = math.prod(shape)
    back = np.stack([inverted(e.reshape(shape), model.dimensions).ravel() for e in np.eye(size)], axis=1)
    return back, back.sum(axis=0)


@pytest.mark.parametrize("total", [500, None])
@pytest.mark.parametrize("names", SHAPES, ids="-".join)
def test_answers_and_variances_are_those_of_least_squares(names: tuple[str, ...], total: int | None) -> None:
    model, _ = model_of(names, total)
    back, whole = matrices(model)
    y = model.wavelets.values.ravel().astype(float)
    spread = np.eye(len(y)) * model.wavelets.noise.variance
    if total is not None:  # conditioned on the total, by hand
        gain = spread @ whole / (whole @ spread @ whole)
        y = y + gain * (total - whole @ y)
        spread = spread - np.outer(gain, whole @ spread)
    generator = np.random.default_rng(5)
    for _ in range(20):
        weights = {n: generator.random(model.schema[n].size).round(1) * generator.integers(0, 2) for n in names}
        if generator.integers(0, 2):
            weights.pop(names[0])
        full = np.ones(())
        for name in model.schema.names:
            full = np.multiply.outer(full, weights.get(name, np.ones(model.schema[name].size)))
        taken = full.ravel() @ back
        value, variance = model.weighted_sum(weights)
        assert value == pytest.approx(taken @ y)
        assert variance == pytest.approx(taken @ spread @ taken, abs=1e-9)


@pytest.mark.parametrize("by", [("region",), ("age", "sex"), ("sex", "age"), ("sex", "region", "age")])
def test_groups_are_the_same_sums_one_by_one(by: tuple[str, ...]) -> None:
    model, _ = model_of(("age", "region", "sex"), 500)
    weights = {"age": np.linspace(0, 1, 13), "region": np.array([1, 1, 0, 0, 1, 0.5, 1])}
    values, variances = model.grouped_sums(weights, by)
    assert values.shape == tuple(model.schema[n].size for n in by)
    for codes in np.ndindex(*values.shape):
        own = dict(weights)
        for name, code in zip(by, codes):
            cell = np.zeros(model.schema[name].size)
            cell[code] = weights[name][code] if name in weights else 1
            own[name] = cell
        assert (values[codes], variances[codes]) == pytest.approx(model.weighted_sum(own), abs=1e-8)


def test_the_public_total_has_no_error() -> None:
    for names in SHAPES:
        model, _ = model_of(names, 500)
        assert model.weighted_sum({}) == pytest.approx((500, 0), abs=1e-9)
        assert model.count == 500
        free, _ = model_of(names, None)
        assert free.weighted_sum({})[1] >= free.wavelets.noise.variance * 0.99


def test_a_query_is_answered_from_the_coefficients() -> None:
    model, counts = model_of(("age", "region"), 500, noise=1e-9)
    query = Query.of_text("count where 3 <= age < 9 and region = North", model.schema, 500)
    found = answer(model, query)
    assert found.value == pytest.approx(counts[3:9, :3].sum())
    assert found.stderr == pytest.approx(0, abs=1e-6)
    assert found.stderr_covers == "the noise of this release, exactly"
    share = answer(model, Query.of_text("share by region where age >= 4", model.schema, 500))
    assert [f.value for f in share.figures] == pytest.approx((counts[4:].sum(axis=0) / 500).tolist())
    everything = answer(model, Query.of_text("count", model.schema, 500))
    assert (everything.value, everything.stderr) == (500, 0)
    mean = answer(model, Query.of_text("mean(age)", model.schema, 500))
    assert mean.value == pytest.approx((counts.sum(axis=1) @ [*range(12), 12.5]) / 500)  # the last bin is closed


MEANS = ("mean(age)", "mean(age) where region = North", "mean(age) by sex where 2 <= age < 11", "mean(age) by region")


@pytest.mark.parametrize("total", [5000, None])
@pytest.mark.parametrize("text", MEANS)
def test_a_mean_and_its_error_to_first_order(text: str, total: int | None) -> None:
    """Against linear algebra: the gradient of M/C by the coefficients, at the coefficients that were released."""
    model, _ = model_of(("age", "region", "sex"), total, seed=3)
    rows = total or 500
    query = Query.of_text(text, model.schema, rows)
    found = answer(model, query)
    back, whole = matrices(model)
    spread = np.eye(back.shape[1]) * model.wavelets.noise.variance
    if total is not None:
        spread = spread - np.outer(spread @ whole, whole @ spread) / (whole @ spread @ whole)
    y, own = model.coefficients.ravel(), query.selections["age"]
    for codes, figure in zip(query.groups, found.figures):
        parts = {name: s.weights for name, s in query.selections.items()}
        for name, code in zip(query.by, codes):
            parts[name] = np.eye(model.schema[name].size)[code] * parts[name]
        sums = []
        for column in (own.moments, own.present):
            full = np.ones(())
            for name in model.schema.names:
                full = np.multiply.outer(full, (parts | {"age": column}).get(name, np.ones(model.schema[name].size)))
            sums.append(full.ravel() @ back)
        gradient = (sums[0] - (sums[0] @ y) / (sums[1] @ y) * sums[1]) / (sums[1] @ y)
        if figure.stderr is None:
            few = sums[1] @ y <= 3.001 * np.sqrt(sums[1] @ spread @ sums[1])
            assert few or not 0 <= (sums[0] @ y) / (sums[1] @ y) <= 13
            continue
        assert figure.value == pytest.approx((sums[0] @ y) / (sums[1] @ y))
        assert figure.stderr == pytest.approx(np.sqrt(gradient @ spread @ gradient), rel=1e-6)
    assert found.stderr_covers is not None and "to first order" in found.stderr_covers


def test_a_mean_of_rows_that_noise_made_up_claims_nothing() -> None:
    model, _ = model_of(("age", "region"), 500, noise=300)
    found = answer(model, Query.of_text("mean(age) by region", model.schema, 500))
    assert any(f.stderr is None for f in found.figures) and any("lost in noise" in note for note in found.notes)
    assert all(f.value is None or 0 <= f.value <= 13 for f in found.figures)
    inside = answer(model, Query.of_text("mean(age) by age", model.schema, 500))
    assert all(f.stderr is None for f in inside.figures)


def test_a_negative_count_is_left_as_it_is_and_noted() -> None:
    model, _ = model_of(("age", "region"), 500, noise=200)
    found = answer(model, Query.of_text("count by age, region", model.schema, 500))
    assert min(f.value for f in found.figures if f.value is not None) < 0
    assert any("below zero" in note for note in found.notes)


# -- as a distribution -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [1e-9, 3.0, 300.0])
@pytest.mark.parametrize("names", SHAPES, ids="-".join)
def test_the_non_negative_table_keeps_the_total(names: tuple[str, ...], noise: float) -> None:
    model, counts = model_of(names, 500, noise)
    table = non_negative(model.coefficients, model.dimensions, 500.0)
    assert (table >= 0).all() and table.sum() == pytest.approx(500)
    if noise < 1:
        assert table == pytest.approx(counts, abs=1e-6)
    assert model.project(names).table == pytest.approx(np.transpose(table, _order(model, names)) / 500)


def _order(model: WaveletModel, names: tuple[str, ...]) -> list[int]:
    return [model.schema.names.index(n) for n in names]


def test_an_empty_branch_stays_empty_and_zero_rows_are_no_trouble() -> None:
    model, _ = model_of(("age", "region"), 500)
    assert (non_negative(model.coefficients, model.dimensions, 0.0) == 0).all()
    assert (non_negative(model.coefficients, model.dimensions, -5.0) == 0).all()


def test_coarse_sums_survive_where_cells_drown() -> None:
    """Clipping cell by cell would lift every empty half; from the root down it does not."""
    schema = Schema("people", (Attribute("x", Intervals("integer", tuple(range(1025)))),), rows=10_000)
    dims = wavelet_dimensions(schema, (Axis("x"),), ("haar",), 10**6)
    counts = np.zeros(1024, dtype=np.int64)
    counts[:64] = 10_000 // 64
    counts[0] += 10_000 - counts.sum()
    errors, clipped = [], []
    for seed in range(20):
        noise = np.rint(np.random.default_rng(seed).laplace(0, 20, 1024)).astype(np.int64)
        noisy = Wavelets((Axis("x"),), ("haar",), "tight", transformed(counts, dims) + noise, Laplace(20.0))
        model = WaveletModel(schema, noisy, 10_000)
        errors.append(abs(model.project(["x"]).table[:512].sum() - 1))
        plain = np.maximum(model.noisy_cells(), 0)
        clipped.append(abs(plain[:512].sum() / plain.sum() - 1))
    assert np.mean(errors) < 0.01 < np.mean(clipped)


def test_sampling_and_conditions_follow_the_same_table() -> None:
    model, _ = model_of(("age", "region"), 500)
    rows = model.sample(20_000, np.random.default_rng(1))
    seen = np.bincount(rows["age"], minlength=13) / 20_000
    assert seen == pytest.approx(model.project(["age"]).table, abs=0.01)
    joint = model.project(["age", "region"]).table
    given = model.condition({"age": [2, 3, 4]}).project(["region"]).table
    assert given == pytest.approx(joint[2:5].sum(axis=0) / joint[2:5].sum())


# -- saved -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [500, None])
def test_a_saved_model_is_the_same_model(total: int | None) -> None:
    model, _ = model_of(("age", "region", "sex"), total)
    again = model_from_parts(*model_parts(model), model.schema)
    assert isinstance(again, WaveletModel)
    assert again.weighted_sum({"age": np.ones(13)}) == model.weighted_sum({"age": np.ones(13)})
    assert (again.project(["age"]).table == model.project(["age"]).table).all()


def test_a_crafted_file_is_refused() -> None:
    model, _ = model_of(("age", "region"), 500)
    document, arrays = model_parts(model)
    wrong: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"kinds": ["haar"]}, {}),
        ({"kinds": ["haar", "haar"]}, {}),
        ({"kinds": ["haar", "fourier"]}, {}),
        ({"scale": float("inf")}, {}),
        ({"noise": "uniform"}, {}),
        ({"form": "loose"}, {}),
        ({"total": -1}, {}),
        ({"total": "500"}, {}),
        ({"axes": document["axes"][:1]}, {}),
        ({"axes": [["age", 0, -1, 0], ["age", 0, -1, 0]]}, {}),
        ({}, {"coefficients": arrays["coefficients"][:-1]}),
        ({}, {"coefficients": arrays["coefficients"].astype(float)}),
    ]
    for change, data in wrong:
        with pytest.raises(ReleaseError):
            model_from_parts(document | change, Arrays(arrays | data), model.schema)
