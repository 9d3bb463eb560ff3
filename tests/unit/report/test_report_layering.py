"""Boxes of a graph: parents above children, nothing overlaps, rows are no wider than asked, few crossings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from understudy.report.layering import Box, crossings, place


def _random_graph(seed: int, many: int) -> tuple[dict[str, tuple[float, float]], list[tuple[str, str]]]:
    g = np.random.default_rng(seed)
    names = [f"n{i}" for i in range(many)]
    edges = [(names[j], names[i]) for i in range(many) for j in range(i) if g.random() < 2 / many]
    return {n: (float(g.integers(30, 140)), float(g.integers(20, 60))) for n in names}, edges


@pytest.mark.parametrize("seed", range(8))
def test_every_place_is_lawful(seed: int) -> None:
    sizes, edges = _random_graph(seed, 25)
    placed = place(sizes, edges, widest=400)
    for a, b in edges:
        assert placed.boxes[a].y + placed.boxes[a].height < placed.boxes[b].y
    for a, b in itertools.combinations(placed.boxes.values(), 2):
        apart = abs(a.x - b.x) >= (a.width + b.width) / 2 or a.y + a.height <= b.y or b.y + b.height <= a.y
        assert apart
    for box in placed.boxes.values():
        assert box.x - box.width / 2 >= 0 and box.x + box.width / 2 <= placed.width
        assert box.y >= 0 and box.y + box.height <= placed.height


def test_rows_have_bounded_width() -> None:
    placed = place({f"n{i}": (100.0, 20.0) for i in range(9)}, [], widest=360)
    assert len({box.y for box in placed.boxes.values()}) == 3
    assert placed.width < 370


def test_a_crossing_that_can_be_avoided_is_avoided() -> None:
    sizes = dict.fromkeys(("a", "b", "c", "d"), (40.0, 20.0))
    placed = place(sizes, [("a", "d"), ("b", "c")], widest=200)
    boxes = placed.boxes
    assert (boxes["a"].x < boxes["b"].x) == (boxes["d"].x < boxes["c"].x)


def test_crossings_are_counted() -> None:
    a, b, c, d = (Box(name, 1, 1) for name in "abcd")
    a.below, b.below = [d], [c]
    assert crossings([[a, b], [c, d]]) == 1
    assert crossings([[a, b], [d, c]]) == 0


def test_no_box_is_no_picture() -> None:
    assert place({}, [], 100).boxes == {}
