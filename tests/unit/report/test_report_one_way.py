"""One-way tables: the model's shares, and error bars that hold what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_stand_ins import nasty_release

from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.release import Release
from understudy.report.cells import Line, lines_of
from understudy.report.one_way import OneWay, quietest_reading
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema
from understudy.testing import SeededSource


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return nasty_release(tmp_path)


def test_bars_are_the_models_shares(release: Release) -> None:
    one_way = OneWay(release, release.schema["town"])
    shares = [one_way.bar(line).share for line in lines_of(one_way.attribute, one_way.shares.tolist())]
    np.testing.assert_allclose(shares, release.model.project(["town"]).table)
    assert sum(shares) == pytest.approx(1)


def test_noise_is_in_per_cent_like_the_share_beside_it(release: Release) -> None:
    bar = OneWay(release, release.schema["town"]).bar(Line("town 0", (0,)))
    assert bar.whisker is not None
    assert bar.cells[-1] == f"± {100 * (bar.whisker.high - bar.whisker.middle):.1f} %"


def test_a_reading_is_the_table_summed(release: Release) -> None:
    reading = quietest_reading(release, "town")
    assert reading is not None
    other = tuple(i for i, axis in enumerate(reading.table.axes) if axis.attribute != "town")
    np.testing.assert_array_equal(reading.counts, reading.table.values.sum(axis=other))
    cells = reading.table.values.size / release.schema["town"].size
    np.testing.assert_allclose(reading.variance, reading.table.variance * cells)


def _measured(noise: str, cells: int, seed: int) -> tuple[Release, np.ndarray]:
    """A schema of 2,000 values beside another attribute, measured together with noise of scale 10."""
    g, source = np.random.default_rng(seed), SeededSource(seed)
    truth = g.integers(0, 100, (2000, cells))
    names = (
        Attribute("a", Categories(tuple(map(str, range(2000))))),
        Attribute("b", Categories(tuple(map(str, range(cells))))),
    )
    schema = Schema("t", names, rows=int(truth.sum()))
    draw = source.laplace if noise == Laplace else source.gaussian
    table = Measurement((Axis("a"), Axis("b")), draw(truth, 10.0), noise(10.0))
    release = Release.__new__(Release)
    for key, value in {"schema": schema, "measurements": (table,), "rows": schema.rows}.items():
        object.__setattr__(release, key, value)
    return release, truth.sum(axis=1)


@pytest.mark.parametrize("noise", [Laplace, Gaussian])
@pytest.mark.parametrize("cells", [1, 4])
def test_error_bars_hold_the_truth_19_times_in_20(noise: str, cells: int) -> None:
    release, truth = _measured(noise, cells, 5)
    one_way = OneWay(release, release.schema["a"])
    one_way.__dict__["shares"] = truth / truth.sum()
    bars = [one_way.bar(Line(str(c), (c,))) for c in range(2000)]
    inside = np.mean([b.whisker is not None and b.whisker.low <= b.share <= b.whisker.high for b in bars])
    assert 0.93 < inside < 0.985


def test_no_error_bar_without_a_table_that_shows_it(release: Release) -> None:
    blind = replace(release, measurements=())
    card = OneWay(blind, blind.schema["town"]).card(20)
    assert "no error bar is claimed" in card and "whisker" not in card


def test_bits_are_put_together(tmp_path: Path) -> None:
    schema = Schema("t", (Attribute("a", Categories(tuple("abcde"))),), rows=10)
    axes = tuple(Axis("a", 0, bit) for bit in range(3))
    values = np.arange(8, dtype=np.int64).reshape(2, 2, 2)
    release = Release.__new__(Release)
    for key, value in {
        "schema": schema,
        "measurements": (Measurement(axes, values, Laplace(1.0)),),
        "rows": 10,
    }.items():
        object.__setattr__(release, key, value)
    reading = quietest_reading(release, "a")
    assert reading is not None and reading.counts.tolist() == [0, 1, 2, 3, 4]


def test_large_domains_are_shown_coarser() -> None:
    numbers = Attribute("n", Intervals("integer", tuple(float(x) for x in range(101))), missing=("?",))
    lines = lines_of(numbers, [1.0] * numbers.size, 11)
    assert len(lines) == 11 and lines[0].label == "0 – 9" and lines[-1].label == "missing"
    assert sorted(c for line in lines for c in line.codes) == list(range(numbers.size))
    names = Attribute("c", Categories(tuple(map(str, range(50)))))
    few = lines_of(names, list(range(50)), 5)
    assert [line.label for line in few] == ["49", "48", "47", "46", "46 other values"]
