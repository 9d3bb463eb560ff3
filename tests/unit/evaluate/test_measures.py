"""Ranges, dependence, raw columns and twins, each against brute force or a case worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from scipy.stats.contingency import association

from conftest import columns_of, schema_of
from understudy.errors import UsageError
from understudy.evaluate.dependence import cramers_v, mutual_information, network_information, network_of, pearson
from understudy.evaluate.ranges import SANITY, random_queries, range_errors
from understudy.evaluate.raw import matches, numeric_column, paired_columns, wasserstein
from understudy.privacy.custodian import ExactTable
from understudy.privacy.scores import MUTUAL_INFORMATION, Pair
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema, Taxonomy

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5}


def table(columns: dict[str, np.ndarray], schema: Schema | None = None) -> ExactTable:
    rows = len(next(iter(columns.values())))
    return ExactTable(columns, rows, schema or schema_of(SIZES, rows))


# -- ranges ------------------------------------------------------------------------------------------------------


def mixed(rows: int) -> Schema:
    towns = Categories(("p", "q", "r", "s"))
    tree = Taxonomy.of_groups({"north": ["p", "q"], "south": ["r", "s"]}, towns)
    return Schema(
        "t",
        (
            Attribute("age", Intervals("integer", (0.0, 25.0, 50.0, 75.0, 100.0)), missing=("NA",)),
            Attribute("town", towns, tree),
            Attribute("sex", Categories(("f", "m"))),
        ),
        rows=rows,
    )


def test_range_errors_equal_brute_force() -> None:
    g = np.random.default_rng(3)
    real, other = (
        table({"age": g.integers(0, 5, n), "town": g.integers(0, 4, n), "sex": g.integers(0, 2, n)}, mixed(n))
        for n in (400, 300)
    )
    queries = random_queries(real.schema, 200, seed=1)
    relative, absolute = [], []
    for query in queries:
        counts = []
        for t in (real, other):
            inside = np.ones(t.rows(), dtype=bool)
            for axis, mask in zip(query.axes, query.allowed):
                inside &= mask[t.codes(axis.attribute)]
            counts.append(int(inside.sum()))
        gap = abs(counts[1] * 400 / 300 - counts[0])
        relative.append(gap / max(counts[0], SANITY * 400))
        absolute.append(gap / 400)
    found = range_errors(real, other, queries)
    assert found.mean_relative == pytest.approx(np.mean(relative))
    assert found.median_relative == pytest.approx(np.median(relative))
    assert found.mean_absolute == pytest.approx(np.mean(absolute))
    same = range_errors(real, real, queries)
    assert (same.mean_relative, same.p95_relative) == (0, 0)


def test_conditions_are_ranges_and_taxonomy_nodes() -> None:
    schema = mixed(10)
    queries = random_queries(schema, 500, seed=2)
    seen = {axis.attribute: set() for query in queries for axis in query.axes}
    for query in queries:
        for axis, mask in zip(query.axes, query.allowed):
            seen[axis.attribute].add(tuple(mask.tolist()))
    assert {tuple(c in group for c in "pqrs") for group in ("pq", "rs", "p", "q", "r", "s")} == seen["town"]
    for mask in seen["age"]:
        assert not mask[-1]  # missing is outside every range
        assert sum(a != b for a, b in zip((False, *mask), (*mask, False))) == 2  # one run
    assert len(seen["age"]) == 10
    again = random_queries(schema, 500, seed=2)
    assert [q.axes for q in again] == [q.axes for q in queries]


# -- dependence --------------------------------------------------------------------------------------------------


def test_cramers_v_equals_scipy() -> None:
    real, other = table(columns_of(SIZES, 900, 1)), table(columns_of(SIZES, 800, 2))
    gaps = []
    for i, a in enumerate(SIZES):
        for b in list(SIZES)[i + 1 :]:
            pair = [next(iter(t.marginals([(Axis(a), Axis(b))]))) for t in (real, other)]
            gaps.append(abs(association(pair[0]) - association(pair[1])))
    found = cramers_v(real, other)
    assert found is not None
    assert (found.pairs, found.mean, found.max) == (6, pytest.approx(np.mean(gaps)), pytest.approx(max(gaps)))


def test_a_constant_column_depends_on_nothing() -> None:
    columns = columns_of(SIZES, 50)
    columns["b"] = np.zeros(50, dtype=np.uint8)
    found = cramers_v(table(columns), table(columns))
    assert found is not None and found.max == 0
    assert cramers_v(*[table({"a": columns["a"]}, schema_of({"a": 2}, 50))] * 2) is None


def test_pearson_leaves_out_what_is_missing() -> None:
    x = np.asarray([1.0, 2, 3, np.nan, 5])
    y = np.asarray([2.0, 4, 6, 9, 10])
    found = pearson({"x": x, "y": y}, {"x": y, "y": np.ones(5)})
    assert found is not None and found.max == pytest.approx(1.0)
    assert pearson({"x": x}, {"x": x}) is None


def test_mutual_information_is_the_kernels_score() -> None:
    real = table(columns_of(SIZES, 900, 1))
    pair = Pair(Axis("c"), (Axis("a"), Axis("b")))
    (counts,) = real.marginals([pair.axes])
    flat = counts.reshape(-1, 4)
    assert mutual_information(flat) * 900 * 2**40 == pytest.approx(
        MUTUAL_INFORMATION.value(flat, 900, real.schema), rel=1e-9
    )
    network = (Pair(Axis("a")), Pair(Axis("b"), (Axis("a"),)), pair)
    (small,) = real.marginals([network[1].axes])
    assert network_information(real, network) == pytest.approx(mutual_information(flat) + mutual_information(small))


def test_a_copy_has_one_bit_and_a_coin_has_none() -> None:
    half = np.asarray([[50, 0], [0, 50]])
    assert mutual_information(half) == pytest.approx(1.0)
    assert mutual_information(np.asarray([[25, 25], [25, 25]])) == 0


def test_networks_are_read_from_a_release() -> None:
    schema = mixed(10)
    facts = {"network": [{"attribute": "sex", "parents": []}, {"attribute": "town", "parents": ["sex", "age@1"]}]}
    assert network_of(facts, schema) == (Pair(Axis("sex")), Pair(Axis("town"), (Axis("sex"), Axis("age", 1))))
    bits = {"network": [{"attribute": "age#gray1", "parents": ["town#bit0"]}]}
    assert network_of(bits, schema) == (Pair(Axis("age", 0, 1, True), (Axis("town", 0, 0),)),)
    for bad in ({}, {"network": [{"attribute": "height", "parents": []}]}):
        with pytest.raises(UsageError):
            network_of(bad, schema)


# -- raw columns -------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.lists(st.integers(-50, 50), min_size=1, max_size=30))
def test_wasserstein_equals_scipy(x: list[int], y: list[int]) -> None:
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert wasserstein(a, b) == pytest.approx(wasserstein_distance(a, b), abs=1e-9)
    assert wasserstein(a, a) == 0
    assert wasserstein(a, a + 3) == pytest.approx(3)


def test_a_column_is_described() -> None:
    real = np.asarray([1.0, 2, 3, 4, np.nan])
    found = numeric_column(real, np.asarray([np.nan, np.nan]), "days since 1970-01-01")
    assert (found.original.mean, found.original.missing) == (2.5, pytest.approx(0.2))
    assert found.original.sd == pytest.approx(math.sqrt(5 / 3))
    assert found.original.quantiles[3] == 2.5
    assert (found.synthetic.mean, found.synthetic.missing, found.wasserstein) == (None, 1, None)
    assert found.unit == "days since 1970-01-01"


# -- twins -------------------------------------------------------------------------------------------------------


def test_twins_equal_brute_force() -> None:
    real, other = table(columns_of(SIZES, 120, 1)), table(columns_of(SIZES, 80, 2))
    found = matches(paired_columns(real, other, {}))
    rows = [set(zip(*(t.codes(n).tolist() for n in SIZES))) for t in (real, other)]
    synthetic = list(zip(*(other.codes(n).tolist() for n in SIZES)))
    assert found.rate == pytest.approx(np.mean([row in rows[0] for row in synthetic]))
    assert found.rate_in_half <= found.rate


def test_copies_stand_out_beside_a_fresh_sample() -> None:
    """Rows with a unique number: a fresh sample never matches, a copy always does."""
    real = np.arange(1000.0)
    copied = matches([(real, real[:500])])
    assert (copied.rate, copied.expected) == (1, 0)
    fresh = matches([(real, real + 0.5)])
    assert (fresh.rate, fresh.rate_in_half, fresh.expected) == (0, 0, 0)
    few = np.random.default_rng(0).integers(0, 5, 2000).astype(float)
    common = matches([(few, few[::-1])])
    assert (common.rate, common.expected) == (1, 1)  # with five values everyone has a twin, and it means nothing


def test_missing_numbers_are_equal_to_each_other() -> None:
    found = matches([(np.asarray([np.nan, 1.0]), np.asarray([np.nan, 2.0]))])
    assert found.rate == 0.5
