"""Merged groups: which values are put together, that every engine counts them alike, and that a release keeps them."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import private_table, same_noise, schema_of
from understudy import publish
from understudy.engines.memory import MemoryEngine
from understudy.engines.opening import PrivateData, open_engine
from understudy.errors import LedgerError, UsageError
from understudy.inference.trust import trust
from understudy.methods.aim import Aim
from understudy.methods.toolkit.candidate_pairs import CandidatePairs
from understudy.methods.toolkit.merged_groups import groups_of, merged_groups
from understudy.models.estimation import fitted
from understudy.models.nearest_counts import nearest_counts
from understudy.models.pair_marginals import pair_marginals
from understudy.models.refit import refit
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.release.release import Release
from understudy.release.storage import Format
from understudy.release.stored_parts import format_of
from understudy.schema import Attribute, Axis, Categories, Schema
from understudy.schema.axis import MERGED
from understudy.testing import SeededSource

SIZES = {"a": 60, "b": 40, "c": 3}
GROUPS = {"a": tuple(v % 5 for v in range(60)), "b": tuple(v // 10 for v in range(40))}
A, B = Axis("a", MERGED), Axis("b", MERGED)


def linked(rows: int, seed: int = 0) -> dict[str, Any]:
    """Columns a and b of many values that are linked through six groups, and c beside them."""
    draw = np.random.default_rng(seed)
    hidden = draw.integers(6, size=rows)
    a = np.where(draw.random(rows) < 0.9, hidden * 10 + draw.integers(10, size=rows), draw.integers(60, size=rows))
    b = np.where(draw.random(rows) < 0.9, hidden * 6 + draw.integers(6, size=rows), draw.integers(40, size=rows))
    return {"a": a.astype(np.uint8), "b": b.astype(np.uint8), "c": draw.integers(3, size=rows).astype(np.uint8)}


# -- which values ------------------------------------------------------------------------------------------------


def test_nearest_counts_are_the_nearest_that_add_up() -> None:
    found = nearest_counts(np.array([60, 50, 4, -4]), 100)
    assert found.tolist() == [55, 45, 0, 0]
    rng = np.random.default_rng(0)
    values = rng.integers(-50, 200, 30)
    found = nearest_counts(values, 1000)
    assert found.sum() == pytest.approx(1000) and (found >= 0).all()
    for _ in range(200):  # no other such counts are nearer
        other = rng.dirichlet(np.ones(30)) * 1000
        assert ((found - values) ** 2).sum() <= ((other - values) ** 2).sum()


def test_neighbours_of_an_ordered_attribute_and_equally_rare_values_of_another() -> None:
    text = '[table]\nname = "t"\nrows = 9\n[attributes.x]\nkind = "integer"\nrange = [0, 29]\nmissing = ["NA"]\n'
    ordered = Schema.from_toml(text + 'bins = "each"\n')["x"]
    counts = np.r_[np.full(10, 1.0), np.full(10, 30.0), np.full(10, 1.0), 500.0]
    groups = groups_of(ordered, counts, 6)
    assert list(groups[:30]) == sorted(groups[:30]) and groups[30] == max(groups) and groups.count(groups[30]) == 1
    plain = Attribute("y", Categories(tuple(map(str, range(6)))))
    assert groups_of(plain, np.array([50.0, 1, 40, 2, 1, 6]), 3)[:3:2] == (0, 1)  # frequent ones are alone
    rare = groups_of(plain, np.array([50.0, 1, 40, 2, 1, 6]), 3)
    assert len({rare[i] for i in (1, 3, 4, 5)}) == 1


def test_only_attributes_with_many_more_values_than_the_noise_bears() -> None:
    schema = schema_of(SIZES, 10_000)
    tables = [Measurement((Axis(n),), np.full(s, 10_000 // s), Gaussian(5.0)) for n, s in SIZES.items()]
    found = merged_groups(schema, tables, 10_000, 40.0)
    assert set(found) == {"a", "b"} and 8 <= max(found["a"]) + 1 <= 16
    assert merged_groups(schema, tables, 10_000, 0.1) == {}


def test_found_bins_are_merged_from_fewer_cells_on_than_values_are() -> None:
    text = '[table]\nname = "t"\nrows = 10000\n[attributes.x]\nkind = "integer"\nrange = [0, 24]\nbins = "each"\n'
    given = Schema.from_toml(text)
    found = given.with_found_bins({"x"})
    table = Measurement((Axis("x"),), np.full(25, 400), Gaussian(5.0))
    assert merged_groups(given, [table], 10_000, 40.0) == {}
    groups = merged_groups(found, [table], 10_000, 40.0)["x"]
    assert list(groups) == sorted(groups) and 8 <= max(groups) + 1 <= 16
    few = Schema.from_toml(text.replace("24", "16")).with_found_bins({"x"})
    table = Measurement((Axis("x"),), np.full(17, 600), Gaussian(5.0))
    assert merged_groups(few, [table], 10_000, 40.0) == {}


@pytest.mark.parametrize(
    "groups",
    [(0,) * 60, (0, 1) * 30, (0, 1, 3) * 20, (0, 1, 2), (0, 1, -1) * 20, (0, 1, 2) * 19 + (0, 1, 10**12)],
)
def test_groups_that_are_no_groups_are_refused(groups: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="three groups"):
        schema_of(SIZES, 100).merged({"a": groups})


# -- in the kernel -----------------------------------------------------------------------------------------------


def test_one_row_moves_one_cell_of_every_table_of_groups() -> None:
    """Sensitivity by brute force: every row that could come, on every table over groups."""
    sizes = {"a": 6, "b": 5}
    groups = {"a": (0, 1, 2, 2, 1, 0), "b": (0, 0, 1, 2, 2)}
    schema = schema_of(sizes, None, "add-remove")
    rng = np.random.default_rng(0)
    rows = {n: rng.integers(s, size=20).astype(np.uint8) for n, s in sizes.items()}

    def counts(columns: dict[str, Any], axes: tuple[Axis, ...]) -> Any:
        engine = MemoryEngine(columns, len(columns["a"]), schema.counted).viewed(schema.merged(groups).counted)
        return next(iter(engine.marginals([axes])))

    for axes in [(A,), (A, B), (A, Axis("b")), (Axis("a"), B)]:
        before = counts(rows, axes)
        for new in itertools.product(*(range(s) for s in sizes.values())):
            more = {n: np.append(rows[n], np.uint8(v)) for n, v in zip(sizes, new)}
            change = counts(more, axes) - before
            assert change.sum() == 1 and np.abs(change).sum() == 1
    # the broken twin: a map by which a value counts in two groups moves two cells
    both = np.stack([np.isin(rows["a"], group) for group in ([0, 1, 2], [2, 3], [4, 5])]).sum(axis=1)
    more = np.append(rows["a"], np.uint8(2))
    assert np.abs(np.stack([np.isin(more, g) for g in ([0, 1, 2], [2, 3], [4, 5])]).sum(axis=1) - both).sum() == 2


@pytest.mark.parametrize("engine", ["memory", "mapped", "duckdb"])
def test_engines_count_groups_as_they_count_values(engine: str, tmp_path: Path) -> None:
    columns = linked(500)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({name: codes.astype(str) for name, codes in columns.items()}), path)
    schema = schema_of(SIZES, 500)
    opened = open_engine(PrivateData(str(path), engine), schema).engine
    list(opened.marginals([(Axis("a"),)]))  # something is known before groups are
    merged = schema.merged(GROUPS)
    workload = [(A,), (A, B), (B, Axis("c")), (Axis("c"), A), (Axis("a"), B)]
    for axes, table in zip(workload, opened.viewed(merged.counted).marginals(workload)):
        exact = np.zeros(merged.sizes(axes), dtype=np.int64)
        np.add.at(exact, tuple(merged.view_map(axis)[columns[axis.attribute]] for axis in axes), 1)
        np.testing.assert_array_equal(table, exact)
    opened.close()


def test_a_journal_is_of_the_groups_that_it_was_asked_with(ledger_path: Path) -> None:
    schema, columns = schema_of(SIZES, 500), linked(500)
    seen = []
    for groups in (GROUPS, GROUPS, GROUPS | {"b": tuple(v % 4 for v in range(40))}):
        table = private_table(schema, columns, Budget(1), ledger_path)
        viewed = table.viewed(groups)
        with pytest.raises(UsageError, match="once"):
            viewed.viewed(groups)
        if groups == GROUPS:
            seen += [noisy.values.tolist() for noisy in viewed.measure([(A, B)], Fraction(1, 4), "tables")]
        else:
            with pytest.raises(LedgerError, match="asked something else"):
                viewed.measure([(A, B)], Fraction(1, 4), "tables")
        table.reservation._lock.release()  # type: ignore[attr-defined]  # the process ends without a release
    assert seen[0] == seen[1]


# -- in the model ------------------------------------------------------------------------------------------------


def measured(schema: Schema, columns: dict[str, Any], workload: list[tuple[Axis, ...]]) -> list[Measurement]:
    found = []
    for axes in workload:
        exact = np.zeros(schema.sizes(axes), dtype=np.int64)
        np.add.at(exact, tuple(schema.view_map(axis)[columns[axis.attribute]] for axis in axes), 1)
        found.append(Measurement(axes, exact, Gaussian(2.0)))
    return found


def test_a_model_of_groups_is_the_model_of_values_of_largest_entropy() -> None:
    """P(a, b) = P(group a, group b) · P(a | its group) · P(b | its group), and the cliques stay small."""
    columns = linked(20_000)
    schema = schema_of(SIZES, 20_000).merged(GROUPS)
    tree = fitted(measured(schema, columns, [(Axis("a"),), (Axis("b"),), (Axis("c"),), (A, B)]), schema, 20_000).tree
    assert tree.cells < 60 * 5 + 40 * 4 + 3 + 5 * 4 + 1
    joint, a, b = (tree.project(axes).table for axes in ((A, B), ("a",), ("b",)))
    of_a, of_b = schema.view_map(A), schema.view_map(B)
    given_a, given_b = a / np.bincount(of_a, a)[of_a], b / np.bincount(of_b, b)[of_b]
    expected = joint[np.ix_(of_a, of_b)] * np.outer(given_a, given_b)
    np.testing.assert_allclose(tree.project(("a", "b")).table, expected, atol=1e-9)
    exact = np.zeros((5, 4))
    np.add.at(exact, (of_a[columns["a"]], of_b[columns["b"]]), 1 / 20_000)
    np.testing.assert_allclose(joint, exact, atol=2e-3)
    drawn = tree.sample(5_000, np.random.default_rng(0))
    assert set(drawn) == set(SIZES)
    given = tree.condition({"a": [0, 5, 10]})
    np.testing.assert_allclose(given.project((A,)).table, [1, 0, 0, 0, 0], atol=1e-12)


def test_pairs_by_groups_are_projections_whether_or_not_they_are_variables() -> None:
    columns = linked(5_000)
    schema = schema_of(SIZES, 5_000).merged(GROUPS)
    workload = [(Axis("a"),), (Axis("b"),), (A, Axis("c"))]
    tree = fitted(measured(schema, columns, workload), schema, 5_000).tree
    assert A in tree.variables and B not in tree.variables
    wanted = [(A, B), (B, Axis("c")), (Axis("a"), B), (Axis("a"), Axis("b")), (Axis("c"), A)]
    for axes, table in pair_marginals(tree, wanted).items():
        np.testing.assert_allclose(table, tree.project(axes).table, atol=1e-12)


def test_offers_by_groups_keep_the_model_under_the_limit() -> None:
    schema = schema_of(SIZES, 500).merged(GROUPS)
    variables = [Axis(n) for n in SIZES]
    offered = CandidatePairs(schema, variables, 1_000)()
    assert (A, B) in offered and (Axis("a"), Axis("b")) not in offered
    tight = CandidatePairs(schema, variables, 320)  # a beside its five groups are 300 cells, b beside its four 160
    assert (A, B) not in tight() and (Axis("a"), Axis("c")) in tight()


def test_tables_by_groups_that_were_chosen_before_count_with_their_values() -> None:
    """Candidates that begin with chosen tables know the same model as those that heard of them one by one."""
    schema = schema_of({"a": 60, "b": 50, "c": 4, "d": 3}, 100).merged(
        {n: tuple(i % 5 for i in range(k)) for n, k in (("a", 60), ("b", 50))}
    )
    variables, by_groups = (
        [Axis(n) for n in "abcd"],
        [(Axis("a", MERGED), Axis("b", MERGED)), (Axis("a", MERGED), Axis("c"))],
    )
    for limit in (300, 600, 1200, 5000):
        before = CandidatePairs(schema, variables, limit, chosen=by_groups)
        one_by_one = CandidatePairs(schema, variables, limit)
        for axes in by_groups:
            one_by_one.add(axes)
        assert before() == one_by_one()


def test_a_table_of_groups_does_not_tell_how_well_values_are_known() -> None:
    """Beside a whole table of a pair, one over its groups would count as if it had measured the pair's own cells."""
    schema = schema_of(SIZES, 8_000).merged(GROUPS)
    tree = fitted(measured(schema, linked(8_000), [(Axis(n),) for n in SIZES]), schema, 8_000).tree
    whole, grouped = measured(schema, linked(8_000), [(Axis("a"), Axis("b")), (A, B)])
    found = []
    for tables in ((whole,), (whole, grouped)):
        release: Any = SimpleNamespace(schema=schema, model=tree, measurements=tables, rows=8_000, model_error=None)
        found.append(trust(release, "a", "b"))
    assert found[0].status == found[1].status == "measured" and found[0].error == found[1].error


