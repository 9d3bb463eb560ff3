"""MWEM's update and PriView's steps against brute force and hand-worked cases."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.errors import UsageError
from understudy.methods.priview.covering import covering_design, fewest_blocks
from understudy.models.factor import Factor
from understudy.privacy.accounting import PURE, ZCDP
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Laplace
from understudy.schema import Axis

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from rivals.mwem import MWEM, all_tables, replayed, update
from rivals.priview import PriView, Views, consistent_views, maximum_entropy, ripple
from rivals.rival import RivalBudget

A, B, C = Axis("a"), Axis("b"), Axis("c")

# -- MWEM --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 3, 4, 2), (2,) * 6, (3,), (2, 2)])
def test_all_tables_are_the_projections_in_order(shape: tuple[int, ...]) -> None:
    joint = np.random.default_rng(1).random(shape)
    for alpha in range(1, len(shape) + 1):
        found = list(all_tables(joint, alpha))
        chosen = list(itertools.combinations(range(len(shape)), alpha))
        assert len(found) == len(chosen)
        for table, kept in zip(found, chosen):
            gone = tuple(i for i in range(len(shape)) if i not in kept)
            assert table == pytest.approx(joint.sum(axis=gone))


def test_the_update_cell_by_cell() -> None:
    joint = np.random.default_rng(2).random((2, 3, 2))
    joint /= joint.sum()
    measured = np.array([[0.1, 0.4], [0.3, 0.2]])
    own = joint.sum(axis=1)
    expected = joint.copy()
    for a, b, c in np.ndindex(2, 3, 2):
        expected[a, b, c] *= np.exp((measured[a, c] - own[a, c]) / 2)
    expected /= expected.sum()
    moved = joint.copy()
    update(moved, (0, 2), measured)
    assert moved == pytest.approx(expected)


def test_the_update_worked_by_hand() -> None:
    """One binary attribute, uniform, told that all rows are 0: weights ½e^¼ and ½e^−¼, normalised."""
    joint = np.array([0.5, 0.5])
    update(joint, (0,), np.array([1.0, 0.0]))
    assert joint == pytest.approx([1 / (1 + np.exp(-0.5)), 1 / (1 + np.exp(0.5))])
    joint = np.array([0.5, 0.5])
    update(joint, (0,), np.array([9.0, -8.0]))  # noise cannot push a frequency out of [0, 1]
    assert joint == pytest.approx([1 / (1 + np.exp(-0.5)), 1 / (1 + np.exp(0.5))])


def test_replaying_converges_to_what_was_measured() -> None:
    values = np.array([[30, 10], [20, 40]])
    measured = [Measurement((A, B), values, Laplace(1.0))]
    joint = replayed(np.full((2, 2, 2), 1 / 8), (A, B, C), measured, 100, 500)
    assert joint.sum(axis=2) == pytest.approx(values / 100, abs=1e-6)
    assert joint[..., 0] == pytest.approx(joint[..., 1])  # nothing was said about c


def test_a_round_costs_the_papers_share() -> None:
    rival = MWEM()
    assert [rival.rounds_for(PURE, Fraction(e)) for e in ("0.05", "0.1", "1.6", "0.01")] == [1, 2, 32, 1]
    assert rival.rounds_for(ZCDP, Fraction(1, 100)) == int(0.01 / (0.025**2 * 0.625))
    assert MWEM(rounds=7).rounds_for(PURE, Fraction(1)) == 7


def test_mwem_asks_about_the_table_it_knows_least(ledger_path: Path) -> None:
    """a and b are equal, the rest are independent coins: the first table chosen is (a, b)."""
    generator = np.random.default_rng(3)
    columns = {n: generator.integers(0, 2, 4000).astype(np.uint8) for n in "abcd"}
    columns["b"] = columns["a"].copy()
    schema = schema_of(dict.fromkeys("abcd", 2), 4000)
    table = private_table(schema, columns, Budget(2), ledger_path)
    fit = MWEM(alpha=2, rounds=2).fit(table)
    assert fit.facts["chosen"][0] == ["a", "b"]
    assert fit.model.project(["a", "b"]).table == pytest.approx(np.diag([0.5, 0.5]), abs=0.1)
    codes = fit.model.sample(1000, np.random.default_rng(0))
    assert (codes["a"] == codes["b"]).mean() > 0.8
    assert [c["purpose"] for c in table.reservation.charges()] == ["structure", "tables"] * 2  # type: ignore[attr-defined]
    assert {c["cost"] for c in table.reservation.charges()} == {"1/2"}  # type: ignore[attr-defined]


# -- PriView -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("points", "strength"), [(3, 2), (8, 2), (9, 2), (9, 3), (16, 2), (16, 3), (23, 2), (32, 2)])
def test_a_covering_design_covers_everything(points: int, strength: int) -> None:
    blocks = covering_design(points, 8, strength)
    assert all(len(block) <= 8 and max(block) < points for block in blocks)
    for chosen in itertools.combinations(range(points), strength):
        assert any(set(chosen) <= set(block) for block in blocks)
    assert fewest_blocks(points, 8, strength) <= len(blocks) <= 2 * fewest_blocks(points, 8, strength) + 1
    for gone in blocks:  # none is superfluous
        others = [set(block) for block in blocks if block != gone]
        sets = itertools.combinations(range(points), min(strength, points))
        assert not all(any(set(chosen) <= block for block in others) for chosen in sets)


def test_the_known_best_designs_are_found_where_they_are_small() -> None:
    assert len(covering_design(8, 8, 2)) == 1
    assert len(covering_design(9, 8, 2)) == 3
    assert len(covering_design(16, 8, 2)) == 6


def test_triples_are_covered_only_where_the_noise_allows_it() -> None:
    schema = schema_of({f"a{i}": 2 for i in range(12)}, 1_000_000)
    rival = PriView()
    pairs, triples = covering_design(12, 8, 2), covering_design(12, 8, 3)
    assert len(rival.views(schema, RivalBudget(PURE, Fraction(0), Fraction(1)), 1_000_000)) == len(triples)
    assert len(rival.views(schema, RivalBudget(PURE, Fraction(0), Fraction(1, 100)), 1_000_000)) == len(pairs)


def test_ripple_worked_by_hand() -> None:
    """−4 becomes 0 and its two neighbours pay 2 each; the total stays."""
    found = ripple(np.array([[-4.0, 5.0], [6.0, 7.0]]))
    assert found == pytest.approx(np.array([[0.0, 3.0], [4.0, 7.0]]))
    noisy = np.random.default_rng(4).normal(3, 10, (2,) * 6)
    assert ripple(noisy).sum() == pytest.approx(noisy.sum())
    assert ripple(noisy).min() >= -1


def test_views_agree_on_what_they_share_and_on_the_total() -> None:
    generator = np.random.default_rng(5)
    schema = schema_of(dict.fromkeys("abcd", 2), 1000)
    axes = [(A, B, C), (B, C, Axis("d"))]
    measured = [Measurement(a, generator.integers(90, 160, (2, 2, 2)), Laplace(9.0)) for a in axes]
    first, second = consistent_views(measured, schema, 1000)
    assert first.total == pytest.approx(1000) and second.total == pytest.approx(1000)
    shared = first.project((B, C)).table
    assert shared == pytest.approx(second.project((B, C)).table)
    assert shared == pytest.approx(  # equal noise: the mean of the two, each first brought to the total
        np.mean([m.values.sum(axis=a) + (1000 - m.values.sum()) / 4 for m, a in zip(measured, (0, 2))], axis=0)
    )


def test_maximum_entropy_of_a_chain_is_conditional_independence() -> None:
    """Known: (a, b) and (b, c). The answer is p(a, b)·p(b, c)/p(b)."""
    schema = schema_of(dict.fromkeys("abc", 2), 100)
    joint = np.random.default_rng(6).random((2, 2, 2))
    joint /= joint.sum()
    known = [Factor((A, B), joint.sum(axis=2)), Factor((B, C), joint.sum(axis=0))]
    expected = np.einsum("ab,bc->abc", known[0].table, known[1].table / joint.sum(axis=(0, 2))[:, None])
    assert maximum_entropy((A, B, C), known, schema).table == pytest.approx(expected)
    turned = maximum_entropy((C, A, B), known, schema).table
    assert turned == pytest.approx(np.transpose(expected, (2, 0, 1)))


def test_maximum_entropy_of_three_pairs_against_brute_force() -> None:
    """All three pairs are known: one free number is left, and no value of it has more entropy."""
    schema = schema_of(dict.fromkeys("abc", 2), 100)
    joint = np.random.default_rng(7).random((2, 2, 2)) + 0.1
    joint /= joint.sum()
    known = [Factor((A, B), joint.sum(axis=2)), Factor((B, C), joint.sum(axis=0)), Factor((A, C), joint.sum(axis=1))]
    found = maximum_entropy((A, B, C), known, schema).table
    for factor in known:
        assert Factor((A, B, C), found).project(factor.axes).table == pytest.approx(factor.table, abs=1e-7)
    parity = np.array([(-1) ** (a + b + c) for a, b, c in np.ndindex(2, 2, 2)]).reshape(2, 2, 2)

    def entropy(p: np.ndarray) -> float:
        return float(-(p * np.log(p)).sum())

    for step in (-0.02, -0.005, 0.005, 0.02):
        if (found + step * parity > 0).all():
            assert entropy(found + step * parity) < entropy(found)


def test_a_table_inside_a_view_is_its_projection_and_others_are_put_together() -> None:
    schema = schema_of(dict.fromkeys("abc", 2), 100)
    joint = np.random.default_rng(8).random((2, 2)) * 50
    model = Views(schema, (Factor((A, B), joint), Factor((C,), np.array([25.0, 75.0]) * joint.sum() / 100)))
    assert model.project(["b", "a"]).table == pytest.approx(joint.T / joint.sum())
    assert model.project(["c", "a"]).table == pytest.approx(np.outer([0.25, 0.75], joint.sum(axis=1) / joint.sum()))
    with pytest.raises(UsageError, match="no rows"):
        model.sample(2, np.random.default_rng(0))
    with pytest.raises(UsageError, match="nothing to condition on"):
        model.condition({"a": [0]})


def test_priview_is_for_binary_tables(ledger_path: Path) -> None:
    sizes = {"a": 2, "b": 3}
    table = private_table(schema_of(sizes, 50), columns_of(sizes, 50), Budget(1), ledger_path)
    with pytest.raises(UsageError, match="b has 3 values"):
        PriView().fit(table)
    with pytest.raises(UsageError, match="b has 3 values"):
        PriView().plan(table.schema, Budget(1))
    assert table.reservation.charges() == []  # type: ignore[attr-defined]


def test_priview_beats_uniform_beyond_its_views(ledger_path: Path) -> None:
    """Twelve attributes in a chain; the table over attributes of different views follows the data."""
    sizes = {f"a{i:02}": 2 for i in range(12)}
    columns = columns_of(sizes, 5000)
    fit = PriView(strength=2).fit(private_table(schema_of(sizes, 5000), columns, Budget(5), ledger_path))
    names = tuple(sizes)[:9]
    counts = np.zeros((2,) * 9)
    np.add.at(counts, tuple(columns[n] for n in names), 1)
    real = counts / counts.sum()
    far = 0.5 * np.abs(fit.model.project(names).table - real).sum()
    assert far < 0.5 * 0.5 * np.abs(1 / 512 - real).sum()
