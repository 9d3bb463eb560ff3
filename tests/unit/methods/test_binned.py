"""Ranges without bins: the tree's price and sensitivity, what follows from it, on every embedded engine and in SQL."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from conftest import private_table, same_noise
from understudy.errors import ReleaseError, UsageError
from understudy.evaluate.raw import wasserstein
from understudy.methods import METHODS, best_for, method_named
from understudy.methods.binned import LINEAR_TREES_SHARE, MAX_TREES_SHARE, TREES_SHARE, Binned, Trees
from understudy.models.tree_parts import trees_from_parts, trees_parts
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.sensitivity import table_sensitivity
from understudy.publishing import plan, publish
from understudy.release import Release
from understudy.release.storage import Format
from understudy.schema import Axis, Schema
from understudy.testing import publish_seeded

ROWS = 4_000
TEXT = """
[table]
name = "people"
{table}

[attributes.income]
kind = "integer"
range = [0, 1_000_000]
missing = ["?"]

[attributes.rate]
kind = "number"
range = [0, 100]
decimals = 2

[attributes.sex]
kind = "category"
values = ["f", "m"]
"""


def schema_of(neighbours: str = "add-remove") -> Schema:
    rows = f"rows = {ROWS}\n" if neighbours == "replace-one" else ""
    return Schema.from_toml(TEXT.format(table=f'{rows}neighbours = "{neighbours}"'))


def table(rows: int = ROWS, seed: int = 0) -> pa.Table:
    generator = np.random.default_rng(seed)
    income = np.floor(generator.lognormal(10, 1, rows)) * (generator.random(rows) > 0.3)
    texts = [None if absent else int(min(v, 1e6)) for v, absent in zip(income, generator.random(rows) < 0.1)]
    sex = np.where(generator.random(rows) < 0.5, "f", "m")
    rate = np.round(generator.gamma(2, 3, rows) + (sex == "f"), 2)
    return pa.table({"income": pa.array(texts, pa.int64()), "rate": rate, "sex": sex})


def with_missing(neighbours: str = "add-remove") -> Schema:
    return Schema.from_toml(schema_of(neighbours).to_toml().replace('missing = ["?"]', 'missing = [""]'))


# -- price and sensitivity -----------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_one_person_moves_every_level_by_what_is_paid_for(neighbours: str) -> None:
    """Brute force over all values (pairs of values) of a small range: no level moves further than one table does."""
    text = f'[table]\nname = "t"\nneighbours = "{neighbours}"\n'
    text += "rows = 10\n" if neighbours == "replace-one" else ""
    schema = Schema.from_toml(text + '[attributes.a]\nkind = "integer"\nrange = [0, 99]\nmissing = ["?"]\n')
    attribute = schema["a"]
    assert attribute.grid is not None
    views = [attribute.view_map(Axis("a", attribute.grid.level_of(size))) for size in attribute.grid.sizes]
    rows = [np.stack([np.eye(v.max() + 1, dtype=int)[v[code]] for code in range(attribute.size)]) for v in views]
    l1 = l2 = 0
    for level in rows:
        moves = level if neighbours == "add-remove" else (level[:, None] - level[None, :]).reshape(-1, level.shape[1])
        l1, l2 = max(l1, int(np.abs(moves).sum(axis=1).max())), max(l2, int((moves**2).sum(axis=1).max()))
    assert (l1, l2) == tuple(table_sensitivity(schema))
    apart = [np.concatenate([level[a] - level[b] for level in rows]) for a, b in product(range(0, 101, 7), repeat=2)]
    together = max(int(np.abs(move).sum()) for move in apart)
    assert together == 2 * len(rows)  # a change of a row attains twice the number of levels


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_levels_together_cost_what_was_paid(delta: float) -> None:
    schema, budget = schema_of("replace-one"), Budget(1, delta)
    trees = Trees(schema, accounting_of(budget), total_cost(budget), schema.unbinned, 1e6)
    assert sum(trees.shares) == 1 and len(trees.shares) == len(trees.workload)
    share = TREES_SHARE if delta else LINEAR_TREES_SHARE
    assert trees.cost == total_cost(budget) * share * 2 / 3
    assert min(trees.shares) > 0


@pytest.mark.parametrize(("delta", "some"), [(0, 4_000), (1e-6, 15_000)])
def test_trees_cost_more_where_rows_are_few(delta: float, some: int) -> None:
    """From the least share to the largest, never less for fewer rows, and the row count before them costs the same."""
    schema, budget = schema_of("replace-one"), Budget(1, delta)
    whole, least = total_cost(budget), TREES_SHARE if delta else LINEAR_TREES_SHARE
    bought = [Trees(schema, accounting_of(budget), whole, schema.unbinned, float(n)) for n in (10**7, some, 300, 1, 0)]
    shares = [trees.each * 3 / whole for trees in bought]
    assert shares[0] == least and shares[-2:] == [MAX_TREES_SHARE] * 2
    assert shares == sorted(shares) and least < shares[1] < MAX_TREES_SHARE
    assert {trees.least for trees in bought} == {whole * least / 3}


def test_auto_counts_the_bins_of_a_range_and_not_its_units() -> None:
    text = "".join(f'[attributes.a{i}]\nkind = "integer"\nrange = [0, 9999]\n' for i in range(70))
    schema = Schema.from_toml('[table]\nname = "t"\nrows = 500\n' + text)
    assert sum(a.size for a in schema.modelled) > 500_000
    assert best_for(schema, {}) == "swift"


def test_the_noise_of_a_level_follows_its_share(ledger_path: Path) -> None:
    """The law of what is drawn, level by level; a twin that gives every level the whole price is caught."""
    schema = Schema.from_toml(
        '[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.a]\nkind = "integer"\nrange = [0, 999]\n'
    )
    budget = Budget(1, 1e-6)
    columns = {"a": np.zeros(500, dtype=np.uint16)}
    trees = Trees(schema, accounting_of(budget), total_cost(budget), schema.unbinned, 50_000.0)
    private = private_table(schema, columns, budget, ledger_path)
    for ask, share, m in zip(
        trees.workload, trees.shares, private.measure(trees.workload, trees.cost, "bins", trees.shares)
    ):
        away = m.values[1:].astype(float)  # all rows are in the first node
        expected = float(1 / (trees.cost * share))
        assert m.variance == pytest.approx(expected, rel=1e-3)
        if len(away) > 200:
            seen = float((away**2).mean())
            assert abs(seen / expected - 1) < 6 * np.sqrt(2 / len(away))
            assert abs(seen * float(share) / expected - 1) > 6 * np.sqrt(2 / len(away))  # the twin
        assert schema.size(ask[0]) == len(m.values)


@pytest.mark.costly
@pytest.mark.parametrize(("neighbours", "delta"), [("add-remove", 1e-6), ("replace-one", 0), ("replace-one", 1e-9)])
def test_one_budget_pays_for_everything(neighbours: str, delta: float, tmp_path: Path) -> None:
    schema = with_missing(neighbours)
    with Ledger(tmp_path / "l.db") as ledger:
        release = publish(table(), schema, epsilon=2, delta=delta, ledger=ledger)
    spent = sum(float(charge["cost"]) for charge in release.card.as_json()["charges"])
    planned = plan(schema, epsilon=2, delta=delta, rows=ROWS)
    assert sum(phase.cost for phase in planned.phases) <= total_cost(Budget(2, delta))
    assert planned.phases[0].name == "bins" and "noisy trees" in planned.phases[0].detail
    assert 0.9 * float(total_cost(Budget(2, delta))) < spent <= float(total_cost(Budget(2, delta))) * (1 + 1e-12)


def test_too_few_rows_buy_no_tree(tmp_path: Path) -> None:
    schema, rows = with_missing("add-remove"), table(60)
    with same_noise():  # the count that decides it is noisy, too
        release = publish(rows, schema, epsilon="0.1", ledger=tmp_path / "l.db")
    assert not any(tree.levels for tree in release.trees)
    assert any("equal prior mass" in note for note in release.card.notes)
    assert 12 <= release.schema["income"].size <= 40


def test_public_bins_have_a_curve_inside(tmp_path: Path) -> None:
    with same_noise():
        release = publish(table(400), with_missing(), epsilon="0.15", ledger=tmp_path / "l.db")
    assert [tree.levels for tree in release.trees] == [(), ()]
    release.save(tmp_path / "r.zip")
    again = Release.open(tmp_path / "r.zip")
    for name in ("income", "rate"):
        shape = release.shapes[name]
        assert again.shapes[name].shares == pytest.approx(shape.shares)
        whole = np.bincount(shape.home, shape.shares)
        assert whole == pytest.approx(np.ones(len(whole)))
    counts = release.model.project(["rate"]).table
    first = int(np.argmax(counts))
    inside = release.shapes["rate"].shares[release.shapes["rate"].home == first]
    assert inside.max() > 1.02 * inside.min()  # not flat
    assert 0 < release.query("mean(rate)", confidence=0.9).figures[0].value < 100
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == Format.CURVES


def test_a_release_says_whose_columns_are_drawn_towards_smooth_shapes(tmp_path: Path) -> None:
    """A refit of it does the same, and one of an earlier version's release, whose trees say nothing, does not."""
    with same_noise():
        release = publish(table(60), with_missing(), epsilon="0.1", ledger=tmp_path / "l.db")
    assert release.design is not None and any(a.found for a in release.design.schema.modelled)
    listed, arrays = trees_parts(release.trees)
    for part in listed:
        del part["smooth"]
    earlier = replace(release, trees=trees_from_parts(listed, arrays, release.schema))
    assert earlier.design is not None and not any(a.found for a in earlier.design.schema.modelled)