def ordered_schema() -> Schema:
    text = '[table]\nname = "people"\nneighbours = "add-remove"\nrows_max = 20000\n'
    for name, size in SIZES.items():
        text += f'[attributes.{name}]\nkind = "integer"\nrange = [0, {size - 1}]\nbins = "each"\n'
    return Schema.from_toml(text)


# -- a run -------------------------------------------------------------------------------------------------------


def distance(columns: dict[str, Any], model: Any, names: tuple[str, ...]) -> float:
    exact = np.zeros([SIZES[n] for n in names])
    np.add.at(exact, tuple(columns[n] for n in names), 1 / len(columns[names[0]]))
    return float(0.5 * np.abs(model.project(names).table - exact).sum())


def test_a_pair_that_noise_would_drown_is_found_by_its_groups(ledger_path: Path) -> None:
    columns, schema, budget = linked(8_000), ordered_schema(), Budget(1, 1e-9)
    found = {}
    for merge in (0, 1):
        table = private_table(schema, columns, budget, ledger_path.with_name(f"{merge}.db"), SeededSource(2))
        fit = Aim(rounds=4, merge=merge).fit(table)
        assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == table.total_cost  # type: ignore[attr-defined]
        found[merge] = distance(columns, fit.model, ("a", "b"))
        assert any(axis.merged for m in fit.measurements for axis in m.axes) == bool(merge)
    assert found[1] < 0.75 * found[0]


