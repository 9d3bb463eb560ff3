"""The drawn shape inside bins: there where details were published, and with the areas of the published shares."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from conftest import same_noise
from understudy.publishing import publish
from understudy.release import Release
from understudy.report import public_report
from understudy.report.density import DRAWN_CELLS, HEIGHT, WIDTH
from understudy.schema import Schema

SCHEMA = """
[table]
name = "t"
rows = 5000
[attributes.amount]
kind = "integer"
edges = [0, 100, 300, 1000]
points = [0]
missing = true
fine = "wavelet"
fine_cells = 8
[attributes.other]
kind = "integer"
range = [0, 99]
bins = 4
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    amounts = np.minimum(np.random.default_rng(1).exponential(200, 5000).astype(int), 1000)
    table = pa.table({"amount": pa.array(amounts, mask=np.arange(5000) % 10 == 0), "other": amounts % 100})
    folder: Path = tmp_path_factory.mktemp("density")
    return publish(table, Schema.from_toml(SCHEMA), epsilon=2, ledger=folder / "l.db")


def areas(path: str) -> list[float]:
    """Of the steps of a path, left to right, as parts of the drawing."""
    at, found = 0.0, []
    for height, end in re.findall(r"V([\d.]+)H([\d.]+)", path):
        found.append((float(end) - at) * (HEIGHT - float(height)))
        at = float(end)
    return found


def test_areas_are_the_published_shares(release: Release) -> None:
    page = public_report(release)
    (fine,) = re.findall(r'class="density".*?class="share" d="(.*?)"', page)
    (flat,) = re.findall(r'class="flat" d="(.*?)"', page)
    shape, shares = release.shapes["amount"], release.model.project(["amount"]).table
    drawn = np.asarray(areas(fine))
    cells = (shape.shares * shares[shape.home])[shape.fine.domain.bin_codes]  # type: ignore[union-attr]
    assert len(drawn) == len(cells) == 24
    assert drawn / drawn.sum() == pytest.approx(cells / cells.sum(), abs=0.005)
    bins = shares[release.schema["amount"].domain.bin_codes]  # type: ignore[union-attr]
    assert np.asarray(areas(flat)) / sum(areas(flat)) == pytest.approx(bins / bins.sum(), abs=0.005)
    assert f'viewBox="0 0 {WIDTH} {HEIGHT}"' in page and "24 cells by the measured details" in page


def test_only_where_details_were_published(release: Release) -> None:
    from dataclasses import replace

    assert public_report(release).count('class="density"') == 1
    assert 'class="density"' not in public_report(replace(release, details=()))


def test_the_shape_of_a_tree_is_drawn_where_the_rows_are(tmp_path: Path) -> None:
    """A range a hundred times too long: the picture is of the rows, and zero, which has its own bin, does not hide them."""
    draw = np.random.default_rng(2)
    amounts = np.where(draw.random(8000) < 0.4, 0, 500 + draw.exponential(200, 8000)).astype(int)
    schema = Schema.from_toml(
        '[table]\nname = "t"\nrows = 8000\n[attributes.amount]\nkind = "integer"\nrange = [0, 100000]\n'
    )
    with same_noise():
        published = publish(
            pa.table({"amount": amounts}), schema, epsilon=8, method="independent", ledger=tmp_path / "l.db"
        )
    page = public_report(published)
    (drawn,) = re.findall(r'class="density".*?class="share" d="(.*?)"', page)
    assert len(areas(drawn)) == DRAWN_CELLS and "by the noisy tree" in page
    low, high = (float(end) for end in re.findall(r'class="scale"><span>(.*?)</span><span>(.*?)</span>', page)[0])
    assert low < 700 < high < 50_000  # of a range of 100,000; noise may leave a few rows far out