def test_damaged_curves_are_refused(tmp_path: Path) -> None:
    with same_noise():
        release = publish(table(60), with_missing(), epsilon="0.1", ledger=tmp_path / "l.db")
    listed, arrays = trees_parts(release.trees)
    assert len(trees_from_parts(listed, arrays, release.schema)) == 2
    for damage in ({"curve": False}, {"curve": 1}, {"heaps": {"noise": "gaussian", "scale": 1.0}}):
        with pytest.raises(ReleaseError, match="damaged"):
            trees_from_parts([listed[0] | damage], arrays, release.schema)


# -- what comes out ------------------------------------------------------------------------------------------


@pytest.mark.costly
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"dp-ccbn", "priview"}))
def test_every_method_publishes_ranges_without_bins(method: str, tmp_path: Path) -> None:
    options = {"attributes": "income"} if method == "privelet" else {}
    with same_noise():
        release = publish(
            table(), with_missing(), epsilon=8, delta=1e-6, method=method, ledger=tmp_path / "l.db", **options
        )
    drawn = [v for v in release.sample(2_000, seed=1)["income"].to_pylist() if v is not None]
    real = [v for v in table()["income"].to_pylist() if v is not None]
    assert wasserstein(np.asarray(real, float), np.asarray(drawn, float)) < 0.25 * np.std(real)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    with same_noise():
        folder = tmp_path_factory.mktemp("trees")
        return publish(table(), with_missing(), epsilon=4, delta=1e-6, ledger=folder / "l.db")


