"""Tables measured together: each asked table is inside one cluster, the noise falls, and no row has a say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.methods.privabn import PrivABN
from understudy.methods.toolkit.merging import WIDEST, measured_together
from understudy.privacy.accounting import PURE
from understudy.privacy.budget import Budget
from understudy.schema import Attribute, Axes, Axis, Categories, Schema
from understudy.schema.taxonomy import Taxonomy
from understudy.testing import SeededSource

HALF = Fraction(1, 2)


def tree(attributes: int, seed: int = 0) -> list[Axes]:
    generator = np.random.default_rng(seed)
    return [(Axis(f"a{int(generator.integers(0, i)):04}"), Axis(f"a{i:04}")) for i in range(1, attributes)]


def variance(tables: list[Axes], workload: list[Axes], schema: Any) -> float:
    """Of all cells of the asked tables in pure epsilon, up to a constant; each from the smallest table it is in."""
    cells = [min(schema.cells(t) for t in tables if set(ask) <= set(t)) for ask in workload]
    return float(len(tables) ** 2 * sum(cells))


@pytest.mark.costly
@pytest.mark.parametrize("attributes", [4, 12, 30, 61, pytest.param(320, marks=pytest.mark.slow)])
def test_every_table_is_inside_one_that_is_measured_and_the_noise_falls(attributes: int) -> None:
    schema = schema_of({f"a{i:04}": 2 for i in range(attributes)}, 100_000)
    for workload in (tree(attributes), [(Axis(a.name),) for a in schema.modelled]):
        together = measured_together(workload, schema, PURE, HALF, 150_000)
        assert all(any(set(ask) <= set(table) for table in together) for ask in workload)
        assert variance(together, workload, schema) < 0.8 * variance(workload, workload, schema)


def test_beyond_a_thousand_tables_nothing_is_merged() -> None:
    schema = schema_of({f"a{i:04}": 2 for i in range(WIDEST + 2)}, 100_000)
    workload = tree(WIDEST + 2)
    assert measured_together(workload, schema, PURE, HALF, 150_000) == workload


def test_clusters_stay_under_the_limit() -> None:
    schema = schema_of({f"a{i:04}": 4 for i in range(10)}, 100_000)
    for table in measured_together(tree(10), schema, PURE, HALF, 64):
        assert schema.cells(table) <= 64


def test_of_two_levels_the_finer_is_measured() -> None:
    values = Categories(("0", "1", "2"))
    grouped = Attribute("a", values, taxonomy=Taxonomy.of_groups({"low": ["0", "1"]}, values))
    schema = Schema("people", (grouped, Attribute("b", Categories(("0", "1")))), rows=1000)
    workload = [(Axis("a"),), (Axis("a", 1), Axis("b"))]
    assert measured_together(workload, schema, PURE, HALF, 10**6) == [(Axis("a"), Axis("b"))]


@pytest.mark.parametrize("search", ["full", "growth"])
def test_privabn_merges_in_pure_epsilon_and_spends_all(search: str, ledger_path: Path) -> None:
    sizes = dict.fromkeys((f"a{i:04}" for i in range(14)), 2)
    schema, columns = schema_of(sizes, 20_000), columns_of(sizes, 20_000)
    counts = []
    for delta in (0, 1e-9):
        table = private_table(schema, columns, Budget(4, delta), ledger_path.parent / str(delta))
        fit = PrivABN(search=search, degree=1).fit(table)
        assert table.reservation.left == 0  # type: ignore[attr-defined]
        measured = [set(m.axes) for m in fit.measurements]
        for line in fit.facts["network"]:
            assert any({Axis(line["attribute"]), *map(Axis, line["parents"])} <= axes for axes in measured)
        counts.append(sum(len(axes) > 1 for axes in measured))
    assert counts[0] < 10 and counts[1] == 13


def test_the_same_network_is_measured_alike_whatever_the_rows_are(
    ledger_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network is a private output; given it, the clusters follow from sizes and the budget."""
    sizes = dict.fromkeys((f"a{i:04}" for i in range(14)), 2)
    schema, asked = schema_of(sizes, 2000), []
    from understudy.methods.privabn import method
    from understudy.methods.privabn.search import Network
    from understudy.privacy.scores import Pair

    fixed = Network((Pair(Axis("a0000")), *(Pair(child, (parent,)) for parent, child in tree(14))))
    monkeypatch.setattr(method, "grow", lambda *_: fixed)
    for seed in (0, 1):
        columns = columns_of(sizes, 2000, seed)
        table = private_table(schema, columns, Budget(1), ledger_path.parent / str(seed), SeededSource(seed))
        fit = PrivABN(search="growth", degree=1).fit(table)
        asked.append([m.axes for m in fit.measurements])
    assert asked[0] == asked[1]
