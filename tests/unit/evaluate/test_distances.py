"""Distances of tables against brute force over rows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import columns_of, schema_of
from understudy.errors import TooLarge, UsageError
from understudy.evaluate import distances, tables
from understudy.evaluate.distances import TableErrors, compare, compare_sets
from understudy.evaluate.tables import table_set
from understudy.privacy.custodian import CustodianFigures, Exact, ExactTable
from understudy.schema import Axis

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 5}


def table(columns: dict[str, np.ndarray], sizes: dict[str, int] = SIZES) -> ExactTable:
    rows = len(next(iter(columns.values())))
    return ExactTable(columns, rows, schema_of(sizes, rows))


def brute_force(real: ExactTable, other: ExactTable, names: tuple[str, ...]) -> tuple[float, float]:
    """TVD and L2 from the rows themselves."""
    shares = [
        {cell: k / t.rows() for cell, k in Counter(zip(*(t.codes(n).tolist() for n in names))).items()}
        for t in (real, other)
    ]
    gaps = [shares[0].get(cell, 0.0) - shares[1].get(cell, 0.0) for cell in shares[0].keys() | shares[1].keys()]
    return sum(map(abs, gaps)) / 2, math.sqrt(sum(gap**2 for gap in gaps))


@pytest.mark.parametrize("alpha", [1, 2, 3, 4, 5])
def test_distances_equal_brute_force(alpha: int) -> None:
    real, other = table(columns_of(SIZES, 700, 1)), table(columns_of(SIZES, 450, 2))
    found = compare_sets(real, other, [table_set(real.schema, alpha)])[alpha]
    assert [t.attributes for t in found.each] == list(itertools.combinations(SIZES, alpha))
    worked = [brute_force(real, other, t.attributes) for t in found.each]
    for t, (tvd, l2) in zip(found.each, worked):
        assert (t.tvd, t.l2) == (pytest.approx(tvd), pytest.approx(l2))
    assert found.mean == pytest.approx(np.mean([tvd for tvd, _ in worked]))
    assert found.max == pytest.approx(max(tvd for tvd, _ in worked)) == found.worst[0].tvd
    assert found.l2 == pytest.approx(np.mean([l2 for _, l2 in worked]))
    assert found.k_marginal == pytest.approx(1000 * (1 - found.mean))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 60))
def test_a_distance_is_a_distance(seed: int, n: int, m: int) -> None:
    """Symmetric, between 0 and 1, 0 from itself, and no smaller for a table with more attributes."""
    real, other = table(columns_of(SIZES, n, seed)), table(columns_of(SIZES, m, seed + 1))
    workload = [(Axis("a"),), (Axis("a"), Axis("c")), (Axis("a"), Axis("c"), Axis("e"))]
    there, back = list(compare(real, other, workload)), list(compare(other, real, workload))
    assert [t.tvd for t in there] == [t.tvd for t in back]
    assert all(0 <= t.tvd <= 1 for t in there)
    assert there[0].tvd <= there[1].tvd + 1e-12 <= there[2].tvd + 2e-12
    assert [t.tvd for t in compare(real, real, workload)] == [0, 0, 0]


def test_twice_the_same_rows_are_no_distance_away() -> None:
    columns = columns_of(SIZES, 300)
    doubled = {name: np.tile(codes, 2) for name, codes in columns.items()}
    assert (
        max(t.tvd for t in compare(table(columns), table(doubled), table_set(table(columns).schema, 3).workload)) == 0
    )


def test_shuffled_columns_give_the_independence_error() -> None:
    """Against a table with the same columns and no dependence left, the TVD of a pair is its score R."""
    n = 40_000
    columns = columns_of({"a": 2, "b": 3}, n, 4)
    g = np.random.default_rng(0)
    real = table(columns, {"a": 2, "b": 3})
    other = table({name: g.permutation(codes) for name, codes in columns.items()}, {"a": 2, "b": 3})
    found = compare_sets(real, other, [table_set(real.schema, 1), table_set(real.schema, 2)])
    (counts,) = real.marginals([(Axis("a"), Axis("b"))])
    joint = counts / n
    independence = 0.5 * np.abs(joint - joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)).sum()
    assert found[1].max == 0
    assert independence > 0.1
    assert found[2].mean == pytest.approx(independence, abs=0.01)


def test_a_table_too_large_to_lay_out_is_compared_by_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    real, other = table(columns_of(SIZES, 700, 1)), table(columns_of(SIZES, 450, 2))
    workload = table_set(real.schema, 3).workload
    laid_out = list(compare(real, other, workload))
    monkeypatch.setattr(distances, "BATCH_CELLS", 25)
    monkeypatch.setattr(tables, "BATCH_CELLS", 25)
    for a, b in zip(compare(real, other, workload), laid_out):
        assert (a.attributes, a.tvd) == (b.attributes, b.tvd)
        assert a.l2 == pytest.approx(b.l2)


def test_a_table_beyond_numbering_is_refused() -> None:
    sizes = dict.fromkeys("abcd", 65535)
    columns = {name: np.zeros(3, dtype=np.uint16) for name in sizes}
    real = table(columns, sizes)
    assert [t.tvd for t in compare(real, real, table_set(real.schema, 3).workload)] == [0, 0, 0, 0]
    with pytest.raises(TooLarge, match="fewer attributes"):
        list(compare(real, real, table_set(real.schema, 4).workload))


def test_shared_counting_counts_nothing_twice() -> None:
    real, other = table(columns_of(SIZES, 700, 1)), table(columns_of(SIZES, 450, 2))
    compare_sets(real, other, [table_set(real.schema, alpha) for alpha in (1, 2, 3)])
    assert real._engine.tables_counted <= math.comb(5, 3)
    before = real._engine.tables_counted
    compare_sets(real, other, [table_set(real.schema, alpha) for alpha in (1, 2, 3)])
    assert real._engine.tables_counted == before


# -- which tables ------------------------------------------------------------------------------------------------


def test_all_tables_or_a_stated_sample() -> None:
    schema = schema_of({f"x{i}": 2 for i in range(20)}, 10)
    every = table_set(schema, 3)
    assert (len(every.workload), every.of, every.seed) == (1140, 1140, None)
    some = table_set(schema, 4, most=100, seed=7)
    assert (len(some.workload), some.of, some.seed) == (100, 4845, 7)
    assert len(set(some.workload)) == 100 and all(len(set(axes)) == 4 for axes in some.workload)
    assert some == table_set(schema, 4, most=100, seed=7) != table_set(schema, 4, most=100, seed=8)


@pytest.mark.parametrize("alpha", [0, 6, -1])
def test_alpha_must_be_possible(alpha: int) -> None:
    with pytest.raises(UsageError, match="from 1 to 5"):
        table_set(schema_of(SIZES, 10), alpha)


def test_every_figure_is_the_custodians() -> None:
    real, other = table(columns_of(SIZES, 70, 1)), table(columns_of(SIZES, 45, 2))
    found = compare_sets(real, other, [table_set(real.schema, 2)])[2]
    assert isinstance(found, TableErrors) and isinstance(found, CustodianFigures)
    figures: list[Any] = [found.mean, found.max, found.l2, found.k_marginal, found.each[0].tvd, found.each[0].l2]
    assert all(isinstance(figure, Exact) for figure in figures)
