"""Far tails: a column ends where its cells, or a run of them together, stand out from the noise."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from understudy import Release
from understudy.models.edition import Edition
from understudy.models.refit import refit
from understudy.models.tails import beyond, earlier_tails, empty_tails
from understudy.models.tree_counts import TreeCounts
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.release.stored_parts import members_of
from understudy.schema import Axis
from understudy.schema.files import schema_from_dict
from understudy.schema.tree_grid import TreeGrid
from understudy.testing import publish_seeded

# persons in a family, 2 to 20, as they were measured with a standard deviation of 36: nobody is above 9
FAMILY = np.asarray([2043, 1309, 1635, 574, 325, 61, 15, 3, -6, 0, 35, 16, 72, -4, -26, 25, -68, 64, 82], dtype=float)
SCHEMA = schema_from_dict(
    {
        "table": {"name": "t", "neighbours": "add-remove"},
        "attributes": {"x": {"kind": "integer", "range": [2, 20]}},
    }
)


def empty_cells(cells: np.ndarray, deviation: float, codes: tuple[int, ...] = ()) -> np.ndarray:
    special = np.zeros(len(cells), dtype=bool)
    special[list(codes)] = True
    return beyond(cells, np.full(len(cells), deviation**2), special)


def test_cells_far_from_all_rows_that_do_not_stand_out_are_empty() -> None:
    """Two cells are above two standard deviations by chance: the earlier rule kept all of the tail for them."""
    found = empty_cells(FAMILY, 36.0)
    assert found.tolist() == [False] * 5 + [True] * 14
    assert earlier_tails(FAMILY, 36.0, 6000.0) == (0, 0)


def test_a_thin_tail_that_stands_out_together_is_kept() -> None:
    """No cell of it is three standard deviations, and all of them are six."""
    cells = np.asarray([1000.0, 500, *[20.0] * 9, 0, 0, 0, -5, 3])
    assert empty_cells(cells, 10.0).tolist() == [False] * 11 + [True] * 5
    assert empty_cells(cells[::-1], 10.0)[::-1].tolist() == [False] * 11 + [True] * 5


def test_a_hump_far_away_is_kept() -> None:
    cells = np.asarray([1000.0, 500, 0, 0, 0, 0, 60.0, 0, 5])
    assert empty_cells(cells, 10.0).tolist() == [False] * 7 + [True] * 2


def test_a_code_at_the_end_says_nothing_of_the_cells_before_it() -> None:
    cells = np.asarray([1000.0, 500, 0, 9, 0, 11, 60.0])
    assert empty_cells(cells, 10.0, codes=(6,)).tolist() == [False, False, True, True, True, True, False]
    assert empty_cells(np.append(cells[:-1], 20.0), 10.0, codes=(6,))[-1]


def test_where_noise_is_laplace_or_large_the_earlier_rule_holds() -> None:
    """Of a real but thin tail and few rows, today's rule would cut what is there."""
    draw = np.random.default_rng(5)
    counts = np.asarray([400, 300, 200, 100, 60, 40, 30, 20, 15, 10, 8, 6, 5, 4, 3, 2, 1, 1, 1])
    differ = 0
    for noise, rows in ((Gaussian(50.0), 1206), (Laplace(3.0), 1206), (Gaussian(10.0), 1206)):
        for _ in range(20):
            values = counts + np.rint(draw.normal(0, noise.variance**0.5, 19)).astype(np.int64)
            seen = [Measurement((Axis("x"),), values, noise)]
            found = [[z.table.tolist() for z in empty_tails(seen, SCHEMA, rows, pooled)] for pooled in (True, False)]
            if isinstance(noise, Gaussian) and rows >= 50 * noise.scale:
                differ += found[0] != found[1]
            else:
                assert found[0] == found[1]
    assert differ > 5


def test_a_tree_puts_no_rows_far_from_all_others() -> None:
    """Weights up to 190 in a range to 9,999, and noise of less than two standard deviations in the last of four nodes,
    with nothing before it; the earlier rule, which took that for rows, is the twin."""
    grid = TreeGrid("integer", 1, 9_999)
    weights = np.clip(np.rint(np.random.default_rng(1).lognormal(4.4, 0.4, 8_000)), 1, 190)
    units = np.bincount(grid.domain.encode_numbers(weights), minlength=len(grid.prior)).astype(float)
    noisy = tuple(np.add.reduceat(units, grid.first_units(size)) for size in grid.sizes[:4])
    noisy[0][[0, -1]] += (-155.0, 155.0)
    far = grid.starts >= 2_000
    new, old = (TreeCounts(grid, grid.sizes[:4], noisy, (70.0**2,) * 4, pooled) for pooled in (True, False))
    assert new.estimates[0][0][-1] < 2 * new.estimates[1][0][-1] ** 0.5
    assert new.unit_masses(8_000)[far].sum() == 0 and old.unit_masses(8_000)[far].sum() > 80


def test_a_release_says_by_which_edition_it_was_estimated(tmp_path: Path) -> None:
    """Written, read and refitted it is the same; a file of an earlier version says less and has the earlier rules."""
    import pandas as pd

    rows = np.repeat(np.arange(2, 21), np.maximum(FAMILY, 0).astype(int) // 4)
    frame = pd.DataFrame({"x": rows.astype(str)})
    release = publish_seeded(frame, SCHEMA, seed=3, epsilon="1", ledger=tmp_path / "l.db").release
    release.save(tmp_path / "r.zip")
    read = Release.open(tmp_path / "r.zip")
    assert read.design is not None and read.edition == read.design.edition == Edition.NEWEST
    again = refit(read.measurements, read.design).model.project(["x"]).table
    assert np.allclose(again, release.model.project(["x"]).table, atol=1e-6)
    said = {
        Edition.FIRST: set(),
        Edition.POOLED_TAILS: {"tails"},
        Edition.SHRUNK: {"tails", "entropy"},
        Edition.DRAWN_TO_PAIRS: {"tails", "entropy", "interactions"},
        Edition.SPARSE: {"tails", "entropy", "interactions", "smooth"},
    }
    for edition, keys in said.items():
        earlier = replace(release, edition=edition)
        body = json.loads(members_of(earlier)["model.json"])
        assert keys == said[Edition.NEWEST] & set(body) and Edition.of(body) is edition
        assert earlier.design is not None and earlier.design.edition is edition
