"""Inside bins: what a shape is believed, and how far a bin's mean may be from where the shape has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from understudy.inference import linear
from understudy.inference.inside_bins import mean_deviation, share_deviation
from understudy.inference.linear import OF_GROUP, Inside
from understudy.models.noisy_tree import TreeShape
from understudy.query.selection import SelectedCells
from understudy.release import Release
from understudy.schema import Attribute, Intervals, Schema
from understudy.testing import publish_seeded

ROWS = 4000
BINS = Attribute("x", Intervals("number", (0.0, 100.0, 200.0, 300.0)))
MASSES = np.asarray([0.3, 0.35, 0.35])


@dataclass(frozen=True)
class Believed:
    """A shape, as far as it takes part here."""

    doubt: np.ndarray


@dataclass(frozen=True)
class Within:
    shape: Believed
    spreads: np.ndarray


def selection(mean: float, doubt: float, weight: float = 1.0, spread: float = 100 / 12**0.5) -> SelectedCells:
    weights = np.asarray([weight, 1.0, 1.0])
    inside = Within(Believed(np.asarray([doubt, 0.0, 0.0])), np.full(3, spread))
    moments = weights * np.asarray([mean, 150.0, 250.0])
    return SelectedCells(BINS, weights, moments, np.ones(3), weights < 1, inside=inside)  # type: ignore[arg-type]


def test_a_mean_at_the_end_of_a_bin_is_in_doubt_with_its_shape() -> None:
    sure, doubted = (mean_deviation(BINS, selection(99.0, doubt), MASSES) for doubt in (0.0, 0.9))
    assert doubted[0] > 40 > sure[0]  # it may as well be in the middle
    assert doubted[1] == sure[1] and doubted[2] == sure[2]
    middle = mean_deviation(BINS, selection(51.0, 0.9), MASSES)
    assert middle[0] < doubted[0] / 2  # where it would be anyway, less is to be doubted


def test_where_density_falls_a_mean_at_the_dense_end_is_as_expected() -> None:
    steep = np.asarray([0.0005, 0.4, 0.5995])
    dense, sparse = (mean_deviation(BINS, selection(mean, 0.9), steep)[0] for mean in (90.0, 10.0))
    assert dense < sparse


def test_a_shape_that_keeps_values_together_leaves_less_error_to_their_mean() -> None:
    even, close = (mean_deviation(BINS, selection(50.0, 0.02, spread=s), MASSES) for s in (100 / 12**0.5, 3.0))
    assert close[0] < 0.4 * even[0] and close[1] < 0.2 * even[1]
    assert close[0] > 0.5 * 0.02 * 0.98 * 100  # the rest of the bin may hold what noise hides
    doubted = [mean_deviation(BINS, selection(50.0, 1.0, spread=s), MASSES)[0] for s in (100 / 12**0.5, 3.0)]
    assert doubted[0] == pytest.approx(doubted[1])


def test_a_cut_bin_in_doubt_is_known_less() -> None:
    sure, doubted = (share_deviation(BINS, selection(50.0, doubt, 0.4), MASSES)[0] for doubt in (0.0, 1.0))
    plain = replace(selection(50.0, 0.0, 0.4), inside=None)
    assert sure < doubted == pytest.approx(share_deviation(BINS, plain, MASSES)[0])


def test_a_part_that_a_shape_empties_may_hold_what_one_noisy_number_hides() -> None:
    emptied = replace(selection(50.0, 0.01, 0.0), cut=np.asarray([True, False, False]))
    assert share_deviation(BINS, emptied, MASSES) == pytest.approx([0.0099, 0.0, 0.0])
    whole = replace(emptied, cut=np.zeros(3, dtype=bool))
    assert not share_deviation(BINS, whole, MASSES).any()


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    """Two values in three are the largest one, the others anywhere."""
    rng = np.random.default_rng(5)
    x = np.where(rng.random(ROWS) < 0.6, 501, rng.integers(0, 501, ROWS))
    table = pa.table({"x": pa.array(x), "g": pa.array([str(g) for g in rng.integers(0, 4, ROWS)])})
    schema = Schema.from_toml(
        f'[table]\nname = "t"\nneighbours = "replace-one"\nrows = {ROWS}\n'
        '[attributes.x]\nkind = "integer"\nrange = [0, 501]\n'
        '[attributes.g]\nkind = "category"\nvalues = ["0", "1", "2", "3"]\n'
    )
    ledger: Path = tmp_path_factory.mktemp("ledger") / "l.db"
    return publish_seeded(table, schema, seed=3, epsilon=1, delta=1e-9, ledger=ledger, cap="none").release


def test_bins_that_a_tree_saw_few_rows_of_are_in_doubt(release: Release) -> None:
    shape = release.shapes["x"]
    assert isinstance(shape, TreeShape) and len(shape.doubt) == release.schema["x"].size
    assert ((shape.doubt > 0) & (shape.doubt <= 1)).all()
    counts = release.rows * release.model.project(("x",)).table
    fullest = int(np.argmax(counts))
    assert 5 * shape.doubt[fullest] < shape.doubt.max()


def test_doubt_makes_the_interval_of_a_mean_wider(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    def width() -> float:
        low, high = release.answer('mean("x")', release.inference("finite"), 0.95).interval or (0.0, 0.0)
        return float(high - low)

    own = width()
    monkeypatch.setattr(TreeShape, "doubt", property(lambda shape: np.zeros(shape.attribute.size)))
    assert own > width() > 0


def test_a_single_value_inside_a_bin_is_as_far_off_as_the_tree_may_be(release: Release) -> None:
    low, high = release.query("count where x = 3", 0.95).interval or (0.0, 0.0)
    assert low == 0.0 and high > 10  # of the first bin, with 80 rows or so, a twentieth, and the noise of the tree


def test_cells_that_meet_a_condition_in_part_widen_the_interval(release: Release) -> None:
    joint, own = release.query("count where x + 0 > 333", 0.95), release.query("count where x > 333", 0.95)
    assert joint.interval is not None and own.interval is not None
    assert joint.interval[1] - joint.interval[0] > 20
    assert "no model error takes part" in str(joint.interval_covers)
    whole = release.query("count where x + 0 >= 0", 0.95).interval
    assert whole is not None and whole[1] - whole[0] < 1e-6


def test_groups_differ_by_less_than_the_shape_of_their_bins_leaves_open_in_each() -> None:
    own = np.asarray([[3.0, 4.0], [3.0, 4.0], [0.0, 4.0]])
    inside = Inside((own,), np.asarray([0.0, 0.0, 11.0]))
    assert inside.deviation == pytest.approx([5.0, 5.0, np.sqrt(27)])
    alike = np.sqrt(OF_GROUP * 50)
    assert inside.against_first == pytest.approx([alike, alike, np.sqrt((1 - OF_GROUP) * 9 + OF_GROUP * 41 + 11)])


def test_what_groups_have_of_their_own_widens_their_differences(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    def widths() -> np.ndarray:
        return np.asarray([c.high - c.low for c in release.query("mean(x) by g", 0.95).comparisons])

    usual = widths()
    monkeypatch.setattr(linear, "OF_GROUP", 1.0)
    assert len(usual) == 3 and (usual < widths()).all()


def test_intervals_stay_inside_the_bins_that_are_asked_of(release: Release) -> None:
    domain = release.schema["x"].intervals
    assert domain is not None and domain.steps is not None
    first, last = domain.step_range
    own = release.query("mean(x) by x", 0.95).to_pandas()
    ends = own[own["x"].str.contains("..", regex=False)][["low", "high"]].to_numpy(dtype=float)
    assert (ends[:, 0] >= first).all() and (ends[:, 1] <= last).all()
    assert release.query("mean(x) where x >= 501", 0.95).interval == pytest.approx((501.0, 501.0))


def test_a_share_of_all_rows_is_exact(release: Release) -> None:
    assert release.query("share", 0.95).interval == (1.0, 1.0)
