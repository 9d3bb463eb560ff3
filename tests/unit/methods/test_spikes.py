"""Values that many rows share though they are not round: what looking for them costs, and that they come back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from conftest import another_source, private_table
from understudy.engines.opening import PrivateData, open_engine
from understudy.errors import ReleaseError
from understudy.federation.local import local_federation
from understudy.methods import method_named
from understudy.methods.looks import look_price, looked_cost, spike_notes, unsure_units, with_looks
from understudy.models.noisy_tree import NoisyTree
from understudy.models.spikes import Look, cells_of, standing_out, units_of
from understudy.models.tree_counts import TreeCounts
from understudy.models.tree_parts import trees_from_parts, trees_parts
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.sensitivity import table_sensitivity
from understudy.publishing import plan, publish
from understudy.release import Release
from understudy.release.storage import Format
from understudy.schema import Axis, Schema
from understudy.schema.attribute import endings_name
from understudy.schema.endings import Endings
from understudy.schema.rounded_units import RoundedUnits, SpikedUnits
from understudy.schema.tree_grid import TreeGrid
from understudy.testing import publish_seeded

ROWS = 12_000
TEXT = """
[table]
name = "pupils"
{table}
[attributes.schooling]
kind = "number"
range = [0, 20]
missing = [""]
[attributes.pay]
kind = "integer"
range = [0, 200_000]
[attributes.written]
kind = "category"
values = ["yes", "no"]
"""


def schema_of(neighbours: str = "add-remove") -> Schema:
    rows = f"rows = {ROWS}\n" if neighbours == "replace-one" else ""
    return Schema.from_toml(TEXT.format(table=f'{rows}neighbours = "{neighbours}"'))


def table(spikes: bool = True) -> pd.DataFrame:
    """A quarter of the rows have a mean where years were not known; a tenth have exactly what the law allows."""
    draw = np.random.default_rng(5)
    years, pay = draw.normal(10, 3.5, ROWS).clip(0, 20), np.floor(draw.lognormal(9.8, 0.8, ROWS)).clip(0, 200_000)
    written, limit = (draw.random(ROWS) < share * spikes for share in (0.25, 0.1))
    years = np.where(written, 9.9372, np.round(years) if spikes else np.round(years, 3))
    texts = np.where(draw.random(ROWS) < 0.05, "", [f"{value:g}" for value in years])
    return pd.DataFrame({
        "schooling": texts, "pay": np.where(limit, 15_024, pay).astype(int).astype(str),
        "written": np.where(written, "yes", "no"),
    })  # fmt: skip


def seeded(folder: Path, frame: Any, schema: Schema, delta: str = "1e-6", **more: Any) -> Release:
    release = publish_seeded(frame, schema, seed=7, epsilon=1, delta=delta, ledger=folder / "l.db", **more).release
    assert isinstance(release, Release)
    return release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return seeded(tmp_path_factory.mktemp("spikes"), table(), schema_of())


def costs(folder: Path) -> list[Any]:
    with Ledger(folder / "l.db") as book:
        return [e.body["cost"] for e in book.entries() if e.kind == "charge" and e.body["purpose"] == "spikes"]


# -- what comes back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("neighbours", "delta"), [("add-remove", "1e-6"), ("replace-one", "0")])
def test_a_value_that_many_rows_share_comes_back_to_its_last_digit(neighbours: str, delta: str, tmp_path: Path) -> None:
    release = seeded(tmp_path, table(), schema_of(neighbours), delta)
    drawn, real = release.sample(20_000, seed=1), table()
    years = drawn["schooling"].astype(str)
    assert abs((years == "9.9372").mean() - (real["schooling"] == "9.9372").mean()) < 0.02
    if delta != "0":  # a tenth of the rows is too few for the other promise
        assert abs((drawn["pay"].astype(str) == "15024").mean() - (real["pay"] == "15024").mean()) < 0.02
    assert any("many rows share one value of schooling: 9.9372" in note for note in release.card.notes)
    both = (years == "9.9372") & (drawn["written"] == "yes")  # the model sees whose value was written in
    assert both.sum() > 0.95 * (years == "9.9372").sum()


def test_a_value_that_many_rows_share_takes_nothing_from_how_round_the_others_are(release: Release) -> None:
    """Four decimals are those of the spike: no other number has them."""
    drawn = release.sample(20_000, seed=1)["schooling"].dropna()
    assert (drawn[drawn != 9.9372] % 1 == 0).mean() > 0.97


def test_saved_and_opened(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.zip")
    again = Release.open(tmp_path / "r.zip")
    assert again.hash == release.hash
    assert again.sample(200, seed=3).equals(release.sample(200, seed=3))
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == Format.SPIKES


@pytest.mark.parametrize(
    "damage",
    [
        {"leaves": []}, {"leaves": [3, 3]}, {"leaves": [10**6]}, {"leaves": ["a"]}, {"scale": 0.0}, {"noise": "none"},
        {"endings": {}}, {"endings": {"units": [0], "noise": "gaussian", "scale": 3.0}},
    ],
    ids=str,
)  # fmt: skip
def test_damaged_looks_are_refused(damage: dict[str, Any], release: Release) -> None:
    listed, arrays = trees_parts(release.trees)
    assert trees_from_parts(listed, arrays, release.schema)[0].look is not None
    wrong = [{**listed[0], "look": listed[0]["look"] | damage}, *listed[1:]]
    with pytest.raises(ReleaseError, match="damaged"):
        trees_from_parts(wrong, arrays, release.schema)


def test_a_look_at_endings_that_tell_nothing_apart_is_refused() -> None:
    """Some units of this range have more values than there are endings."""
    schema = Schema.from_toml(
        '[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.x]\nkind = "number"\nrange = [0.1234567, 9.87654321]\n'
    )
    seen, grid = schema["x"].endings_seen, schema["x"].grid
    assert grid is not None and seen is not None and isinstance(seen.domain, Endings)
    starts, leaves, own = grid.first_units(4), np.asarray([3]), Axis("x")
    level = Measurement((Axis("x", grid.level_of(4)),), np.full(len(starts), 50), Gaussian(10.0))
    inside = np.full(len(cells_of(grid, units_of(grid, 4, leaves))), 5)
    for unit, fits in ((len(grid.prior) - 1, True), (len(grid.prior) - 2, False)):
        units = np.asarray([unit])
        endings = np.full((len(cells_of(grid, units)), seen.size), 1)
        told = Measurement((own, Axis(seen.name)), endings, Gaussian(10.0))
        look = Look(leaves, Measurement((own,), inside, Gaussian(10.0)), units, told)
        tree = NoisyTree(schema["x"], (level,), starts, 200.0, look=look)
        listed, arrays = trees_parts([tree])
        if fits:
            assert trees_from_parts(listed, arrays, schema.binned({"x": starts}))[0].spikes == ()
            continue
        with pytest.raises(ReleaseError, match="damaged"):
            trees_from_parts(listed, arrays, schema.binned({"x": starts}))


def test_error_bars_hold_at_the_value(release: Release) -> None:
    answer = release.query("count where schooling > 9.9 and schooling < 9.95").figures[0]
    real = (pd.to_numeric(table()["schooling"]).between(9.9, 9.95)).sum()
    assert answer.stderr is not None and abs(answer.value - real) < 5 * answer.stderr + 100


# -- what it costs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("neighbours", "delta"), [("add-remove", "1e-6"), ("replace-one", "0"), ("replace-one", "1e-9")]
)
def test_the_plan_says_what_looks_cost_at_most(neighbours: str, delta: str, tmp_path: Path) -> None:
    schema = schema_of(neighbours)
    release = seeded(tmp_path, table(), schema, delta)
    phase = next(p for p in plan(schema, epsilon=1, delta=delta, rows=ROWS).phases if p.name == "spikes")
    charges = release.card.as_json()["charges"]
    spent = sum(float(charge["cost"]) for charge in charges if charge["purpose"] == "spikes")
    assert 0 < spent <= float(phase.cost) * (1 + 1e-9)
    assert spent == pytest.approx(
        float(phase.cost) / 4 * sum(1 + (t.look.endings is not None) for t in release.trees if t.look)
    )


def test_where_nothing_stands_out_nothing_is_bought_and_the_rest_has_the_money(tmp_path: Path) -> None:
    release = seeded(tmp_path, table(spikes=False), schema_of())
    assert all(tree.look is None for tree in release.trees) and not costs(tmp_path)
    budget = sum(float(phase.cost) for phase in plan(schema_of(), epsilon=1, delta="1e-6", rows=ROWS).phases)
    spent = sum(float(charge["cost"]) for charge in release.card.as_json()["charges"])
    assert spent == pytest.approx(budget, rel=1e-6)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_one_row_is_in_one_cell_of_a_look(neighbours: str) -> None:
    """Brute force over values and pairs of values; a twin that counts a unit with its leaf, too, is caught."""
    schema = schema_of(neighbours)
    attribute, seen = schema["schooling"], schema[endings_name("schooling")]
    grid = attribute.grid
    assert grid is not None
    leaves = np.asarray([3, 700])
    units = units_of(grid, 1024, leaves)
    texts = ["", "0", "9.9372", "9.9371", "20", "17", "1e-9", *[repr(float(v)) for v in grid.unit_starts[units[::7]]]]
    home = attribute.homes(cells_of(grid, units))
    codes = home[attribute.encode(texts)]
    inside = np.eye(home.max() + 1, dtype=int)[codes]
    by_endings = home[attribute.encode(texts)] * seen.size + seen.encode(texts)
    endings = (by_endings[:, None] == np.unique(by_endings)).astype(int)
    for rows, fair in (
        (inside, True),
        (endings, True),
        (np.hstack([inside, inside.max(axis=1, keepdims=True)]), False),
    ):
        moves = list(rows) if neighbours == "add-remove" else [a - b for a, b in product(rows, rows)]
        claimed = table_sensitivity(schema)
        attained = max(int(np.abs(move).sum()) for move in moves), max(int((move**2).sum()) for move in moves)
        twin = neighbours == "replace-one" and not fair  # one more cell that has every row does not move there
        assert (attained == tuple(claimed)) == (fair or twin)


def test_the_noise_of_a_look_follows_its_price(ledger_path: Path) -> None:
    """Of two columns each look has its own price; a twin in which both have the price of both is caught."""
    schema = Schema.from_toml(
        '[table]\nname = "t"\nneighbours = "add-remove"\n'
        '[attributes.a]\nkind = "integer"\nrange = [0, 9_999]\n[attributes.b]\nkind = "integer"\nrange = [0, 9_999]\n'
    )
    columns = {name: np.full(9_000, 1_237, dtype=np.uint16) for name in schema.counted.names}
    columns |= {f"{name} (rounding)": np.zeros(9_000, dtype=np.uint16) for name in "ab"}
    private = private_table(schema, columns, Budget(1, 1e-6), ledger_path)
    price = private.total_cost / 50
    trees = {}
    for name in "ab":
        grid = schema[name].grid
        assert grid is not None
        starts = grid.first_units(256)
        values = np.where(np.searchsorted(starts, 1_237, side="right") - 1 == np.arange(len(starts)), 9_000, 0)
        level = Measurement((Axis(name, grid.level_of(256)),), values, Gaussian(5.0))
        trees[name] = NoisyTree(schema[name], (level,), np.zeros(1, dtype=np.int64), 9_000.0)
    found = with_looks(private, trees, price)
    assert looked_cost(found.values(), price) == 2 * price
    away = []
    for name in "ab":
        look = found[name].look
        assert look is not None and found[name].spikes[0].value == 1_237
        assert look.inside.variance == pytest.approx(float(1 / price), rel=1e-3)
        away += [v for v in look.inside.values.tolist() if v < 4_500]
    seen, expected = float(np.mean(np.square(away))), float(1 / price)
    assert len(away) > 20
    assert abs(seen / expected - 1) < 6 * np.sqrt(2 / len(away)) or seen < expected
    assert sum(1 for _ in away) and seen > expected / 4  # the twin would have half the variance of what was paid


def test_prices_add_up_to_their_share() -> None:
    schema = schema_of()
    price = look_price(schema.unbinned, Budget(1).epsilon)
    assert 4 * price <= Budget(1).epsilon / 20 and price <= Budget(1).epsilon / 100


# -- what stands out -------------------------------------------------------------------------------------------


def counts_of(grid: TreeGrid, rows: Any, deviation: float = 10.0) -> TreeCounts:
    starts = grid.first_units(64)
    noisy = np.add.reduceat(np.asarray(rows, dtype=np.float64), starts)
    return TreeCounts(grid, (64,), (noisy,), (deviation**2,))


GRID = TreeGrid("integer", 0, 1_999)


def smooth(scale: float = 400.0) -> Any:
    return 20_000 * np.exp(-np.arange(2_000) / scale) / scale


def test_leaves_with_a_spike_stand_out_and_smooth_ones_do_not() -> None:
    starts = GRID.first_units(64)
    assert not len(standing_out(counts_of(GRID, smooth()), 20_000, 20.0))
    for values in ([1_237], [1_237, 1_262], [433, 1_237]):  # 1,237 and 1,262 lie in leaves side by side
        rows = smooth()
        rows[values] += 1_500
        found = standing_out(counts_of(GRID, rows), float(rows.sum()), 20.0)
        assert set(np.searchsorted(starts, values, side="right") - 1) == set(found)
    rows = smooth()
    rows[1_237] += 50  # less than would be seen
    assert not len(standing_out(counts_of(GRID, rows), float(rows.sum()), 20.0))


def looked(rows: Any, leaf_of: int, noise: Any) -> tuple[NoisyTree, int]:
    schema = Schema.from_toml(
        '[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.x]\nkind = "integer"\nrange = [0, 1999]\n'
    )
    starts = GRID.first_units(64)
    leaf = int(np.searchsorted(starts, leaf_of, side="right") - 1)
    cells = cells_of(GRID, units_of(GRID, 64, np.asarray([leaf])))
    inside = Measurement((Axis("x"),), np.rint(np.add.reduceat(rows, cells)).astype(np.int64), noise)
    level = Measurement(
        (Axis("x", GRID.level_of(64)),), np.rint(np.add.reduceat(rows, starts)).astype(np.int64), Gaussian(10.0)
    )
    tree = NoisyTree(schema["x"], (level,), np.zeros(1, dtype=np.int64), float(rows.sum()))
    return replace(tree, look=Look(np.asarray([leaf]), inside)), leaf


@pytest.mark.parametrize("noise", [Gaussian(10.0), Laplace(7.0)])
def test_a_leaf_keeps_its_rows_and_its_spike_has_its_own(noise: Any) -> None:
    rows = smooth()
    rows[1_237] += 1_500
    tree, leaf = looked(rows, 1_237, noise)
    assert np.flatnonzero(tree.spiked).tolist() == [1_237]
    before = replace(tree, look=None)
    home = GRID.homes(GRID.first_units(64))
    assert np.allclose(np.bincount(home, tree.masses), np.bincount(home, before.masses))
    assert abs(tree.masses[1_237] - rows[1_237]) < 2 and before.masses[1_237] < 300
    others = (home == leaf) & (np.arange(len(rows)) != 1_237)
    assert abs(tree.masses[others].sum() - rows[others].sum()) < 150


def test_the_end_of_a_range_has_no_last_digits_to_look_at() -> None:
    """It is one value: nothing is paid for endings, and none beyond the range is written."""
    schema = schema_of()
    attribute, grid = schema["schooling"], schema["schooling"].grid
    assert grid is not None
    rows, starts = np.full(len(grid.prior), 1.0), grid.first_units(4)
    rows[-1] = 50_000
    leaves = np.asarray([len(starts) - 1])
    cells = cells_of(grid, units_of(grid, 4, leaves))
    inside, level = (np.append(np.add.reduceat(rows, at), 0).astype(np.int64) for at in (cells, starts))
    own = Axis("schooling", grid.level_of(4))
    tree = NoisyTree(attribute, (Measurement((own,), level, Gaussian(10.0)),), starts, float(rows.sum()))
    tree = replace(tree, look=Look(leaves, Measurement((Axis("schooling"),), inside, Gaussian(10.0))))
    assert [spike.value for spike in tree.spikes] == [20.0] and not len(unsure_units(tree, schema))


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ('kind = "date"\nrange = ["2000-01-01", "2030-01-01"]', 15_873.0, "2013-06-17"),
        ('kind = "date"\nrange = ["01.01.2000", "01.01.2030"]\nformat = "%d.%m.%Y"', 15_873.0, "17.06.2013"),
        ('kind = "time"\nrange = ["00:00", "23:59"]\nformat = "%H:%M"', 60.0 * 521, "08:41"),
        (
            'kind = "datetime"\nrange = ["2024-01-01 00:00", "2024-01-10 00:00"]\nformat = "%Y-%m-%d %H:%M"',
            1_704_067_200 + 60.0 * 521, "2024-01-01 08:41",
        ),
        ('kind = "number"\nrange = [0, 100]\ndecimals = 2', 12.37, "12.37"),
        ('kind = "integer"\nrange = [0, 9999]', 1_237.0, "1237"),
    ],
)  # fmt: skip
def test_cards_write_values_as_the_file_does(column: str, value: float, shown: str) -> None:
    """Dates as dates and times as times, not as days or seconds since 1970."""
    schema = Schema.from_toml(f'[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.x]\n{column}\n')
    grid = schema["x"].grid
    assert grid is not None
    rows, starts = np.ones(len(grid.prior)), grid.first_units(16)
    rows[int(np.flatnonzero(grid.unit_starts == value)[0])] = 9_000
    leaves = np.flatnonzero(np.add.reduceat(rows, starts) > 8_000)
    inside, level = (
        np.add.reduceat(rows, at).astype(np.int64) for at in (cells_of(grid, units_of(grid, 16, leaves)), starts)
    )
    levels = (Measurement((Axis("x", grid.level_of(16)),), level, Gaussian(10.0)),)
    look = Look(leaves, Measurement((Axis("x"),), inside, Gaussian(10.0)))
    tree = NoisyTree(schema["x"], levels, starts, float(rows.sum()), look=look)
    assert spike_notes([tree]) == (f"many rows share one value of x: {shown}",)


def test_a_narrow_column_is_no_spike() -> None:
    rows = 9_000 * np.exp(-(((np.arange(2_000) - 1_240) / 6) ** 2))
    tree, _ = looked(rows, 1_240, Gaussian(10.0))
    assert not tree.spiked.any() and (tree.masses == replace(tree, look=None).masses).all()


def test_units_give_their_spikes_by_their_shares() -> None:
    grid = TreeGrid("number", 0, 5_000, decimals=2)
    unit = int(np.searchsorted(grid.unit_starts, 123.45, side="right") - 1)
    plain = RoundedUnits.of(grid.domain, RoundedUnits(grid.kind, (0.0, 1.0)).rounding, np.ones((len(grid.prior), 1)))
    spiked = SpikedUnits.with_spikes(plain, ((unit, 123.45, 0.7), (unit, 123.46, 0.2)))
    drawn = spiked.decode(np.full(10_000, unit, dtype=np.int32), np.random.default_rng(1))
    assert abs((drawn == 123.45).mean() - 0.7) < 0.05 and abs((drawn == 123.46).mean() - 0.2) < 0.05
    assert (spiked.encode_numbers(drawn) == unit).all()
    codes = np.arange(len(grid.prior), dtype=np.int32)
    assert (spiked.encode_numbers(spiked.decode(codes, np.random.default_rng(2))) == codes).all()


# -- everywhere ------------------------------------------------------------------------------------------------


@pytest.mark.costly
@pytest.mark.parametrize("engine", ["mapped", "duckdb"])
def test_every_engine_finds_the_same(engine: str, tmp_path: Path) -> None:
    frame = table()
    years = pa.array([float(text) if text else None for text in frame["schooling"]], pa.float64())
    columns = {"schooling": years, "pay": pa.array(frame["pay"].astype(int)), "written": pa.array(frame["written"])}
    parquet.write_table(pa.table(columns), tmp_path / "data.parquet")
    found = []
    for name, more in (("memory", {}), (engine, {"engine": engine})):
        (tmp_path / name).mkdir()
        found.append(seeded(tmp_path / name, tmp_path / "data.parquet", schema_of(), **more))
    assert found[0].trees[0].look is not None and found[0].members == found[1].members


@contextmanager
def owners(folder: Path, frame: pd.DataFrame) -> Iterator[Any]:
    schema = schema_of()
    engines = {
        name: open_engine(PrivateData(pa.Table.from_pandas(frame[i::3]), types="declared"), schema).engine
        for i, name in enumerate(("ada", "bea", "cy"))
    }
    with local_federation(engines, schema, Budget(4, "1e-6"), folder, source=another_source()) as made:
        yield made


@pytest.mark.costly
@pytest.mark.parametrize(
    ("spiked", "found"),
    [(["schooling", "pay"], [9.9372, 15_024.0]), (["schooling"], [9.9372]), (["pay"], [15_024.0]), ([], [])],
)
def test_owners_find_the_values_together(spiked: list[str], found: list[float], tmp_path: Path) -> None:
    """In both columns or in one of them: owners are told the units of those columns alone that are looked into."""
    frame = table(spikes=False)
    frame[spiked] = table()[spiked]
    with owners(tmp_path, frame) as made:
        fit = method_named("independent", {}, made.table.schema, owners=3).fit(made.table)
        assert not made.owners.refusals and all(paid <= made.table.total_cost for paid in made.table.paid.values())
    assert [spike.value for tree in fit.trees for spike in tree.spikes] == found


KILLED = """
import os, signal, sys
from understudy.privacy.reservation import Charge
from understudy.publishing import publish
done, count = Charge.journal, 0
def journal(self, outcome):
    global count
    done(self, outcome)
    count += 1
    if count == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