@pytest.mark.costly
def test_a_release_keeps_its_groups(tmp_path: Path) -> None:
    columns = linked(8_000)
    rows = pa.table({name: codes.astype(str) for name, codes in columns.items()})
    with same_noise():
        release = publish(
            rows, ordered_schema(), epsilon=1, delta=1e-9, method="aim", rounds=4, ledger=tmp_path / "l.db"
        )
    assert any(axis.merged for m in release.measurements for axis in m.axes)
    assert format_of(release) == Format.GROUPS
    release.save(tmp_path / "r.zip")
    opened = Release.open(tmp_path / "r.zip")
    assert opened.hash == release.hash
    assert opened.design is not None and release.design is not None
    own, again = (refit(r.measurements, r.design).model for r in (release, opened))  # type: ignore[arg-type]
    np.testing.assert_array_equal(own.beliefs, again.beliefs)
    np.testing.assert_allclose(
        opened.model.project(("a", "b")).table, release.model.project(("a", "b")).table, atol=1e-12
    )
    assert len(opened.sample(100, seed=1)) == 100
    assert any("by groups of values" in note and "groups of 60 values)" in note for note in opened.card.notes)
    assert opened.trust("a", "b").status == "inferred"  # groups hide their values
    assert opened.query("count where a < 10 and b < 6", confidence=0.9).interval is not None
