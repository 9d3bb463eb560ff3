"""Estimation against brute force: the least squares over the full joint, and the rows that made the tables."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import optimize

from understudy.errors import TooLarge
from understudy.models import estimation
from understudy.models.consistency import Agreement
from understudy.models.edition import Edition
from understudy.models.estimation import fitted
from understudy.models.factor import Factor
from understudy.models.junction_tree import JunctionTree
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema
from understudy.schema.axis import MERGED

SHAPES = {
    "chain": ["ab", "bc", "cd"],
    "star": ["ab", "ac", "ad"],
    "cycle": ["ab", "bc", "cd", "da"],
    "overlapping": ["abc", "bcd", "acd"],
    "disconnected": ["ab", "cd"],
    "one clique": ["abcd"],
    "repeated": ["ab", "ba", "a", "abc", "cd"],
    "never measured": ["ab", "b"],
}
SIZES = dict(zip("abcd", (2, 3, 4, 2)))
N = 5000


def schema_of(sizes: dict[str, int], rows: int = N) -> Schema:
    values = {name: Categories(tuple(f"v{i}" for i in range(size))) for name, size in sizes.items()}
    return Schema("test", tuple(Attribute(name, domain) for name, domain in values.items()), rows=rows)


def true_joint(seed: int = 0, sizes: dict[str, int] = SIZES) -> Factor:
    table = np.random.default_rng(seed).dirichlet(np.full(int(np.prod(list(sizes.values()))), 0.4))
    return Factor(tuple(Axis(name) for name in sizes), table.reshape(tuple(sizes.values())))


def measure(joint: Factor, tables: list[str], scale: float, seed: int = 1, n: int = N) -> list[Measurement]:
    chance = np.random.default_rng(seed)
    found = []
    for names in tables:
        exact = joint.project([Axis(name) for name in names])
        values = np.rint(n * exact.table + chance.normal(0, scale, exact.table.shape)).astype(np.int64)
        found.append(Measurement(exact.axes, values, Gaussian(scale)))
    return found


def squares(joint: Factor, measurements: list[Measurement], n: int = N) -> float:
    return sum(
        float(((n * joint.project(m.axes).table - m.values) ** 2).sum()) / (2 * max(m.variance, 1 / 12))
        for m in measurements
    )


def design(tables: list[tuple[Axis, ...]], sizes: dict[str, int]) -> np.ndarray:
    """One row for each measured cell, one column for each cell of the joint: which of them fall into it."""
    axes, shape = tuple(Axis(name) for name in sizes), tuple(sizes.values())
    columns = []
    for cell in np.eye(int(np.prod(shape))):
        joint = Factor(axes, cell.reshape(shape))
        columns.append(np.concatenate([joint.project(table).table.ravel() for table in tables]))
    return np.array(columns).T


def least_squares(measurements: list[Measurement], sizes: dict[str, int]) -> float:
    """The smallest weighted squares of any distribution, found without any graph: non-negative least squares."""
    weight = np.concatenate([np.full(m.values.size, max(m.variance, 1 / 12) ** -0.5) for m in measurements])
    rows = N * design([m.axes for m in measurements], sizes) * weight[:, None]
    values = np.concatenate([m.values.ravel() for m in measurements]) * weight
    total = 1e3 * N * np.ones((1, rows.shape[1]))  # heavy enough to hold the total at one
    share, _ = optimize.nnls(np.vstack([rows, total]), np.append(values, 1e3 * N))
    return float(((rows @ share / share.sum() - values) ** 2).sum() / 2)


@pytest.mark.parametrize("scale", [5.0, 60.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_distribution_fits_much_better(shape: str, scale: float) -> None:
    measurements = measure(true_joint(), SHAPES[shape], scale)
    model = fitted(measurements, schema_of(SIZES), N, edition=Edition.POOLED_TAILS).tree  # later ones shrink
    found = squares(model.project("abcd"), measurements)
    assert found <= least_squares(measurements, SIZES) * 1.02 + 0.5


@pytest.mark.parametrize("shape", SHAPES)
def test_tables_without_noise_are_recovered(shape: str) -> None:
    n = 1_000_000
    joint = true_joint(3)
    model = fitted(measure(joint, SHAPES[shape], 0.0, n=n), schema_of(SIZES), n).tree
    for names in SHAPES[shape]:
        expected = joint.project([Axis(name) for name in names]).table
        np.testing.assert_allclose(model.project(names).table, expected, atol=3e-6)


def test_an_attribute_never_measured_is_uniform_and_independent() -> None:
    model = fitted(measure(true_joint(), ["ab"], 5.0), schema_of(SIZES), N).tree
    np.testing.assert_allclose(model.project("c").table, 1 / 4)
    np.testing.assert_allclose(model.project("ca").table, np.full((4, 1), 1 / 4) * model.project("a").table)


def test_no_measurement_is_the_uniform_distribution() -> None:
    np.testing.assert_allclose(fitted([], schema_of(SIZES), N).tree.project("abcd").table, 1 / 48)


def test_the_result_has_the_largest_entropy() -> None:
    """Two tables that share b say nothing about a and c given b: they must be independent there."""
    model = fitted(measure(true_joint(), ["ab", "bc"], 3.0), schema_of(SIZES), N).tree
    table = model.project("abc").table
    product = (
        model.project("ab").table[:, :, None] * model.project("bc").table[None] / model.project("b").table[:, None]
    )
    np.testing.assert_allclose(table, product, atol=1e-9)


def test_objective_decreases_and_the_end_is_selectd_by_the_gap() -> None:
    trace: list[tuple[float, int]] = []
    measurements = measure(true_joint(), SHAPES["overlapping"], 30.0)
    fitted(measurements, schema_of(SIZES), N, progress=lambda objective, step: trace.append((objective, step)))
    objectives = [objective for objective, _ in trace]
    assert [step for _, step in trace] == list(range(len(trace)))
    assert all(b <= a for a, b in itertools.pairwise(objectives))
    assert objectives[-1] < objectives[0]
    assert len(trace) < estimation.MAX_STEPS / 2


def test_a_more_precise_table_has_more_say() -> None:
    exact = measure(true_joint(), ["ab"], 0.0)[0]
    rough = Measurement(exact.axes, exact.values[::-1].copy(), Laplace(50.0))
    close = Measurement(exact.axes, exact.values, Gaussian(1.0))
    found = fitted([rough, close], schema_of(SIZES), N).tree.project("ab").table
    assert np.abs(N * found - exact.values).max() < 5


def clip_and_normalise(measurements: list[Measurement], schema: Schema) -> JunctionTree:
    """The published rule: each table clipped, then given the attributes that came before."""
    known: set[Axis] = set()
    logs = []
    for m in measurements:
        table = np.maximum(m.values, 1e-9).astype(np.float64)
        new = tuple(i for i, axis in enumerate(m.axes) if axis not in known)
        logs.append(Factor(m.axes, np.log(table / table.sum(axis=new, keepdims=True))))
        known.update(m.axes)
    return JunctionTree.of(schema, logs)


@pytest.mark.parametrize("seed", range(4))
def test_estimation_beats_clip_and_normalise(seed: int) -> None:
    sizes = dict(zip("abcdef", (3, 4, 3, 5, 4, 3)))
    tables = ["abc", "bcd", "cde", "def", "aef"]
    schema, joint = schema_of(sizes), true_joint(seed, sizes)
    measurements = measure(joint, tables, 40.0, seed)
    error = []
    for model in (fitted(measurements, schema, N).tree, clip_and_normalise(measurements, schema)):
        pairs = list(itertools.combinations("abcdef", 2))
        error.append(np.mean([
            np.abs(model.project(names).table - joint.project([Axis(n) for n in names]).table).sum() for names in pairs
        ]))  # fmt: skip
    assert error[0] < error[1]


# -- views ---------------------------------------------------------------------------------------------------


def census() -> tuple[Schema, Factor]:
    age = Attribute("age", Intervals("number", tuple(float(i) for i in range(9))))
    schema = Schema("test", (age, Attribute("sex", Categories(("f", "m"))), Attribute("job", Categories(tuple("xyz")))),
                    rows=N)  # fmt: skip
    return schema, true_joint(5, {"age": 8, "sex": 2, "job": 3})


def viewed(joint: Factor, axes: tuple[Axis, ...], schema: Schema) -> np.ndarray:
    codes = dict(zip((axis.attribute for axis in joint.axes), np.indices(joint.table.shape)))
    out = np.zeros(schema.sizes(axes))
    np.add.at(out, tuple(schema.view_map(axis)[codes[axis.attribute]] for axis in axes), joint.table)
    return out


@pytest.mark.parametrize("views", [
    [(Axis("age", 1), Axis("sex")), (Axis("age"),)],
    [(Axis("age", 1), Axis("sex")), (Axis("age", 2), Axis("job"))],
    [(Axis("job"), Axis("age", 2)), (Axis("age", bit=2), Axis("sex")), (Axis("age", 1),)],
    [(Axis("age", bit=0), Axis("age", bit=1), Axis("sex")), (Axis("age", bit=2), Axis("job"))],
    [(Axis("age", bit=1, gray=True), Axis("sex")), (Axis("age", bit=2, gray=True), Axis("age", bit=0, gray=True))],
    [(Axis("job", bit=0), Axis("sex")), (Axis("job", bit=1), Axis("age", 1))],
])  # fmt: skip
def test_generalised_tables_and_digits_are_fitted(views: list[tuple[Axis, ...]]) -> None:
    schema, joint = census()
    n = 1_000_000
    measurements = [
        Measurement(axes, np.rint(n * viewed(joint, axes, schema)).astype(np.int64), Laplace(0.0)) for axes in views
    ]
    model = fitted(measurements, schema, n).tree
    for axes in views:
        found = viewed(model.project(["age", "sex", "job"]), axes, schema)
        np.testing.assert_allclose(found, viewed(joint, axes, schema), atol=5e-6)
    rows = model.sample(500, np.random.default_rng(0))
    assert all(rows[a.name].max() < a.size for a in schema.attributes)


# -- agreement -----------------------------------------------------------------------------------------------


def test_agreement_is_the_weighted_least_squares_projection() -> None:
    schema = schema_of(SIZES)
    tables = [tuple(Axis(n) for n in names) for names in ("abc", "bcd", "acd", "ab", "d")]
    variances = [1.0, 4.0, 0.5, 2.0, 3.0]
    rows = design(tables, SIZES)
    weight = 1 / np.sqrt(np.repeat(variances, [schema.cells(t) for t in tables]))
    values = np.random.default_rng(0).normal(size=len(rows))
    answer, *_ = np.linalg.lstsq(rows * weight[:, None], values * weight, rcond=None)
    np.testing.assert_allclose(Agreement.of(tables, variances, schema).project(values), rows @ answer, atol=1e-9)


def test_agreement_of_values_and_groups_is_the_projection_on_tables_of_total_zero() -> None:
    sizes = {"a": 2, "b": 3, "c": 6, "d": 5}
    schema = schema_of(sizes).merged({"c": (0, 0, 0, 1, 1, 2), "d": (0, 1, 1, 2, 2)})
    a, b, c, d = map(Axis, sizes)
    c_groups, d_groups = Axis("c", MERGED), Axis("d", MERGED)
    tables = [(a,), (b,), (c,), (d,), (c_groups, a), (b, c_groups), (c_groups, d_groups), (d_groups, a), (d, b), (a, b)]
    variances = np.random.default_rng(1).uniform(0.5, 4, len(tables)).tolist()
    joint = np.eye(int(np.prod(list(sizes.values())))).reshape(-1, *sizes.values())
    cells = np.concatenate([np.stack([by_view(own, axes, schema).ravel() for own in joint]).T for axes in tables])
    zero_total = cells - cells.mean(axis=1, keepdims=True)  # of all directions those that add up to zero
    weight = 1 / np.sqrt(np.repeat(variances, [schema.cells(t) for t in tables]))
    values = np.random.default_rng(0).normal(size=len(cells))
    agreement = Agreement.of(tables, variances, schema)
    answer, *_ = np.linalg.lstsq(zero_total * weight[:, None], values * weight, rcond=None)
    np.testing.assert_allclose(agreement.project(values), zero_total @ answer, atol=1e-9)
    shares = cells @ np.full(cells.shape[1], 1 / cells.shape[1])
    np.testing.assert_allclose(agreement.nearest(shares), shares, atol=1e-12)


def by_view(joint: np.ndarray, axes: tuple[Axis, ...], schema: Schema) -> np.ndarray:
    """Sum a table over all attributes of a schema to these axes, merged groups among them."""
    codes = np.indices(joint.shape)
    out = np.zeros(schema.sizes(axes))
    np.add.at(out, tuple(schema.view_map(axis)[codes[schema.names.index(axis.attribute)]] for axis in axes), joint)
    return out


# -- size ----------------------------------------------------------------------------------------------------


def test_a_model_above_the_limit_is_refused_before_it_is_made() -> None:
    sizes = {f"x{i:02}": 10 for i in range(14)}
    tables = [
        Measurement((Axis(a), Axis(b)), np.zeros((10, 10), dtype=np.int64), Laplace(1.0))
        for a, b in itertools.combinations(sizes, 2)
    ]
    tracemalloc.start()
    with pytest.raises(TooLarge, match="100,000,000,000,000"):
        fitted(tables, schema_of(sizes), N)
    with pytest.raises(TooLarge, match="limit is 99"):
        fitted(tables[:1], schema_of(sizes), N, limit=99)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
