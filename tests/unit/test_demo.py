"""The demo table: its truth is a network, its rows follow it, and its raw values follow the schema's bins."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm

from demo_truth import true_mean, true_median
from understudy.demo import (
    demo_network,
    demo_rows,
    demo_schema,
    demo_table,
    true_marginal,
    write_demo,
)
from understudy.schema import Intervals, Schema

ROWS = 50_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return demo_table(ROWS, np.random.default_rng(11))


@pytest.fixture(scope="module")
def codes() -> dict[str, np.ndarray]:
    return demo_rows(ROWS, np.random.default_rng(12))


def entropy(table: np.ndarray) -> float:
    positive = table[table > 0]
    return float(-(positive * np.log2(positive)).sum())


def information(a: str, b: str) -> float:
    joint = true_marginal([a, b])
    return entropy(joint.sum(0)) + entropy(joint.sum(1)) - entropy(joint)


def test_the_schema_is_a_census():
    schema = demo_schema()
    assert len(schema.modelled) == 15 and schema.rows == 50_000 and schema.neighbours == "replace-one"
    assert {a.kind for a in schema.attributes} == {"id", "drop", "integer", "number", "category", "boolean", "date"}
    assert schema["region"].levels == 3 and schema["region"].size == 20
    assert sum(a.has_missing for a in schema.modelled) >= 4
    assert schema.unconfirmed == [] and Schema.from_toml(schema.to_toml()) == schema
    assert demo_schema(77).rows == 77


def test_the_network_is_one():
    known: set[str] = set()
    schema = demo_schema()
    for name, parents, table in demo_network():
        assert set(parents) <= known
        assert table.shape == tuple(schema[n].size for n in (*parents, name))
        assert (table >= 0).all() and np.allclose(table.sum(axis=-1), 1)
        known.add(name)
    assert known == set(schema.names)


def test_marginals_agree_with_brute_force():
    nodes = {node.name: node for node in demo_network()}
    age, sex, marital = (nodes[name].table for name in ("age", "sex", "marital_status"))
    joint = age[:, None, None] * sex[:, :, None] * marital
    assert np.allclose(true_marginal(["marital_status", "age"]), joint.sum(axis=1).T)
    assert np.allclose(true_marginal(["sex", "marital_status", "age"]), joint.transpose(1, 2, 0))


def test_marginals_are_consistent():
    wide = true_marginal(["income", "owns_home", "region"])
    assert np.isclose(wide.sum(), 1) and np.allclose(wide.sum(axis=(1, 2)), true_marginal(["income"]))


def test_rows_follow_the_network(codes):
    for a, b in itertools.combinations(demo_schema().names, 2):
        truth = true_marginal([a, b])
        seen = np.zeros(truth.shape)
        np.add.at(seen, (codes[a], codes[b]), 1 / ROWS)
        assert abs(seen - truth).sum() / 2 < 0.5 * np.sqrt(truth.size / ROWS) + 0.002
        assert not seen[truth == 0].any(), "a structural zero was drawn"


def test_there_is_something_to_find():
    strengths = sorted((information(a, b) for a, b in itertools.combinations(demo_schema().names, 2)), reverse=True)
    assert strengths[4] > 0.5 and strengths[14] > 0.25
    assert information("region", "sex") < 1e-9  # and something not to find
    for name, parents, _ in demo_network():
        assert all(information(name, parent) > 0.001 for parent in parents)


def test_amounts_are_zero_heavy_and_things_are_missing():
    schema = demo_schema()
    assert 0.05 < true_marginal(["income"])[0] < 0.3 and schema["income"].labels[0] == "0"
    for name in ("occupation", "hours_per_week", "last_doctor_visit", "commute_km", "birth_country"):
        assert 0.01 < true_marginal([name])[-1] < 0.5


def test_the_table_is_typed_and_fits_the_schema(table):
    schema = demo_schema()
    assert table.column_names == [a.name for a in schema.attributes] and table.num_rows == ROWS
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types["age"] == "int64" and types["commute_km"] == "double" and types["last_doctor_visit"] == "date32[day]"
    assert types["owns_home"] == "bool" and set(table["chronic_illness"].to_pylist()) == {"Y", "N"}
    assert len(set(table["person_id"].to_pylist())) == ROWS
    assert "unknown" in table["birth_country"].to_pylist() and table["occupation"].null_count > 0


@pytest.mark.parametrize("name", ["age", "hours_per_week", "income", "children", "last_doctor_visit", "commute_km"])
def test_raw_means_and_medians(table, name):
    column = table[name].drop_null()
    values = np.asarray(column.cast(pa.int32()) if name == "last_doctor_visit" else column, dtype=float)
    margin = 5 * values.std() / np.sqrt(len(values))
    assert abs(values.mean() - true_mean(name)) < margin
    assert abs(np.median(values) - true_median(name)) <= max(1.0, 1.5 * margin)


def inside_bin(values: np.ndarray, name: str, code: int) -> tuple[np.ndarray, float, float]:
    domain = demo_schema()[name].domain
    assert isinstance(domain, Intervals)
    low, high = domain.bounds(code)
    return values[(values >= low) & (values <= high)], low, high + 1


def chi_squared(seen: np.ndarray, expected: np.ndarray) -> float:
    return float(((seen - expected) ** 2 / expected).sum())


def test_raw_values_are_uniform_in_their_bin(table):
    values = np.asarray(table["last_doctor_visit"].drop_null().cast(pa.int32()), dtype=float)
    inside, low, high = inside_bin(values, "last_doctor_visit", 1)
    days = high - low
    edges = np.ceil(low + days * np.arange(9) / 8)
    counts, _ = np.histogram(inside, bins=edges)
    assert chi_squared(counts, len(inside) * np.diff(edges) / days) < 35  # 7 degrees of freedom: one in 100,000


@pytest.mark.parametrize("code", [1, 9, 16])
def test_raw_incomes_are_lognormal_in_their_bin(table, code):
    """By the distribution's own integral; the same rows are far from uniform where the bin is long."""
    inside, low, high = inside_bin(np.asarray(table["income"], dtype=float), "income", code)
    edges = np.linspace(max(low, 1), high, 9)
    below = norm.cdf(np.log((edges - 0.5) / 24_000) / 0.8)
    counts, _ = np.histogram(inside, bins=edges)
    assert chi_squared(counts, len(inside) * np.diff(below) / (below[-1] - below[0])) < 35
    if code != 9:
        assert chi_squared(counts, np.full(8, len(inside) / 8)) > 35


def test_the_generator_decides():
    once, again, other = (demo_table(50, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert once.equals(again) and not once.equals(other)


def test_the_files_fit_each_other(tmp_path):
    data, path = write_demo(tmp_path / "new", np.random.default_rng(3), rows=500)
    schema = Schema.open(path)
    with data.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert schema.rows == len(rows) == 500 and head == [a.name for a in schema.attributes]
    for i, attribute in enumerate(schema.attributes):
        if attribute.modelled:
            assert (attribute.encode([row[i] for row in rows]) >= 0).all(), attribute.name