def test_zeros_steps_and_missing_come_back(release: Release) -> None:
    drawn = release.sample(20_000, seed=2)
    incomes, real = drawn["income"].to_pylist(), table()["income"].to_pylist()
    for share in (lambda v: v == 0, lambda v: v is None, lambda v: v is not None and v > 200_000):
        assert abs(np.mean([share(v) for v in incomes]) - np.mean([share(v) for v in real])) < 0.03
    rates = drawn["rate"].to_numpy()
    assert (np.round(rates, 2) == rates).all() and rates.min() >= 0 and rates.max() <= 100
    assert wasserstein(table()["rate"].to_numpy(), rates) < 0.05 * np.std(rates)


def test_bins_are_at_round_numbers(release: Release) -> None:
    edges = release.schema["income"].domain.edges  # type: ignore[union-attr]
    assert sum(edge % 500 == 0 for edge in edges if edge > 10_000) >= len([e for e in edges if e > 10_000]) - 1


def test_saved_and_opened(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.zip")
    again = Release.open(tmp_path / "r.zip")
    assert again.schema == release.schema and again.hash == release.hash
    for name in ("income", "rate"):
        assert again.shapes[name].shares == pytest.approx(release.shapes[name].shares)
    assert again.sample(50, seed=3)["rate"].tolist() == release.sample(50, seed=3)["rate"].to_pylist()
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == Format.ROUNDING


@pytest.mark.parametrize(
    "damage",
    [
        {"attribute": "sex"}, {"attribute": "incom"}, {"first": [0]}, {"first": [1, 2]}, {"first": [0, 5, 5]},
        {"first": [0, 10**9]}, {"first": [0.0, 1.5]}, {"total": -1}, {"total": float("nan")}, {"total": "x"},
        {"levels": []}, {"levels": [{"level": 99, "noise": "gaussian", "scale": 1.0}]},
        {"levels": [{"level": 1, "noise": "uniform", "scale": 1.0}]}, {"declared": {"kind": "id"}}, {"twice": True},
    ],
    ids=str,
)  # fmt: skip
def test_damaged_trees_are_refused(damage: dict[str, Any], release: Release) -> None:
    listed, arrays = trees_parts(release.trees)
    assert len(trees_from_parts(listed, arrays, release.schema)) == 2
    listed = [listed[0], listed[0]] if "twice" in damage else [listed[0] | damage]
    with pytest.raises(ReleaseError, match="damaged"):
        trees_from_parts(listed, arrays, release.schema)


def test_queries_cut_bins_by_the_shape(release: Release) -> None:
    real = table()["income"].to_pylist()
    for text, test in (
        ("count where income = 0", lambda v: v == 0),
        ("count where income >= 33333", lambda v: v is not None and v >= 33_333),
    ):
        answer = release.query(text)
        count, error = answer.value, answer.stderr
        assert count is not None and error is not None
        assert abs(count - sum(test(v) for v in real)) < 6 * error + 0.02 * ROWS and error > 0


# -- engines -------------------------------------------------------------------------------------------------


@pytest.mark.costly
@pytest.mark.parametrize("engine", ["mapped", "duckdb"])
def test_every_engine_counts_the_same(engine: str, tmp_path: Path) -> None:
    """The same seed gives the same release, so units, levels and regrouped bins are counted alike."""
    path = tmp_path / "people.parquet"
    parquet.write_table(table(), path, row_group_size=300)
    found = [
        publish_seeded(
            data,
            with_missing(),
            epsilon=2,
            delta=1e-6,
            seed=5,
            ledger=tmp_path / f"{name}.db",
            types="declared",
            **more,
        )
        for name, data, more in (("memory", path, {}), ("other", path, {"engine": engine}))
    ]
    assert found[0].release.trees and found[0].release.members == found[1].release.members


def test_privelet_alone_looks_for_no_bins() -> None:
    """It measures ranges value by value; rosters of earlier versions have public bins."""
    schema = schema_of()
    assert isinstance(method_named("aim", {}, schema), Binned)
    assert isinstance(method_named("dp-subn", {}, schema, owners=3), Binned)
    assert not isinstance(method_named("aim", {}, schema.for_owners()), Binned)
    assert not isinstance(method_named("privelet", {"attributes": "income"}, schema), Binned)


def test_a_regrouped_table_is_the_same_table(ledger_path: Path) -> None:
    """Sensitivities follow from the schema: one that says less of a person, or other codes, is refused."""
    schema = with_missing("add-remove")
    columns = {
        "income": np.zeros(9, dtype=np.uint16), "rate": np.zeros(9, dtype=np.uint16), "sex": np.zeros(9, dtype=np.uint8)
    }  # fmt: skip
    columns = dict.fromkeys(schema.counted.names, columns["income"]) | columns
    private = private_table(replace(schema, rows_per_person=3), columns, Budget(1), ledger_path)
    bins = {a.name: a.grid.public_bins(12) for a in schema.unbinned if a.grid is not None}
    homes = {name: schema[name].homes(first) for name, first in bins.items()}
    coarse = private.schema.binned(bins)
    assert private.regrouped(coarse, homes).schema is coarse
    wrong = [
        (replace(coarse, rows_per_person=1), homes), (replace(coarse, account="other"), homes),
        (replace(coarse, rows=5, neighbours="replace-one"), homes), (coarse, homes | {"rate": homes["rate"][:-1]}),
        (coarse, homes | {"rate": homes["rate"][::-1]}), (coarse, homes | {"rate": homes["rate"] * 2}),
        (coarse, {"rate": homes["rate"]}), (coarse.project(["rate", "income", "sex"]), homes),
    ]  # fmt: skip
    for schema_, homes_ in wrong:
        with pytest.raises(UsageError, match="regrouped"):
            private.regrouped(schema_, homes_)
