"""What noisy histograms say: kinds, formats and ranges from counts, as post-processing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.models.discovered import found_cells, found_kind, visible
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.schema import Axis
from understudy.schema.text_classes import formats

NOISE = Gaussian(10.0)


def kind_of(texts: dict[str, int]) -> dict[str, Any] | None:
    domain = formats()
    counts = np.zeros(domain.size, dtype=np.int64)
    for text, rows in texts.items():
        counts[domain.class_of(text)] += rows
    return found_kind(Measurement((Axis("x (formats)"),), counts, NOISE), domain).body


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({"1": 900, "x": 60}, {"kind": "integer", "other": "missing"}),
        ({"1": 500, "1.5": 300, "1.25": 200}, {"kind": "number", "decimals": 2, "other": "missing"}),
        ({"1": 900, "": 90}, {"kind": "integer", "missing": [""], "other": "missing"}),
        ({"1": 500, "x": 500}, {"kind": "category"}),
        ({"007": 500, "123": 500}, {"kind": "category"}),
        ({"13/01/2020": 500, "01/02/2020": 400}, {"kind": "date", "format": "%d/%m/%Y", "other": "missing"}),
        ({"01/13/2020": 500, "01/02/2020": 400}, {"kind": "date", "format": "%m/%d/%Y", "other": "missing"}),
        ({"20200131": 900}, {"kind": "date", "format": "%Y%m%d", "other": "missing"}),
        ({"20200131": 100, "20209931": 900}, {"kind": "integer", "other": "missing"}),
        ({"true": 500, "FALSE": 400}, {"kind": "boolean", "other": "missing"}),
        ({"2020-01-01 10:00:00": 400}, {"kind": "datetime", "other": "missing"}),
        ({"NA": 400}, None),
        ({"1": 3}, None),
    ],
)
def test_kinds(texts: dict[str, int], expected: dict[str, Any] | None) -> None:
    assert kind_of(texts) == expected


def test_an_ambiguous_order_is_said() -> None:
    domain = formats()
    counts = np.zeros(domain.size, dtype=np.int64)
    counts[domain.class_of("01/02/2020")] = 900
    found = found_kind(Measurement((Axis("x"),), counts, NOISE), domain)
    assert found.body is not None and found.body["format"] == "%d/%m/%Y" and "day" in found.notes[0]


def test_a_range_is_one_cell_wider_and_takes_its_neighbours() -> None:
    seen = visible(NOISE, 10)
    assert found_cells([0, 0, 16, seen, 0, seen, 14, 0, 0, 0], NOISE) == (1, 6)
    assert found_cells([seen, 0, 0, seen], NOISE) == (0, 3)
    assert found_cells([seen - 1] * 4, Laplace(100.0)) is None


@pytest.mark.parametrize("noise", [Gaussian(50.0), Laplace(50.0)])
def test_noise_alone_is_seldom_taken_for_something(noise: Gaussian | Laplace) -> None:
    draw = np.random.default_rng(3)
    drawn = draw.normal(0, 50, (2000, 150)) if isinstance(noise, Gaussian) else draw.laplace(0, 50, (2000, 150))
    assert ((drawn >= visible(noise, 150)).any(axis=1)).mean() < 0.05