Charge.journal = journal
publish(sys.argv[2], sys.argv[3], epsilon=1, delta="1e-6", ledger=sys.argv[4], cap="none")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")
@pytest.mark.parametrize("after", [2, 3, 4])
def test_a_run_that_is_killed_between_its_looks_goes_on(after: int, tmp_path: Path) -> None:
    """The row count and the trees, how round values are, units, last digits: killed after each of them."""
    table().to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "s.toml").write_text(TEXT.format(table='neighbours = "add-remove"'), encoding="utf-8")
    places = [str(tmp_path / name) for name in ("data.csv", "s.toml", "l.db")]
    done = subprocess.run([sys.executable, "-c", KILLED, str(after), *places], timeout=300)
    assert done.returncode == -signal.SIGKILL
    with Ledger(tmp_path / "l.db") as book:
        before = [e.body for e in book.entries() if e.kind == "charge"]
    release = publish(places[0], places[1], epsilon=1, delta="1e-6", ledger=places[2])
    with Ledger(tmp_path / "l.db") as book:
        charges = [e.body for e in book.entries() if e.kind == "charge"]
        assert len([e for e in book.entries() if e.kind == "reserve"]) == 1
    assert charges[: len(before)] == before and len(costs(tmp_path)) == 2
    assert [spike.value for tree in release.trees for spike in tree.spikes] == [9.9372, 15_024.0]
