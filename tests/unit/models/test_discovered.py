"""What noisy histograms say: kinds, formats and ranges from counts, as post-processing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy.models.discovered import (
    few_body,
    few_values,
    found_cells,
    found_kind,
    listed_body,
    range_body,
    visible,
    without_codes,
)
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.questions.value_lists import ValueList
from understudy.schema import Axis
from understudy.schema.scales import ordered_scale
from understudy.schema.scales.reals import LOWEST_OCTAVE
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
        ({"1": 900, "w": 60}, {"kind": "integer", "other": "missing"}),
        ({"1": 500, "1.5": 300, "1.25": 200}, {"kind": "number", "decimals": 2, "other": "missing"}),
        ({"1": 900, "": 90}, {"kind": "integer", "missing": [""], "other": "missing"}),
        ({"1": 500, "x": 500}, {"kind": "category"}),
        ({"1": 700, "N": 300}, {"kind": "integer", "missing": ["N"], "other": "missing"}),
        ({"1": 700, "": 40, "NA": 60}, {"kind": "integer", "missing": ["NA", ""], "other": "missing"}),
        ({"Y": 700, "N": 300}, {"kind": "category"}),
        ({"7": 700, "<5": 60}, {"kind": "category"}),
        ({"7.25": 700, "<5": 60}, {"kind": "number", "decimals": 2, "other": "missing"}),
        ({"no": 700, "yes": 60}, {"kind": "category"}),
        ({"007": 500, "123": 500}, {"kind": "category"}),
        ({"13/01/2020": 500, "01/02/2020": 400}, {"kind": "date", "format": "%d/%m/%Y", "other": "missing"}),
        ({"01/13/2020": 500, "01/02/2020": 400}, {"kind": "date", "format": "%m/%d/%Y", "other": "missing"}),
        ({"20200131": 900}, {"kind": "date", "format": "%Y%m%d", "other": "missing"}),
        ({"20200131": 100, "20209931": 900}, {"kind": "integer", "other": "missing"}),
        ({"true": 500, "FALSE": 400}, {"kind": "boolean", "other": "missing"}),
        (
            {"True": 500, "False": 400},
            {
                "kind": "boolean",
                "true": ["True", "true", "TRUE", "1"],
                "false": ["False", "false", "FALSE", "0"],
                "other": "missing",
            },
        ),
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


def test_a_range_takes_its_neighbours_and_no_far_cell_that_noise_may_have_filled() -> None:
    seen = visible(NOISE, 10)
    assert found_cells([0, 0, 16, seen, 0, seen, 14, 0, 0, 0], NOISE) == (2, 5)
    assert found_cells([seen, 0, 0, seen], NOISE) == (0, 3)
    assert found_cells([seen - 1] * 4, Laplace(100.0)) is None
    assert found_cells([seen, 0, 0, 0, 0, 0, 0, 900, 0, 0], NOISE) == (7, 7)  # seen by itself, and far away
    assert found_cells([80, 0, 0, 0, 0, 0, 0, 900, 0, 0], NOISE) == (0, 7)
    assert found_cells([21, 0, 0, 0, 0, 0, 0, 900, 0, 0], NOISE, zero=0) == (0, 7)
    assert found_cells([19, 0, 0, 0, 0, 0, 0, 900, 0, 0], NOISE, zero=0) == (7, 7)


@pytest.mark.parametrize(
    ("kind", "ends", "expected"),
    [
        ("integer", (0, 2), [0, 1]),  # flags
        ("integer", (0, 1), [0, 8]),  # nothing but 0
        ("integer", (0, 4), [0, 3]),
        ("integer", (4, 16), [2, 15]),
        ("integer", (16, 64), [8, 128]),
    ],
)
@pytest.mark.parametrize("octaves", ["integer", "number"])
def test_what_a_range_becomes(kind: Any, ends: tuple[int, int], expected: list[int], octaves: Any) -> None:
    edges = ordered_scale(octaves).search_edges()
    zero = edges.index(0.0) if octaves == "integer" else edges.index(-(2.0**LOWEST_OCTAVE))
    first, last = (zero if end == 0 else edges.index(float(end)) for end in ends)
    last = zero if ends[1] == 1 else last - 1
    assert range_body({"kind": kind}, edges, first, last)["range"] == expected
    if octaves == "number" and ends == (0, 2):
        assert range_body({"kind": "number"}, edges, first, last)["range"] == [0, 4]


def test_small_whole_numbers_are_found_one_by_one() -> None:
    edges = ordered_scale("integer").search_edges()
    zero = edges.index(0.0)
    assert few_values("integer", edges, zero, edges.index(32.0) - 1)
    assert not few_values("integer", edges, zero, edges.index(32.0)) and not few_values("number", edges, zero, zero)
    counts = [0] * 32
    counts[1], counts[2], counts[3], counts[9] = 500, 300, 16, 20  # beside a seen one, and far from all
    assert few_body(counts, NOISE) == {"range": [1, 3]}
    assert few_body([900, *[0] * 31], NOISE) == {"range": [0, 1]}
    assert few_body([*[0] * 31, 900], NOISE) == {"range": [30, 31]}
    assert few_body([5] * 32, NOISE) is None


def test_a_range_keeps_the_side_of_a_missing_code_on_which_rows_are() -> None:
    assert without_codes((8, 256), [99], 1, 48) == (8, 98)
    assert without_codes((-16, 128), [-9, 99], 0.1, 60) == (-8.9, 98.9)
    assert without_codes((0, 15), [], 1, 3) == (0, 15)


def test_texts_outside_a_list_have_a_label_where_they_are_seen() -> None:
    def listed(rest: int, kindless: bool = True, **body: str) -> dict[str, Any]:
        return listed_body(body, ValueList("x", ("a", "b"), np.asarray([90, 80, rest, 5]), NOISE), kindless)

    assert listed(rest=26) == {"values": ["a", "b", "other"], "other": "other"}
    assert listed(rest=24) == {"values": ["a", "b"], "other": "missing"}
    assert listed(rest=24, kindless=False) == {"values": ["a", "b", "other"], "other": "other"}
    assert listed(rest=24, kindless=False, other="missing")["values"] == ["a", "b"]


@pytest.mark.parametrize("noise", [Gaussian(50.0), Laplace(50.0)])
def test_noise_alone_is_seldom_taken_for_something(noise: Gaussian | Laplace) -> None:
    draw = np.random.default_rng(3)
    drawn = draw.normal(0, 50, (2000, 150)) if isinstance(noise, Gaussian) else draw.laplace(0, 50, (2000, 150))
    assert ((drawn >= visible(noise, 150)).any(axis=1)).mean() < 0.05
